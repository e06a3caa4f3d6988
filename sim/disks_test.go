package sim

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-project/heddle/internal/filesystem"
	zk "github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	files "github.com/heddle-project/heddle/resourcemanager/store/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/store/memory"
	"github.com/heddle-project/heddle/resourcemanager/store/zookeeper"
)

// disks are empty ones, by kind.
func disks(t *testing.T) map[string]func(*writes) disk {
	out := map[string]func(*writes) disk{
		"memory":    func(w *writes) disk { return &plain{w, memory.NewDisk()} },
		"hdfs":      func(w *writes) disk { return newHDFS(t, w, 0) },
		"zookeeper": func(w *writes) disk { return newServers(w) },
		"bolt":      func(w *writes) disk { return &paged{t: t, w: w, path: filepath.Join(quickDir(t), "state.db")} },
	}
	for _, power := range []bool{false, true} {
		for _, moves := range []bool{false, true} {
			name := map[bool]string{false: "raft, the leader ends", true: "raft, the power of all fails"}[power] + map[bool]string{true: ", another one takes over"}[moves]
			out[name] = func(w *writes) disk { return newReplicated(t, w, power, moves) }
		}
	}
	for name, left := range map[string]left{"process ends": everything, "power fails": whatIsSynced, "power fails, names are kept": emptyFiles} {
		out["filesystem, "+name] = func(w *writes) disk { return newDirectory(t, w, left) }
	}
	return out
}

// quickDir is a directory in memory where there is one: nothing is lost of it but what a test takes away.
func quickDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "heddle-sim-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// must is for what cannot fail.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// plain is a disk whose commits are one write.
type plain struct {
	w *writes
	d *memory.Disk
}

func (p *plain) open() store.Store { return asking{p.d.Open(store.Options{}), p.w} }

type asking struct {
	store.Store
	w *writes
}

func (a asking) Commit(ctx context.Context, ops []state.Op) error {
	if err := a.w.write(); err != nil {
		return err
	}
	return a.Store.Commit(ctx, ops)
}

// servers are those of ZooKeeper: each call that changes something is a write.
type servers struct {
	*zookeepertest.Server
	mu sync.Mutex
	w  *writes
}

func newServers(w *writes) *servers {
	s := &servers{Server: zookeepertest.New(), w: w}
	s.Before(func(call, _ string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		changes := slices.Contains([]string{"create", "write", "delete", "multi", "change the access list of"}, call)
		if w.dead || changes && w.write() != nil {
			return zk.ErrConnection
		}
		return nil
	})
	return s
}

func (s *servers) open() store.Store {
	out, err := zookeeper.Open(zookeeper.Options{Dial: s.Server.Open})
	if err != nil {
		panic(err)
	}
	return out
}

// left is what a crash leaves of a directory.
type left int

const (
	everything   left = iota
	whatIsSynced      // directories and files as they were when they were last synced
	emptyFiles        // all names, but of files only what is synced: those that never were are empty
)

// directory is a file system. What of it is synced is kept beside it.
type directory struct {
	t    *testing.T
	w    *writes
	left left
	path string
	root *inode
}

// inode is a file or a directory.
type inode struct {
	dir     bool
	content []byte            // of a file, as it was synced
	now     map[string]*inode // in a directory
	synced  map[string]*inode
}

func newInode(dir bool) *inode {
	return &inode{dir: dir, now: map[string]*inode{}, synced: map[string]*inode{}}
}

func newDirectory(t *testing.T, w *writes, left left) *directory {
	return &directory{t: t, w: w, left: left, path: quickDir(t), root: newInode(true)}
}

func (d *directory) open() store.Store {
	if d.left != everything {
		must(d.t, os.RemoveAll(filepath.Join(d.path, "FSRMStateRoot")))
		d.root = d.restore(d.root, d.path)
	}
	systems, err := filesystem.New(filesystem.Config{})
	must(d.t, err)
	url, err := filesystem.ParseURL("file://" + d.path)
	must(d.t, err)
	s, err := files.Open(files.Options{Systems: systems, URL: url, Step: d.step})
	must(d.t, err)
	return s
}

// restore makes what a crash has left, and returns it.
func (d *directory) restore(x *inode, at string) *inode {
	if !x.dir {
		must(d.t, os.WriteFile(at, x.content, 0o600))
		return &inode{content: x.content}
	}
	must(d.t, os.MkdirAll(at, 0o700))
	y, names := newInode(true), x.synced
	if d.left == emptyFiles {
		names = x.now
	}
	for name, of := range names {
		y.now[name] = d.restore(of, filepath.Join(at, name))
		y.synced[name] = y.now[name]
	}
	return y
}

// find is the directory above a path, nil if there is none, and the name in it.
func (d *directory) find(path string) (above *inode, name string) {
	above = d.root
	rel := strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, d.path), "/"), "/")
	for _, part := range rel[:len(rel)-1] {
		if above = above.now[part]; above == nil {
			break
		}
	}
	return above, rel[len(rel)-1]
}

