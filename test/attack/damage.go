package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/filesystem"
	nodestore "github.com/heddle-project/heddle/nodemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/resourcemanager/store/labelfiles"
	"github.com/heddle-project/heddle/yarn"
)

const pathOfStore = "yarn.resourcemanager.heddle.state-store.path"

// kept is a file that a daemon keeps, and how to look at it.
type kept struct {
	name    string
	file    string // its name below a directory of its own
	witness string // of the small file beside it
	now     []byte // the content that must hold
	proof   []byte // of the witness; nil for a program that writes none
	before  [][]byte
	used    int // bytes at its beginning that may matter
	page    int
	ways    []string // what a refusal must name
	// load reads the file as a start does: what it has of what was acknowledged, and how many records it set aside.
	load func(dir string) (content any, aside int, err error)
	want any
}

// damage flips bits in the files of daemons that were killed -9, and damages them grossly, and looks what a start makes of it: it
// must refuse, set a record aside and say so, or have everything that was acknowledged. Each damage is tried on the code that
// this command was built with, which is quick; a part of them goes through the binary as well.
func damage(a *arena) {
	store, labels := damageResourceManager(a)
	recovery := damageNodeManager(a)
	for _, k := range []*kept{store, labels, recovery} {
		k.attack(a)
	}
	damageBinary(a, store, labels, recovery)
}

// damageResourceManager is what a ResourceManager keeps of some hundred applications and labels.
func damageResourceManager(a *arena) (store, labels *kept) {
	apps := pick(a, 400, 120)
	state, dir := filepath.Join(a.dir, "kept", "store"), filepath.Join(a.dir, "kept", "labels")
	rm := a.resourceManager(properties("yarn.resourcemanager.recovery.enabled", "true", pathOfStore, state, "yarn.node-labels.enabled", "true",
		"yarn.node-labels.fs-store.root-dir", "file://"+dir, "yarn.resourcemanager.max-completed-applications", "1000000"))
	store = &kept{name: "state store", file: "store", witness: "store.witness", page: os.Getpagesize(), ways: []string{"-check-state-store", "-repair-state-store"},
		load: func(dir string) (any, int, error) { return loadState(filepath.Join(dir, "store")) }}
	labels = &kept{name: "mirror of labels", file: "nodelabel.mirror", witness: "nodelabel.witness", page: 512, ways: []string{"-check-state-store", "-repair-state-store"},
		load: loadLabels}
	c := rm.client("alice")
	defer c.Close()
	for n := range apps {
		id, err := submitUnmanaged(a.ctx, c)
		a.must(err)
		if n%5 == 0 || n == apps-1 { // nothing is written after the last one, so that the daemon is not killed in the middle of a write
			a.must(c.KillApplication(a.ctx, id, ""))
		}
		if n%(apps/4) == apps/5 {
			store.remember(a, state)
			var names, nodes []string
			for i := range 30 {
				names = append(names, fmt.Sprintf("label%d-%d(exclusive=%t)", n, i, i%2 == 0))
				nodes = append(nodes, fmt.Sprintf("host%d.example.org=label%d-%d", n+i, n, i))
			}
			for _, args := range [][]string{{"-addToClusterNodeLabels", strings.Join(names, ",")}, {"-replaceLabelsOnNode", strings.Join(nodes, " ")}} {
				_, err := a.yarn(rm, append([]string{"rmadmin"}, args...)...)
				a.must(err)
			}
			labels.remember(a, filepath.Join(dir, labels.file))
		}
	}
	rm.kill()
	store.take(a, state)
	labels.take(a, filepath.Join(dir, labels.file))
	return store, labels
}

