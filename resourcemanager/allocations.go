package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/lint"
	"github.com/heddle-project/heddle/yarn"
)

// Of the FairScheduler's allocation file. Times are Apache's.
const (
	allocationsEvery    = 10 * time.Second
	allocationsSettled  = 5 * time.Second        // a file that has changed more recently may still be being written
	allocationsSlack    = 100 * time.Millisecond // file systems' clocks may be coarse: a file written so shortly before it was read is read again
	allocationsPatience = 30 * time.Second       // for a file on HDFS
)

// allocations follow the FairScheduler's allocation file.
type allocations struct {
	reading sync.Mutex       // held while the file is looked at, read or taken over
	site    *conf.Properties // the properties with which the term began

	mu     sync.Mutex // guards what follows; never held while waiting for anything
	where  setup.AllocationFile
	file   *config.AllocationFile // in force; nil: none. Then none is looked for, unless a refresh has found a bad one
	stamp  int64                  // its modification time
	looked int64                  // when it was read
	logged string                 // the problem that was logged last

	status atomic.Pointer[access.Allocations] // nil: there is no file
}

// fairSchedule reads and checks the FairScheduler's configuration when the term begins.
func (t *term) fairSchedule(site *conf.Properties, cluster config.Cluster) (*config.Config, error) {
	now := time.Now().UnixMilli()
	t.allocations.site = site
	read, err := t.locateAllocations(site)
	if err != nil {
		return nil, err
	}
	if read.file == nil {
		t.Log.Warn("there is no allocation file: all queues are made on demand, and nothing limits them; yarn rmadmin -refreshQueues looks for it again",
			"logger", "scheduler", "file", t.allocations.where.Name(), "property", setup.PropAllocationFile)
	}
	cluster.Allocations = read.file
	cfg, err := t.parseFair(cluster, setup.Queues(site, config.FairPolicy), yarn.Resource{})
	if err != nil {
		return nil, err
	}
	t.inForce(read, now)
	return cfg, nil
}

// locateAllocations finds and reads the file. If it is missing and may be, the answer has no file.
func (t *term) locateAllocations(site *conf.Properties) (readFile, error) {
	where, err := setup.FindAllocationFile(t.Dir, site)
	if err != nil {
		return readFile{}, err
	}
	t.allocations.mu.Lock()
	t.allocations.where = where
	t.allocations.mu.Unlock()
	read, err := t.readAllocations(where)
	if where.Optional && errors.Is(err, fs.ErrNotExist) {
		return readFile{}, nil
	}
	return read, err
}

// refreshFair is RefreshQueues under the FairScheduler: the allocation file is read at once. Of the properties only the maximum
// allocation is taken over.
func (t *term) refreshFair(site *conf.Properties) (cfg *config.Config, applied func(), err error) {
	fresh, err := t.readCluster(site)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now().UnixMilli()
	t.allocations.reading.Lock()
	defer t.allocations.reading.Unlock()
	started := t.access.schedule.Load()
	where, before := t.allocations.last()
	var read readFile
	if before.file == nil {
		read, err = t.locateAllocations(site)
	} else {
		read, err = t.readAllocations(where)
	}
	if err == nil {
		cluster := started.Cluster
		cluster.MaxAllocation, cluster.MaxPriority, cluster.Allocations = fresh.MaxAllocation, fresh.MaxPriority, read.file
		cfg, err = t.parseFair(cluster, started.Properties(), t.clusterSize())
	}
	if err != nil {
		t.refused(err, now)
		return nil, nil, err
	}
	return cfg, func() {
		t.access.schedule.Store(cfg)
		t.inForce(read, now)
	}, nil
}

// parseFair makes a configuration. What the linter finds is logged; if it is refused the error has all that is wrong.
func (t *term) parseFair(cluster config.Cluster, properties []config.Property, size yarn.Resource) (*config.Config, error) {
	in := setup.LintFair(t.allocations.site, cluster)
	in.Size = size
	findings := lint.CheckFair(in)
	cfg, _, err := config.Parse(properties, cluster)
	if err != nil {
		return nil, refusedFair(findings, err)
	}
	if !t.checks {
		t.logFindings(findings)
	}
	return cfg, nil
}

// maxRefusals is how many errors of an allocation file one text has.
const maxRefusals = 50

// refusedFair is the linter's errors, one per line, or err if it found none.
func refusedFair(findings []lint.Finding, err error) error {
	var lines []string
	for _, f := range findings {
		if f.Severity == lint.Error {
			lines = append(lines, f.String())
		}
	}
	if len(lines) == 0 {
		return err
	}
	if more := len(lines) - maxRefusals; more > 0 {
		lines = append(lines[:maxRefusals], fmt.Sprintf("... and %d more", more))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// readFile is an allocation file as it was read.
type readFile struct {
	file  *config.AllocationFile
	stamp int64 // its modification time before it was read
}

// readAllocations reads an allocation file.
func (t *term) readAllocations(where setup.AllocationFile) (read readFile, err error) {
	err = t.withAllocations(where, func(stamp int64, open func() (io.ReadCloser, error)) error {
		f, err := open()
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, allocation.MaxFileBytes+1)) // a larger one is refused when it is parsed
		read = readFile{&config.AllocationFile{Name: where.Name(), Text: string(text)}, stamp}
		return err
	})
	return read, err
}

