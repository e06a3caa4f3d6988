package localize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/heddle-project/heddle/internal/filesystem"
)

// Config describes a Fetcher.
type Config struct {
	FileSystems *filesystem.Systems
	// How many fetches go on at once for one user; there are as many again for others, see seats.
	Workers int // of PUBLIC resources; 4 (yarn.nodemanager.localizer.fetch.thread-count)
	// OthersWorkers is for PRIVATE and APPLICATION resources; 32. In Apache's NodeManager each container brings a process
	// of its own for them.
	OthersWorkers int
	Large         int // of all these, of resources that are large by Limits.Small and the like; 2
	Queue         int // of all that wait or go on; 10,000. Each takes about 6 KB of memory.
	Limits        Limits
	// KeepOutsideLinks keeps symbolic links of archives that point out of the archive, as Apache's NodeManager does: a
	// packed Python environment has one to the system's python. Nothing here ever follows them. Without it, such an
	// archive is refused.
	KeepOutsideLinks bool
	// Foreign fetches what FileSystems do not serve; nil: nobody does.
	Foreign Foreign
	Log     *slog.Logger
}

// Fetcher downloads resources into caches. It is safe for concurrent use.
type Fetcher struct {
	cfg   Config
	large *seats
	pool
}

// New starts nothing yet.
func New(cfg Config) *Fetcher {
	fill(&cfg.Workers, 4)
	fill(&cfg.OthersWorkers, 32)
	fill(&cfg.Large, 2)
	fill(&cfg.Queue, 10_000)
	cfg.Limits = cfg.Limits.filled()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	f := &Fetcher{cfg: cfg, large: newSeats(cfg.Large)}
	f.init(cfg.Workers, cfg.OthersWorkers, cfg.Queue)
	return f
}

// Result is a resource in the cache.
type Result struct {
	Path  string // of the file, or of the directory it was unpacked to
	Bytes int64  // of all its files
}

// Suffix is what a numbered directory's name ends with while a fetch fills it.
const Suffix = "_tmp"

// Fetch downloads a resource into the numbered directory dest of a cache, acting as user towards file systems that need one.
// Neither dest nor dest+Suffix may exist: the error is then fs.ErrExist, and the caller has to try another number. Missing
// levels of the cache above are created. If it fails or ctx ends, neither directory is left.
//
// Files get mode 555 (PUBLIC) or 500, directories 755 or 700, the numbered directory 755. The text of an error is meant
// for the container's diagnostics.
func (f *Fetcher) Fetch(ctx context.Context, req Request, dest, user string) (Result, error) {
	return f.do(ctx, Job{Request: req, Dest: dest, User: user})
}

func (f *Fetcher) do(ctx context.Context, order Job) (res Result, err error) {
	req, dest := order.Request, order.Dest
	ctx, cancel := context.WithTimeoutCause(ctx, f.cfg.Limits.Time, fmt.Errorf("it took longer than %v", f.cfg.Limits.Time))
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			f.cfg.Log.Error("localization failed from inside", "resource", req.String(), "panic", r, "stack", string(debug.Stack()))
			res, err = Result{}, fmt.Errorf("localize %s: internal error: %v", req.URL, r)
		}
	}()
	if err := req.check(); err != nil {
		return res, err
	}
	if f.cfg.Foreign != nil && !f.cfg.FileSystems.Serves(req.URL) {
		if res, err = f.foreign(ctx, order); err != nil {
			err = fmt.Errorf("localize %s: %w", req.URL, err)
		}
		return res, err
	}
	source, err := f.cfg.FileSystems.Connect(ctx, req.URL, order.User)
	if err != nil {
		return res, fmt.Errorf("localize %s: %w", req.URL, err)
	}
	defer source.Close()
	j := &job{f: f, req: req, source: source, budget: f.budget(ctx, order)}
	defer j.end()
	if j.info, err = examine(source, req, &j.budget, time.Now()); err != nil {
		return res, err
	}
	path, err := j.into(dest)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return res, fmt.Errorf("localize %s into %s: %w", req.URL, dest, err)
	}
	return Result{path, j.written}, nil
}