// step follows a change that is about to be made.
func (d *directory) step(op, path, to string) error {
	if err := d.w.write(); err != nil {
		return err
	}
	if op == "sync" && path == d.path {
		d.root.sync(path)
		return nil
	}
	if op == "make" {
		at := d.root
		for part := range strings.SplitSeq(strings.TrimPrefix(path, d.path+"/"), "/") {
			if at.now[part] == nil {
				at.now[part] = newInode(true)
			}
			at = at.now[part]
		}
		return nil
	}
	above, name := d.find(path)
	switch op {
	case "create":
		above.now[name] = newInode(false)
	case "remove":
		if above != nil {
			delete(above.now, name)
		}
	case "rename":
		if x := above.now[name]; x != nil {
			under, as := d.find(to)
			delete(above.now, name)
			under.now[as] = x
		}
	case "sync":
		above.now[name].sync(path)
	}
	return nil
}

// sync makes what there is now durable, but nothing below.
func (x *inode) sync(path string) {
	if x.dir {
		x.synced = map[string]*inode{}
		for name, of := range x.now {
			x.synced[name] = of
		}
		return
	}
	x.content, _ = os.ReadFile(path)
}

// paged is a file of bbolt with its witness. A transaction has written any number of its pages, in order, the last one by half; then its
// meta page by half; then its part of the witness by half.
type paged struct {
	t    *testing.T
	w    *writes
	path string
	dies *image // what the process leaves
}

// image is what is in the two files; nil: they do not exist.
type image struct{ file, witness []byte }

func (p *paged) take() image {
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if !errors.Is(err, fs.ErrNotExist) {
			must(p.t, err)
		}
		return b
	}
	return image{read(p.path), read(p.path + ".witness")}
}

func (p *paged) open() store.Store {
	if p.dies != nil {
		must(p.t, os.WriteFile(p.path, p.dies.file, 0o600))
		if p.dies.witness != nil {
			must(p.t, os.WriteFile(p.path+".witness", p.dies.witness, 0o600))
		}
		p.dies = nil
	}
	return &pages{p: p}
}

// pages is a store whose transactions end anywhere.
type pages struct {
	p *paged
	store.Store
}

// Load implements store.Store. To open the file is one transaction, and to take it over another.
func (s *pages) Load(ctx context.Context) (out *state.Snapshot, err error) {
	err = s.p.transaction(func() (err error) {
		s.Store, err = bolt.Open(s.p.path, bolt.Options{})
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, s.p.transaction(func() (err error) {
		out, err = s.Store.Load(ctx)
		return err
	})
}

// Commit implements store.Store.
func (s *pages) Commit(ctx context.Context, ops []state.Op) error {
	return s.p.transaction(func() error { return s.Store.Commit(ctx, ops) })
}

// Close implements store.Store.
func (s *pages) Close() error {
	if s.Store == nil {
		return nil
	}
	return s.Store.Close()
}

// transaction has the process die within what do writes.
func (p *paged) transaction(do func() error) error {
	before := p.take()
	if err := do(); err != nil {
		return err
	}
	for _, x := range before.until(p.take()) {
		if err := p.w.write(); err != nil {
			p.dies = &x
			return err
		}
	}
	return nil
}

// until is what is in the files while they become others.
func (x image) until(y image) (out []image) {
	if x.file == nil { // a new file has another name until it is whole
		return nil
	}
	ps := os.Getpagesize()
	half := func(from, to []byte, at, size int) []byte { // half of what differs there is written
		b := bytes.Clone(from)
		first, last := at+size, at
		for i := at; i < at+size; i++ {
			if i >= len(to) || i >= len(from) || from[i] != to[i] {
				first, last = min(first, i), i+1
			}
		}
		copy(b[first:first+(last-first)/2], to[first:])
		return b
	}
	differs := func(n int) bool { return !bytes.Equal(x.file[n*ps:(n+1)*ps], y.file[n*ps:(n+1)*ps]) }
	out = append(out, x)
	if grown := len(y.file) - len(x.file); grown > 0 {
		x.file = append(bytes.Clone(x.file), make([]byte, grown)...)
		out = append(out, x)
	}
	for _, metas := range []bool{false, true} {
		for n := range len(y.file) / ps {
			if n < 2 == metas && differs(n) {
				out = append(out, image{half(x.file, y.file, n*ps, ps), x.witness})
				x.file = bytes.Clone(x.file)
				copy(x.file[n*ps:(n+1)*ps], y.file[n*ps:])
				out = append(out, x)
			}
		}
	}
	if x.witness != nil && !bytes.Equal(x.witness, y.witness) {
		out = append(out, image{x.file, half(x.witness, y.witness, 0, len(y.witness))})
	}
	return out
}
