// Package health finds out whether a node is fit for containers: whether its
// local and log directories are usable and have room, and what the
// administrator's health scripts report. It checks at intervals and passes each
// result to Config.Found.
package health

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
)

// State is what was found at one moment. It is a value; nobody changes it.
type State struct {
	Healthy bool
	// Report is what is wrong, empty if nothing is; a node with some bad
	// directories can be healthy. compat: the words are those of Hadoop, which
	// administrators' tools look for.
	Report string
	At     int64 // of the last look, milliseconds since 1970
	Local  Dirs
	Log    Dirs
}

// Dirs are the directories of one list, each in one of three states and in the
// order of the configuration.
type Dirs struct {
	Good    []string // written to
	Full    []string // not written to, but read and cleaned up
	Bad     []string // not used at all
	Percent int      // of the good directories' disks that is used
}

// Readable are the directories that may be read: the good and the full ones.
func (d Dirs) Readable() []string { return slices.Concat(d.Good, d.Full) }

// equal tells whether every directory is in the same state.
func (d Dirs) equal(o Dirs) bool {
	return slices.Equal(d.Good, o.Good) && slices.Equal(d.Full, o.Full) && slices.Equal(d.Bad, o.Bad)
}

// Config is what the checks need. Dirs and Health are required.
type Config struct {
	Dirs   conf.NodeDirs
	Health conf.NodeHealth
	// Found is told each result: the first one by Start before it returns, then
	// one per interval of the disks, and every change by a script. Calls never
	// overlap. It must not call Close.
	Found func(State)
	Space Space            // nil: the kernel's
	Now   func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: discarded
}

// Checker runs the checks. It is safe for concurrent use.
type Checker struct {
	Config
	locals, logs *disks
	said         string // the last report about both
	scripts      []*script
	suspicion    chan struct{} // a directory may not be what it was found to be
	stop         context.CancelFunc
	running      sync.WaitGroup

	order sync.Mutex // guards the scripts' answers, and keeps calls of Found in their order
	state atomic.Pointer[State]
}

// New prepares the checks; nothing runs yet. Scripts that are not there are
// left out with a warning. compat: so does Hadoop; a script that disappears
// later makes the node unhealthy.
func New(c Config) *Checker {
	if c.Space == nil {
		c.Space = kernelSpace
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Found == nil {
		c.Found = func(State) {}
	}
	k := &Checker{Config: c, stop: func() {}, suspicion: make(chan struct{}, 1)}
	k.state.Store(&State{})
	k.locals = newDisks("local-dirs", c.Dirs.Local, c.Health.Disks, c.Space, c.Now)
	k.logs = newDisks("log-dirs", c.Dirs.Log, c.Health.Disks, c.Space, c.Now)
	for _, s := range c.Health.Scripts {
		if err := runnable(s.Path); err != nil {
			c.Log.Warn("the health script is left out", "script", s.Name, "property", "yarn.nodemanager.health-checker."+s.Name+".path", "error", err)
			continue
		}
		k.scripts = append(k.scripts, &script{HealthScript: s})
	}
	return k
}

// Start checks the directories, creates missing ones, runs the scripts that are
// configured to run first, and then repeats the checks at their intervals until
// Close. It returns the first result.
func (k *Checker) Start() State {
	ctx, stop := context.WithCancel(context.Background())
	k.stop = stop
	if k.Health.RunBefore {
		for _, s := range k.scripts {
			k.ask(ctx, s)
		}
	}
	first := k.look()
	if k.Health.Disks.Enabled {
		k.every(ctx, k.Health.Disks.Interval, k.suspicion, false, func() { k.look() })
	}
	for _, s := range k.scripts {
		k.every(ctx, s.Interval, nil, !k.Health.RunBefore, func() {
			if k.ask(ctx, s) && ctx.Err() == nil {
				k.publish(false)
			}
		})
	}
	return first
}

// State is what was found last, unhealthy before Start.
func (k *Checker) State() State { return *k.state.Load() }

// suspicionPause is how long a check asked for by Suspect waits, so that
// several requests share one check.
const suspicionPause = 200 * time.Millisecond

// Suspect asks for an early check of the directories because a container has
// just failed on one: without it, further containers would fail there until the
// next interval. It does not wait for the check.
func (k *Checker) Suspect() {
	select {
	case k.suspicion <- struct{}{}:
	default:
	}
}

// Close ends the checks; a running script is killed. No call of Found begins
// afterwards.
func (k *Checker) Close() {
	k.stop()
	k.running.Wait()
}

// every calls do after each interval and whenever early receives; with atOnce
// it also calls it immediately.
func (k *Checker) every(ctx context.Context, interval time.Duration, early <-chan struct{}, atOnce bool, do func()) {
	k.running.Go(func() {
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			if atOnce {
				do()
			}
			atOnce = true
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			case <-early:
				select {
				case <-ctx.Done():
					return
				case <-time.After(suspicionPause):
				}
			}
		}
	})
}