// budget is what a fetch may cost.
func (f *Fetcher) budget(ctx context.Context, j Job) budget {
	return budget{limits: f.cfg.Limits, ctx: ctx, large: f.large, user: j.User, waits: func() {
		f.cfg.Log.Info("a large resource waits until others like it have come", "resource", j.Request.String(), "user", j.User, "for-one-user", f.cfg.Large)
	}}
}

// job is one fetch.
type job struct {
	budget
	f      *Fetcher
	req    Request
	source filesystem.FileSystem
	info   filesystem.Info
}

// into fills the temporary directory and renames it.
func (j *job) into(dest string) (path string, err error) {
	if _, err := os.Lstat(dest); err == nil {
		return "", &fs.PathError{Op: "mkdir", Path: dest, Err: fs.ErrExist}
	}
	if err := MakeLevels(filepath.Dir(dest), j.req.Visibility); err != nil {
		return "", err
	}
	tmp := dest + Suffix
	if err := mkdir(tmp, 0o755); err != nil {
		return "", err
	}
	arrived := false
	defer func() { // after a panic, too
		if !arrived {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	name, err := j.req.URL.Name()
	if err == nil {
		err = j.fill(tmp, name)
	}
	if err == nil {
		err = context.Cause(j.ctx)
	}
	if err == nil {
		err = os.Rename(tmp, dest)
	}
	arrived = err == nil
	return filepath.Join(dest, name), err
}

// fill downloads what was asked for to tmp/name.
func (j *job) fill(tmp, name string) error {
	root, err := os.OpenRoot(tmp)
	if err != nil {
		return err
	}
	defer root.Close()
	t := &tree{root: root, budget: &j.budget, modes: modesOf(j.req.Visibility), outside: j.f.cfg.KeepOutsideLinks}
	if j.info.Dir {
		return j.copyTree(t, j.req.URL.Path, name, 1)
	}
	if format := formatOf(j.req.Type, name); format != plain {
		return j.unpack(t, format, name)
	}
	if j.req.Type != File {
		j.f.cfg.Log.Warn("not unpacked: its name ends like no archive's", "resource", j.req.String())
	}
	return j.copyFile(t, j.req.URL.Path, name)
}

func (j *job) copyFile(t *tree, from, to string) error {
	in, err := j.source.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return t.file(to, time.Time{}, in)
}

// copyTree copies a directory with all that is in it.
func (j *job) copyTree(t *tree, from, to string, depth int) error {
	if depth > j.limits.Depth {
		return fmt.Errorf("%s: more than %d directories deep", from, j.limits.Depth)
	}
	infos, err := j.list(j.source, from, j.limits.Entries-j.entries)
	if err != nil {
		return err
	}
	defer j.unlist(infos)
	if err := t.dir(to); err != nil {
		return err
	}
	for _, i := range infos {
		if i.Dir {
			err = j.copyTree(t, from+"/"+i.Name, to+"/"+i.Name, depth+1)
		} else {
			err = j.copyFile(t, from+"/"+i.Name, to+"/"+i.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mkdir creates a directory with exactly that mode.
func mkdir(dir string, mode fs.FileMode) error {
	if err := os.Mkdir(dir, mode); err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}

// MakeLevels creates the levels of a cache down to dir, and the cache itself with what is missing above it.
func MakeLevels(dir string, v Visibility) error {
	mode := fs.FileMode(0o755)
	switch parent := filepath.Base(filepath.Dir(dir)); {
	case parent == "usercache":
		mode = 0o750
	case len(filepath.Base(dir)) > 1 && v != Public:
		mode = 0o710
	}
	err := mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := MakeLevels(filepath.Dir(dir), v); err != nil {
			return err
		}
		err = mkdir(dir, mode)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