// withAllocations finds the file and calls use with its modification time, in milliseconds, and a function that opens it.
func (t *term) withAllocations(where setup.AllocationFile, use func(stamp int64, open func() (io.ReadCloser, error)) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot read the allocation file %s (%s): %w", where.Name(), setup.PropAllocationFile, err)
		}
	}()
	if where.URL == "" {
		info, err := os.Stat(where.Path)
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular(): // opening a pipe would wait
			return errors.New("it is not a regular file")
		}
		return use(info.ModTime().UnixMilli(), func() (io.ReadCloser, error) { return os.Open(where.Path) })
	}
	url, err := filesystem.ParseURL(where.URL)
	if err != nil {
		return err
	}
	systems, err := t.fileSystems(t.site)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.running, allocationsPatience)
	defer cancel()
	system, err := systems.Connect(ctx, url, t.User)
	if err != nil {
		return err
	}
	defer system.Close()
	info, err := system.Stat(url.Path)
	switch {
	case err != nil:
		return err
	case info.Dir:
		return errors.New("it is a directory")
	case info.ModTime == 0:
		return errors.New("its modification time is not known")
	}
	return use(info.ModTime, func() (io.ReadCloser, error) { return system.Open(url.Path) })
}

// last is where the file is, and the one in force.
func (a *allocations) last() (where setup.AllocationFile, in readFile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.where, readFile{a.file, a.stamp}
}

// changed tells whether a file with that modification time may differ from the one in force.
func (a *allocations) changed(stamp int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return stamp > a.looked || stamp != a.stamp
}

// good ends the report of a problem: the file is again the one in force.
func (t *term) good() {
	a := &t.allocations
	_, in := a.last()
	if is := a.status.Load(); is != nil && is.Problem != "" {
		t.inForce(in, is.LoadedAt)
	}
}

// inForce notes that the queues are those of the file, which was read at now, in milliseconds.
func (t *term) inForce(read readFile, now int64) {
	a := &t.allocations
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.logged != "" {
		t.Log.Info("the allocation file is good again", "logger", "scheduler", "file", a.where.Name())
	}
	a.file, a.stamp, a.looked, a.logged = read.file, read.stamp, now-allocationsSlack.Milliseconds(), ""
	if read.file == nil {
		a.status.Store(nil)
		return
	}
	a.status.Store(&access.Allocations{File: a.where.Name(), LoadedAt: now})
}

// refused notes why the file cannot be used. It logs each new reason. The queues stay as they are.
func (t *term) refused(why error, now int64) {
	a := &t.allocations
	a.mu.Lock()
	defer a.mu.Unlock()
	is := access.Allocations{File: a.where.Name(), Since: now}
	if was := a.status.Load(); was != nil {
		is.LoadedAt = was.LoadedAt
		if was.Problem != "" {
			is.Since = was.Since
		}
	}
	is.Problem = why.Error()
	a.status.Store(&is)
	if a.logged == is.Problem {
		return
	}
	a.logged = is.Problem
	t.Log.Error("the allocation file is not taken over, and the queues stay as they are; it is tried again every "+allocationsEvery.String(),
		"logger", "scheduler", "file", a.where.Name(), "error", is.Problem)
}

// followAllocations calls tendAllocations every allocationsEvery.
func (t *term) followAllocations(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(allocationsEvery):
			t.tendAllocations(ctx, time.Now().UnixMilli())
		}
	}
}

// tendAllocations removes empty dynamic queues, and takes the allocation file over if it has changed. now is the wall clock, in milliseconds.
func (t *term) tendAllocations(ctx context.Context, now int64) {
	t.loop.Post(engine.TendQueues{Deleting: true})
	t.allocations.reading.Lock()
	defer t.allocations.reading.Unlock()
	where, before := t.allocations.last()
	if before.file == nil && t.allocations.status.Load() == nil {
		return
	}
	changed, due := false, false
	err := t.withAllocations(where, func(stamp int64, _ func() (io.ReadCloser, error)) error {
		changed = t.allocations.changed(stamp)
		due = changed && now > stamp+allocationsSettled.Milliseconds()
		return nil
	})
	switch {
	case before.file == nil && where.Optional && errors.Is(err, fs.ErrNotExist): // the file that a refresh refused is gone
		err = nil
		t.good()
	case err != nil:
	case due:
		err = t.reloadAllocations(ctx, where, before, now)
	case !changed:
		t.good()
	}
	if err != nil && ctx.Err() == nil {
		t.refused(err, now)
	}
}

// reloadAllocations takes the file over.
func (t *term) reloadAllocations(ctx context.Context, where setup.AllocationFile, before readFile, now int64) error {
	read, err := t.readAllocations(where)
	if err != nil {
		return err
	}
	if before.file != nil && read.file.Text == before.file.Text {
		t.inForce(read, now)
		return nil
	}
	started := t.access.schedule.Load()
	cluster := started.Cluster
	cluster.MaxPriority, cluster.Allocations = t.maxPriority.Load(), read.file
	cfg, err := t.parseFair(cluster, started.Properties(), t.clusterSize())
	if err != nil {
		return err
	}
	cmd := engine.RefreshQueues{Config: cfg, Prepared: t.prepareQueues(cfg)}
	if _, err := t.ask(ctx, func(k engine.Ticket) engine.Command { cmd.Ticket = k; return cmd }); err != nil {
		return err
	}
	t.access.schedule.Store(cfg)
	t.inForce(read, now)
	t.Log.Info("the allocation file has been taken over", "logger", "scheduler", "file", where.Name())
	return nil
}
