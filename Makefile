# Heddle's house keeping. `make` alone lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := bin/yarn
SECONDS_PER_FUZZ ?= 60
SEED ?= 1
export CGO_ENABLED ?= 0

# Pinned; `make lint`, `make deadcode`, `make dist` and `make generate` install them below bin/tools, nowhere else.
GOLANGCI_LINT_VERSION := v2.5.0
DEADCODE_VERSION := v0.52.0
NFPM_VERSION := v2.45.2
PROTOC_GEN_GO_VERSION := $(shell awk '$$1 == "google.golang.org/protobuf" {print $$2}' go.mod)

.PHONY: help demo dist dist-test build check test race golden fuzz sim attack mutation bench compat docs generate clean lint deadcode ui ui-check ui-test

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' Makefile

demo: build ## a cluster on this machine, one application of 20 containers on it; then all of it removed
	@test/demo

# Which source a binary is made of. Go notes that by itself, but not in a linked worktree; without git it is "unknown".
RELEASE := github.com/heddle-project/heddle/internal/release
STAMP = $(shell c=$$(git rev-parse HEAD 2>/dev/null) || exit 0; [ -z "$$(git status --porcelain 2>/dev/null)" ] || m=-modified; \
	echo "-X $(RELEASE).commit=$$c$$m -X $(RELEASE).date=$$(git log -1 --format=%cI)")

build: ## bin/yarn, one static binary
	go build -trimpath -ldflags '$(STAMP)' -o $(BIN) ./cmd/yarn

check: ## what must hold before a commit: build, lint, dead code, tests, README's commands, recorded decisions, 5 s of every fuzz target, one stock job
	@test/check

test: ## the Go tests
	go test ./...

race: ## the Go tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race ./...

golden: build ## every recorded decision of Apache's schedulers, replayed and compared
	@test/parity/run all

fuzz: ## every fuzz target for SECONDS_PER_FUZZ (60) seconds
	@test/fuzz $(SECONDS_PER_FUZZ)

sim: ## the simulated cluster's tests; SEED=N chooses the run, RUNS=N how many seeds
	@test/sim $(SEED) $(RUNS)

attack: build ## every attack of test/attack on a running daemon; SEED=N, ATTACKS="NAME ..." and SHORT=1 choose
	@go run ./test/attack -seed $(SEED) $(if $(SHORT),-short) $(ATTACKS)

mutation: ## a test fails for every report of a change that is taken out of the scheduler (test/mutation/reports), and for every safeguard (safeguards); half an hour
	@test/mutation/reports
	@test/mutation/safeguards

bench: ## the load drivers, and their own tests; bench/README.md tells how to measure
	go test ./bench/...
	go build -trimpath -o bin/rmbench ./bench/rmbench
	go build -trimpath -o bin/shufflebench ./bench/shuffle

compat: build ## stock workloads and failures with daemons of ours and of Apache, recorded REST and command line answers; WHOLE=1: in every mixture
	@test/compat/all $(if $(WHOLE),whole)

docs: ## check the documents: every link leads somewhere, every feature has a row in docs/parity.md
	go test -count=1 -run 'Documents' ./internal/tidy

generate: bin/tools/protoc-gen-go ## regenerate the protobuf code and the configuration tables
	@PATH="$(CURDIR)/bin/tools:$$PATH" test/generate

ui: ## ui/dist, the web interface's bundle, from ui/app (needs Node.js 20.19 or newer)
	@test/ui/build

ui-check: ## ui/dist is what ui/app makes, byte for byte
	@test/ui/check

ui-test: build ## the web interface in a browser, on a live cluster (needs Node.js and Chromium)
	@test/ui/run

dist: bin/tools/nfpm ## out/dist: tarball in Hadoop's layout, deb, rpm, bill of materials, checksums; the same sources make the same bytes
	@deploy/dist

dist-test: bin/tools/nfpm ## packages are made twice, compared, installed in a clean root, started and upgraded under a running container
	@test/dist

clean: ## remove what was built or unpacked
	rm -rf bin/yarn bin/rmbench bin/shufflebench out test/compat/unpacked test/parity/unpacked

lint: bin/tools/golangci-lint ## gofmt, go vet, golangci-lint
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); [ -z "$$out" ] || { echo "not gofmt'ed: $$out" >&2; exit 1; }
	go vet ./...
	bin/tools/golangci-lint run ./...

deadcode: bin/tools/deadcode ## functions that no command reaches
	test/deadcode

bin/tools/deadcode: Makefile
	GOBIN=$(CURDIR)/bin/tools go install golang.org/x/tools/cmd/deadcode@$(DEADCODE_VERSION)
	@touch $@

bin/tools/golangci-lint: Makefile
	GOBIN=$(CURDIR)/bin/tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@touch $@

bin/tools/nfpm: Makefile
	GOBIN=$(CURDIR)/bin/tools go install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)
	@touch $@

bin/tools/protoc-gen-go: go.mod
	GOBIN=$(CURDIR)/bin/tools go install google.golang.org/protobuf/cmd/protoc-gen-go@$(PROTOC_GEN_GO_VERSION)
	@touch $@
