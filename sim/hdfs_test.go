package sim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	files "github.com/heddle-project/heddle/resourcemanager/store/filesystem"
)

// hdfs is an HDFS: a NameNode carries out one call after the other, and each that changes something is a write. Names have no colon. A new file needs its
// directory, and cannot be read before its writer has closed it; who dies before that leaves it open, with any part of what was written. A rename is one step,
// and takes the place of a file, but of no directory.
//
// It has no locks. With pause the process does not die at a write: it stands still until so many calls of the next process have been made, and then goes on.
type hdfs struct {
	t     *testing.T
	w     *writes
	inode map[string]*hdfsFile // by path
	pause int                  // 0: the process dies

	still        *standing // the process that stands still
	calls        int       // of the load under way, or the last one
	acknowledged int       // commits of processes that had stood still
}

type hdfsFile struct {
	dir, open bool
	content   []byte
}

// standing is a process that stands still.
type standing struct {
	left     int // calls until it goes on
	goOn     chan bool
	finished chan error
	what     string
}

func newHDFS(t *testing.T, w *writes, pause int) *hdfs {
	h := &hdfs{t: t, w: w, pause: pause, inode: map[string]*hdfsFile{"/": {dir: true}}}
	t.Cleanup(h.release)
	return h
}

// release ends a process that stands still.
func (h *hdfs) release() {
	if x := h.still; x != nil {
		h.still = nil
		x.goOn <- false
		<-x.finished
	}
}

func (h *hdfs) open() store.Store {
	systems, err := filesystem.New(filesystem.Config{})
	must(h.t, err)
	url, err := filesystem.ParseURL("hdfs://cluster/rm")
	must(h.t, err)
	p := &hdfsProcess{h: h}
	s, err := files.Open(files.Options{Systems: systems, URL: url, User: "yarn", Connect: func() (filesystem.FileSystem, error) { return &hdfsClient{p}, nil }})
	must(h.t, err)
	p.Store = s
	return p
}

// hdfsProcess is a store in a process that can stand still.
type hdfsProcess struct {
	store.Store
	h       *hdfs
	stands  chan *standing // is told when it does
	stopped bool           // for good, as far as the next process knows
}

// Load implements store.Store.
func (p *hdfsProcess) Load(ctx context.Context) (out *state.Snapshot, err error) {
	p.h.calls = 0
	err = p.run("load", func() (err error) {
		out, err = p.Store.Load(ctx)
		return err
	})
	return out, err
}

// Commit implements store.Store.
func (p *hdfsProcess) Commit(ctx context.Context, ops []state.Op) error {
	return p.run("commit", func() error { return p.Store.Commit(ctx, ops) })
}

// Close implements store.Store.
func (p *hdfsProcess) Close() error {
	if p.stopped {
		return nil
	}
	return p.Store.Close()
}

// run has something done; errDied: the process died, or stands still.
func (p *hdfsProcess) run(what string, do func() error) error {
	if p.h.pause == 0 {
		return do()
	}
	finished := make(chan error, 1)
	p.stands = make(chan *standing)
	go func() { finished <- do() }()
	select {
	case err := <-finished:
		return err
	case x := <-p.stands:
		p.h.release() // of three processes the first one ends
		x.finished, x.what = finished, what
		p.h.still, p.stopped = x, true
		return errDied
	}
}

// call carries a call out.
func (p *hdfsProcess) call(changes bool, do func() error) error {
	h := p.h
	if p.stopped || h.w.dead {
		if p.stopped && h.still == nil { // it goes on, or has ended
			return do()
		}
		return errDied
	}
	h.calls++
	if x := h.still; x != nil {
		if x.left--; x.left == 0 {
			h.still = nil
			x.goOn <- true
			if err := <-x.finished; err == nil && x.what == "commit" {
				h.w.acknowledged = true
				h.acknowledged++
			}
		}
	}
	if changes && h.w.write() != nil {
		if h.pause == 0 {
			return errDied
		}
		x := &standing{left: h.pause, goOn: make(chan bool)}
		p.stands <- x
		if !<-x.goOn {
			return errDied
		}
	}
	return do()
}

