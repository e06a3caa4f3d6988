package run

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/nodemanager/process"
)

// How often a container of an earlier life of the daemon is checked while it runs, and while its exit code is awaited.
const (
	watchPause = 500 * time.Millisecond
	exitPause  = 20 * time.Millisecond
)

// Attach finds a container that an earlier life of the daemon started, by ID, PrivateDir and, if they are known, WorkDir and
// LogDir. The container has ended once its scripts have written its exit code, possibly long ago, or once its process is gone
// and no exit code has appeared for Config.ExitFileWait: the exit code is then 154. When ctx ends, the watching ends too and
// Done is never closed.
func (l *Launcher) Attach(ctx context.Context, c *Container) *Process {
	w := &watch{p: l.process(c)}
	if !w.look() {
		go w.run(ctx)
	}
	return w.p
}

// watch is the wait for a process that is no child of this one.
type watch struct {
	p     *Process
	start uint64    // of the process with the container's id; 0: not found yet
	gone  time.Time // since when it has not been there; zero: it is there
}

func (w *watch) run(ctx context.Context) {
	for {
		pause := watchPause
		if !w.gone.IsZero() {
			pause = exitPause
		}
		if sleep(ctx, pause) != nil || w.look() {
			return
		}
	}
}

// sleep returns ctx's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// look tells whether the container has ended. If so, it has recorded the exit.
func (w *watch) look() bool {
	lives := w.lives()
	// What was alive before the file was looked for cannot have left it earlier.
	if code := readNumber(w.p.pids + exitSuffix); code >= 0 {
		w.p.finish(int32(code))
		return true
	}
	switch {
	case lives:
		w.gone = time.Time{}
	case w.gone.IsZero():
		w.gone = time.Now()
	case time.Since(w.gone) >= w.p.l.cfg.ExitFileWait:
		w.p.finish(exitLost)
		return true
	}
	return false
}

func (w *watch) lives() bool {
	if w.start != 0 {
		info, err := process.Linux.Stat(w.p.PID())
		return err == nil && !info.Dead() && info.Start == w.start
	}
	if w.p.PID() == 0 {
		table, err := process.Linux.Table()
		return err == nil && w.p.findWrapper(w.p.orphans(table)) != 0
	}
	info, ok := w.p.alive()
	if ok {
		w.start = info.Start
	}
	return ok
}

// findWrapper is the process of default_container_executor.sh: the daemon's child, or one of the orphans; 0 if there is
// none.
func (p *Process) findWrapper(orphans []process.Info) int {
	if p.wrapper != nil {
		if p.ended() {
			return 0
		}
		return p.wrapper.Pid
	}
	for _, info := range orphans {
		if p.isWrapper(info.PID) {
			return info.PID
		}
	}
	return 0
}

func (p *Process) isWrapper(pid int) bool {
	arguments := strings.Split(strings.TrimSuffix(process.Linux.CommandLine(pid), "\x00"), "\x00")
	return strings.HasSuffix(arguments[len(arguments)-1], filepath.Join("/", p.id.String(), wrapperScript))
}

// orphans are all processes whose parents may have ended.
func orphans(t *process.Table) []process.Info {
	self := os.Getpid()
	adopters := t.Adopters(self)
	return slices.DeleteFunc(t.All(), func(info process.Info) bool {
		return !adopters[info.Parent] || info.Dead() || info.PID == self
	})
}
