// Package pb holds the protocol messages of YARN as they travel, generated from
// the .proto files beside it by make generate. Only the edge uses them: package
// convert turns them into the vocabulary of package yarn and back.
package pb

//go:generate protoc --go_out=. --go_opt=paths=source_relative -I . common.proto records.proto client.proto server.proto localizer.proto recovery.proto