// damageNodeManager is what a NodeManager keeps of running and ended containers.
func damageNodeManager(a *arena) *kept {
	rm := a.declare("resourcemanager", "rm-of-node", nil, clientPort, masterPort, trackerPort, adminPort, webPort)
	rm.start()
	defer rm.kill()
	node := a.nodeManager(rm, "node", properties("yarn.nodemanager.recovery.enabled", "true", "yarn.nodemanager.resource.memory-mb", "65536",
		"yarn.nodemanager.resource.cpu-vcores", "512"))
	k := &kept{name: "recovery store", file: nodestore.File, witness: nodestore.File + ".witness", page: os.Getpagesize(),
		ways: []string{"-check-recovery-store", "-repair-recovery-store"}, load: loadNode}
	path := filepath.Join(node.dir(), "recovery", k.file)
	c := rm.client("alice")
	defer c.Close()
	n := pick(a, 40, 12)
	var ids []yarn.ApplicationID
	for i := range n {
		id, _, err := c.NewApplication(a.ctx)
		a.must(err)
		ids = append(ids, id)
		a.must(c.Submit(a.ctx, client.Submission{ID: id, Name: "attack", Queue: "default", Master: client.Resource{MemoryMB: 256, VCores: 1},
			Launch: client.Launch{Commands: []string{"sleep 600"}, Environment: map[string]string{"FILL": strings.Repeat("x", 500)}}}))
		if i == n/2 {
			k.remember(a, path)
		}
	}
	all := 0
	a.until(time.Minute, func() bool {
		r, err := http.Get("http://" + node.address[nodeWebPort] + "/ws/v1/node/containers")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		all = bytes.Count(b, []byte(`"RUNNING"`))
		return all >= n
	})
	a.check(all >= n, "the node keeps its containers", "%d of %d", all, n)
	a.until(time.Minute, func() bool { // nothing is being written
		s, err := os.Stat(path)
		return err == nil && time.Since(s.ModTime()) > time.Second
	})
	node.kill()
	k.take(a, path)
	node.start() // takes the containers up again, so that they can be ended
	for _, id := range ids {
		a.must(c.KillApplication(a.ctx, id, ""))
	}
	node.stop()
	return k
}

// remember keeps a copy of the file as it is now, for pages of an earlier time.
func (k *kept) remember(a *arena, path string) {
	b, err := os.ReadFile(path)
	a.must(err)
	k.before = append(k.before, b)
}

// take copies the file of a daemon that was killed: it is what must hold.
func (k *kept) take(a *arena, path string) {
	var err error
	k.now, err = os.ReadFile(path)
	a.must(err)
	k.proof, _ = os.ReadFile(filepath.Join(filepath.Dir(path), k.witness)) // a program before there were any has none
	k.used = len(bytes.TrimRight(k.now, "\x00"))
	if spare := (k.used/k.page + 8) * k.page; k.page > 512 && len(k.now) > spare { // room on the disk that was set aside
		k.now = k.now[:spare]
	}
	var aside int
	k.want, aside, err = k.try(a, k.now, k.proof)
	a.must(err)
	a.check(aside == 0, "a "+k.name+" of a daemon killed -9 opens whole", "%d bytes in use, %d set aside", k.used, aside)
}

// try loads the file with that content, nil for none.
func (k *kept) try(a *arena, content, proof []byte) (any, int, error) {
	dir := filepath.Join(a.dir, "try", k.file)
	a.must(os.RemoveAll(dir))
	k.put(a, dir, content, proof)
	return k.load(dir)
}

func (k *kept) put(a *arena, dir string, content, proof []byte) {
	a.must(os.MkdirAll(dir, 0o700))
	for name, b := range map[string][]byte{k.file: content, k.witness: proof} {
		if b != nil {
			a.must(os.WriteFile(filepath.Join(dir, name), b, 0o600))
		}
	}
}

// verdict is refused, set aside, harmless or silent.
func (k *kept) verdict(a *arena, content, proof []byte) (string, error) {
	got, aside, err := k.try(a, content, proof)
	switch {
	case err != nil:
		for _, part := range append(k.ways, k.file) {
			if !strings.Contains(err.Error(), part) {
				return "refused without advice", err
			}
		}
		return "refused", nil
	case aside > 0:
		return "set aside", nil
	case reflect.DeepEqual(got, k.want):
		return "harmless", nil
	}
	return "silent", nil
}