// look checks all directories and publishes what it found.
func (k *Checker) look() State {
	k.locals.check()
	k.logs.check()
	return k.publish(true)
}

// ask runs a script and tells whether its result differs from the last one.
func (k *Checker) ask(ctx context.Context, s *script) (changed bool) {
	report, err := s.run(ctx)
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, errPassedOver) {
		k.Log.Warn("the health script printed an error but failed itself, so that it is passed over: let it exit with 0", "script", s.Name, "error", err)
	}
	k.order.Lock()
	defer k.order.Unlock()
	changed, s.report = s.report != report, report
	return changed
}

// publish combines the results of directories and scripts and passes them to
// Found. Only one goroutine checks directories and publishes their results, so
// they need no lock.
func (k *Checker) publish(looked bool) State {
	k.order.Lock()
	defer k.order.Unlock()
	old := *k.state.Load()
	now := State{Healthy: true, At: k.Now().UnixMilli(), Local: old.Local, Log: old.Log}
	if looked {
		now.Local, now.Log = k.locals.dirs(), k.logs.dirs()
		k.said = k.locals.report() + k.logs.report()
	}
	var reports []string
	if d := k.Health.Disks; d.Enabled {
		now.Healthy = enough(now.Local, d.MinHealthy) && enough(now.Log, d.MinHealthy)
		reports = append(reports, k.said)
	}
	for _, s := range k.scripts {
		now.Healthy = now.Healthy && s.report == ""
		reports = append(reports, s.report)
	}
	reports = slices.DeleteFunc(reports, func(r string) bool { return r == "" })
	now.Report = bounded(strings.Join(reports, ";"))
	k.note(old, now)
	k.state.Store(&now)
	k.Found(now)
	return now
}

// note logs what has changed.
func (k *Checker) note(old, now State) {
	if now.Healthy == old.Healthy && now.Report == old.Report && now.Local.equal(old.Local) && now.Log.equal(old.Log) {
		return
	}
	level := slog.LevelInfo
	if now.Report != "" {
		level = slog.LevelWarn
	}
	k.Config.Log.Log(context.Background(), level, "health of the node", "healthy", now.Healthy, "report", now.Report,
		"local", len(now.Local.Good), "log", len(now.Log.Good))
}

// enough tells whether the share of good directories suffices
// (yarn.nodemanager.disk-health-checker.min-healthy-disks). Full ones do not
// count as good.
func enough(d Dirs, share float64) bool {
	all := len(d.Good) + len(d.Full) + len(d.Bad)
	return all == 0 || float32(len(d.Good))/float32(all) >= float32(share)
}

// MaxReport bounds State.Report in bytes: it goes out with every heartbeat.
const MaxReport = 8 << 10

// bounded is text that fits into a report and into a message.
func bounded(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= MaxReport {
		return s
	}
	const more = "…"
	return strings.ToValidUTF8(s[:MaxReport-len(more)], "") + more
}