// hdfsClient is a connection.
type hdfsClient struct{ p *hdfsProcess }

func hdfsError(op, file string, err error) error { return &fs.PathError{Op: op, Path: file, Err: err} }

// parent tells whether a file of that name can be made.
func (h *hdfs) parent(file string) error {
	switch above := h.inode[path.Dir(file)]; {
	case above == nil:
		return fs.ErrNotExist
	case !above.dir:
		return errors.New("ParentNotDirectoryException")
	case strings.Contains(file, ":"):
		return errors.New("InvalidPathException")
	}
	return nil
}

// Stat implements filesystem.FileSystem.
func (c *hdfsClient) Stat(file string) (info filesystem.Info, err error) {
	err = c.p.call(false, func() error {
		x := c.p.h.inode[file]
		if x == nil {
			return hdfsError("stat", file, fs.ErrNotExist)
		}
		info = filesystem.Info{Name: path.Base(file), Dir: x.dir, Size: int64(len(x.content))}
		return nil
	})
	return info, err
}

// Open implements filesystem.FileSystem.
func (c *hdfsClient) Open(file string) (r io.ReadCloser, err error) {
	err = c.p.call(false, func() error {
		switch x := c.p.h.inode[file]; {
		case x == nil:
			return hdfsError("open", file, fs.ErrNotExist)
		case x.dir:
			return hdfsError("open", file, errors.New("it is a directory"))
		case x.open:
			return hdfsError("open", file, errors.New("somebody still writes it: how long it is, nobody knows"))
		default:
			r = io.NopCloser(bytes.NewReader(x.content))
		}
		return nil
	})
	return r, err
}

// List implements filesystem.FileSystem.
func (c *hdfsClient) List(dir string, _ int) (out []filesystem.Info, err error) {
	err = c.p.call(false, func() error {
		if x := c.p.h.inode[dir]; x == nil || !x.dir {
			return hdfsError("list", dir, fs.ErrNotExist)
		}
		for _, file := range slices.Sorted(maps.Keys(c.p.h.inode)) {
			if path.Dir(file) == dir && file != "/" {
				x := c.p.h.inode[file]
				out = append(out, filesystem.Info{Name: path.Base(file), Dir: x.dir, Size: int64(len(x.content))})
			}
		}
		return nil
	})
	return out, err
}