// attack damages the file in every way that it knows.
func (k *kept) attack(a *arena) {
	count := map[string]int{}
	var examples []string
	judge := func(kind, how string, content, proof []byte) {
		v, err := k.verdict(a, content, proof)
		count[kind+" "+v]++
		if (v == "silent" || err != nil) && len(examples) < 5 {
			examples = append(examples, fmt.Sprintf("%s %s %v", v, how, err))
		}
	}
	for range pick(a, 1000, 60) {
		b, at := bytes.Clone(k.now), a.random.IntN(k.used)
		for b[at] == 0 { // most zeros are room that nothing uses
			at = a.random.IntN(k.used)
		}
		b[at] ^= 1 << a.random.IntN(8)
		judge("flips", fmt.Sprintf("flip at %d", at), b, k.proof)
	}
	for range pick(a, 100, 10) {
		if len(k.proof) == 0 {
			break
		}
		b, at := bytes.Clone(k.proof), a.random.IntN(len(k.proof))
		b[at] ^= 1 << a.random.IntN(8)
		judge("flips of the witness", fmt.Sprintf("flip at %d", at), k.now, b)
	}
	for n := range pick(a, 110, 33) {
		b, how := k.gross(a, n)
		judge("gross damages", how, b, k.proof)
	}
	silent, mute := 0, 0
	for _, what := range slices.Sorted(maps.Keys(count)) {
		a.figure(k.name+": "+what, float64(count[what]), "")
		if strings.HasSuffix(what, "silent") {
			silent += count[what]
		}
		if strings.HasSuffix(what, "advice") {
			mute += count[what]
		}
	}
	a.check(silent == 0, "nothing that was acknowledged is missing in silence from a damaged "+k.name, "%d %v", silent, examples)
	a.check(mute == 0, "every refusal names the file and the ways on", "%d %v", mute, examples)
}

// gross is the n-th gross damage.
func (k *kept) gross(a *arena, n int) (b []byte, how string) {
	b = bytes.Clone(k.now)
	pages := (k.used + k.page - 1) / k.page
	p, q := a.random.IntN(pages), a.random.IntN(pages)
	if n%3 == 0 {
		p = min(a.random.IntN(2), pages-1) // a meta page
	}
	page := func(i int) []byte { return b[min(i*k.page, len(b)):min((i+1)*k.page, len(b))] }
	switch n % 11 {
	case 0:
		at := a.random.IntN(k.used)
		return b[:at], fmt.Sprintf("cut at %d", at)
	case 1:
		return []byte{}, "cut at 0"
	case 2:
		return nil, "gone"
	case 3, 4:
		clear(page(p))
		return b, fmt.Sprintf("zeros on page %d", p)
	case 5, 6:
		for i := range page(p) {
			page(p)[i] = byte(a.random.Uint32())
		}
		return b, fmt.Sprintf("garbage on page %d", p)
	case 7:
		one, other := bytes.Clone(page(p)), bytes.Clone(page(q))
		copy(page(p), other)
		copy(page(q), one)
		return b, fmt.Sprintf("pages %d and %d exchanged", p, q)
	case 8:
		old := k.before[a.random.IntN(len(k.before))]
		if (p+1)*k.page <= len(old) {
			copy(page(p), old[p*k.page:])
		}
		return b, fmt.Sprintf("an older page %d", p)
	case 9:
		return k.before[a.random.IntN(len(k.before))], "an older copy of the whole file"
	default:
		more := make([]byte, 1+a.random.IntN(3*k.page))
		for i := range more {
			more[i] = byte(a.random.Uint32())
		}
		return append(b, more...), fmt.Sprintf("%d bytes more", len(more))
	}
}

// loadState is a start of the ResourceManager's store.
func loadState(path string) (any, int, error) {
	s, err := bolt.Open(path, bolt.Options{LockTimeout: time.Second})
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	snapshot, err := s.Load(context.Background())
	if err != nil {
		return nil, 0, err
	}
	snapshot.Epoch = 0 // of each start another
	return snapshot, len(snapshot.Quarantined), nil
}

func loadLabels(dir string) (any, int, error) {
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		return nil, 0, err
	}
	s, err := labelfiles.Open(context.Background(), labelfiles.Options{Systems: systems, URL: filesystem.URL{Scheme: "file", Path: dir}, Nodes: true,
		Limits: labelfiles.Limits{Labels: 10_000, Nodes: 10_000}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	snapshot, err := s.Load(context.Background())
	if err != nil {
		return nil, 0, err
	}
	for i := range snapshot.Labels.Known {
		snapshot.Labels.Known[i].Unknown = nil
	}
	return snapshot.Labels, 0, nil
}

func loadNode(dir string) (any, int, error) {
	s, err := nodestore.Open(dir)
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	snapshot, err := s.Load()
	if err != nil {
		return nil, 0, err
	}
	return snapshot, len(snapshot.Damaged), nil
}