// Create implements filesystem.FileSystem.
func (c *hdfsClient) Create(file string, _ fs.FileMode, overwrite bool) (io.WriteCloser, error) {
	if overwrite {
		if err := c.Remove(file); err != nil {
			return nil, err
		}
	}
	w := &hdfsWriter{c: c, file: &hdfsFile{open: true}, path: file}
	err := c.p.call(true, func() error {
		err := c.p.h.parent(file)
		if err == nil && c.p.h.inode[file] != nil {
			err = fs.ErrExist
		}
		if err != nil {
			return hdfsError("create", file, err)
		}
		c.p.h.inode[file] = w.file
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// hdfsWriter has the lease of a file.
type hdfsWriter struct {
	c    *hdfsClient
	file *hdfsFile
	path string
}

// there is an error if the file was removed: its lease has gone with it.
func (w *hdfsWriter) there() error {
	for _, x := range w.c.p.h.inode { //tidy:unordered it is there once
		if x == w.file {
			return nil
		}
	}
	return hdfsError("write", w.path, errors.New("LeaseExpiredException"))
}

// Write implements io.Writer.
func (w *hdfsWriter) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	w.file.content = bytes.Clone(b[:len(b)/2]) // whoever dies here has written some of it
	err := w.c.p.call(true, func() error {
		w.file.content = bytes.Clone(b)
		return w.there()
	})
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close implements io.Closer.
func (w *hdfsWriter) Close() error {
	return w.c.p.call(true, func() error {
		err := w.there()
		if err == nil {
			w.file.open = false
		}
		return err
	})
}

// MkdirAll implements filesystem.FileSystem.
func (c *hdfsClient) MkdirAll(dir string, mode fs.FileMode) error {
	if info, err := c.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		if err == nil && !info.Dir {
			err = hdfsError("mkdir", dir, errors.New("it is a file"))
		}
		return err
	}
	if err := c.MkdirAll(path.Dir(dir), mode); err != nil {
		return err
	}
	return c.p.call(true, func() error {
		if err := c.p.h.parent(dir); err != nil {
			return hdfsError("mkdir", dir, err)
		}
		if x := c.p.h.inode[dir]; x == nil {
			c.p.h.inode[dir] = &hdfsFile{dir: true}
		} else if !x.dir {
			return hdfsError("mkdir", dir, fs.ErrExist)
		}
		return nil
	})
}

// Rename implements filesystem.FileSystem.
func (c *hdfsClient) Rename(from, to string) error {
	return c.p.call(true, func() error {
		h := c.p.h
		x, y := h.inode[from], h.inode[to]
		err := h.parent(to)
		switch {
		case x == nil:
			err = fs.ErrNotExist
		case err != nil:
		case y != nil && (y.dir || x.dir):
			err = errors.New("FileAlreadyExistsException: only a file takes the place of a file")
		}
		if err != nil {
			return hdfsError("rename", from, err)
		}
		for _, file := range slices.Sorted(maps.Keys(h.inode)) {
			if below, found := strings.CutPrefix(file, from+"/"); found {
				h.inode[to+"/"+below] = h.inode[file]
				delete(h.inode, file)
			}
		}
		h.inode[to] = x
		delete(h.inode, from)
		return nil
	})
}

// Remove implements filesystem.FileSystem.
func (c *hdfsClient) Remove(file string) error {
	if _, err := c.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return c.p.call(true, func() error {
		maps.DeleteFunc(c.p.h.inode, func(name string, _ *hdfsFile) bool {
			return name == file || strings.HasPrefix(name, file+"/")
		})
		return nil
	})
}

// Chmod implements filesystem.FileSystem.
func (c *hdfsClient) Chmod(string, fs.FileMode) error { return errors.New("nobody needs it") }

// SetOwner implements filesystem.FileSystem.
func (c *hdfsClient) SetOwner(string, string, string) error { return errors.New("nobody needs it") }

// Close implements filesystem.FileSystem.
func (c *hdfsClient) Close() error { return nil }

// TestEveryPause pauses the ResourceManager before each write of each commit to HDFS, which has no lock, starts a second one, and lets the first resume at some call of
// the second, while that loads the store or already uses it. Whatever the first acknowledges then must be in what the second has loaded, and nothing may change
// afterwards. HEDDLE_SIM_PAUSES=1 lets it resume at every call, instead of at every seventh.
func TestEveryPause(t *testing.T) {
	every := int(number(t, "HEDDLE_SIM_PAUSES", 7))
	runs, pauses, acknowledged, longest := 0, 0, 0, 0
	for _, batches := range []bool{false, true} {
		for at, all := 1, 1; at <= all; at++ {
			for pause, calls := 1+at%every, 1; pause <= calls+2; pause += every {
				var h *hdfs
				x := &toll{at: at, died: map[string]int{}, most: map[string]int{}, commits: true}
				scripted(t, func(w *writes) disk { h = newHDFS(t, w, pause); return h }, batches, x)
				h.release()
				for what, n := range x.most {
					if what != "load" {
						all = max(all, n-1) // the last one is no call
					}
				}
				for _, n := range x.died {
					pauses += n
				}
				runs++
				acknowledged += h.acknowledged
				calls = max(calls, h.calls)
				longest = max(longest, calls)
			}
		}
	}
	t.Logf("%d runs, %d pauses, of up to %d calls; %d commits were acknowledged after one", runs, pauses, longest, acknowledged)
	if acknowledged == 0 || pauses < 100 {
		t.Error("nothing was tested")
	}
}
