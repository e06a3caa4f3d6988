package resourcemanager

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
)

// What POST /scheduler/logs asks for: a file of what the scheduler decides, for some time. The scheduler itself logs nothing; the lines are the
// events of the term, which are its decisions and the changes of state that come of them.

// schedulerLogFiles are Hadoop's names.
var schedulerLogFiles = map[string]string{access.Capacity: "yarn-capacity-scheduler-debug.log", access.Fair: "yarn-fair-scheduler-debug.log", access.Fifo: "yarn-scheduler-debug.log"}

// Bounds of the file.
const (
	mostSchedulerLog = 256 << 20 // bytes
	schedulerBatch   = 1000      // events read at once
	schedulerPause   = 100 * time.Millisecond
)

// schedulerDump is a file that is asked for.
type schedulerDump struct {
	file   *os.File
	period time.Duration
	after  int64 // the last event before it
}

// LogScheduler implements access.Controller.
func (t *term) LogScheduler(_ context.Context, c webgate.Caller, period time.Duration) (err error) {
	who := identity(c)
	defer func() { t.Audit(who, "dumpSchedulerLogs", err) }()
	switch {
	case t.rights.rules.Load().enabled && !t.rights.IsAdmin(who):
		return answer.Errorf(answer.Forbidden, "Only admins can carry out this operation.")
	case t.Recordings == "":
		return answer.Errorf(answer.WrongState, "cannot write a log of the scheduler: this ResourceManager has no directory for logs; set HADOOP_LOG_DIR")
	case !t.dumping.CompareAndSwap(false, true):
		return errors.New("Appender is already dumping logs") //nolint:staticcheck // compat: Hadoop's text, as a 503
	}
	path := filepath.Join(t.Recordings, schedulerLogFiles[schedulers[t.settings.Allocation.Scheduler]])
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o640)
	if err != nil {
		t.dumping.Store(false)
		t.Log.Warn("cannot write a log of the scheduler", "logger", "scheduler", "file", path, "error", err)
		return answer.Errorf(answer.NotFound, "cannot write a log of the scheduler: %v", errors.Unwrap(err))
	}
	t.Log.Info("the scheduler's decisions are written to a file", "logger", "scheduler", "file", path, "for", period, "user", c.User)
	t.dumps <- schedulerDump{file: file, period: period, after: t.outside.events.Last().Number}
	return nil
}

// writeDumps writes the files that are asked for, one after the other.
func (t *term) writeDumps(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-t.dumps:
			if err := d.write(ctx, t.outside.events); err != nil {
				t.Log.Warn("the file of the scheduler's decisions is not whole", "logger", "scheduler", "file", d.file.Name(), "error", err)
			} else {
				t.Log.Info("the file of the scheduler's decisions is finished", "logger", "scheduler", "file", d.file.Name())
			}
			t.dumping.Store(false)
		}
	}
}

// write writes events until the period is over, the term ends or the file has its full size.
func (d *schedulerDump) write(ctx context.Context, all *events.Log) (err error) {
	defer func() { err = errors.Join(err, d.file.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, d.period)
	defer cancel()
	counted := &counter{file: d.file}
	log := slog.New(logs.New(counted, slog.LevelDebug)).With("logger", "org.apache.hadoop.yarn.server.resourcemanager.scheduler")
	var batch []events.Event
	for {
		var missed int64
		batch, missed = all.Read(d.after, schedulerBatch, batch[:0])
		if d.after += missed; missed > 0 {
			log.Warn("events are missing", "count", missed)
		}
		for i := range batch {
			logEvent(log, &batch[i])
			d.after = batch[i].Number
		}
		switch {
		case counted.err != nil:
			return counted.err
		case counted.bytes > mostSchedulerLog:
			log.Warn("the file has its full size and ends here", "bytes", counted.bytes)
			return nil
		case len(batch) == schedulerBatch && ctx.Err() == nil:
			continue
		}
		more, ended := all.More(d.after)
		if ended {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-more:
		}
		select { // lines go out in batches
		case <-ctx.Done():
		case <-time.After(schedulerPause):
		}
	}
}

// counter counts what goes to a file, and keeps the first error.
type counter struct {
	file  *os.File
	bytes int64
	err   error
}

func (c *counter) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.file.Write(p)
	c.bytes += int64(n)
	c.err = err
	return n, err
}

// logEvent writes a line.
func logEvent(log *slog.Logger, e *events.Event) {
	var what string
	args := []any{"at", time.UnixMilli(e.At).Format("15:04:05.000")}
	add := func(ok bool, name string, value any) {
		if ok {
			args = append(args, name, value)
		}
	}
	switch e.Kind {
	case events.Container:
		what = "container " + e.What
		add(true, "containerId", e.Container)
	case events.Application:
		what = "application " + e.To
		add(true, "appId", e.Application)
	case events.Attempt:
		what = "attempt " + e.To
		add(true, "appId", e.Application)
		add(true, "attempt", e.Attempt)
	case events.Node:
		what = "node " + e.To
	case events.Queues:
		what = "queues have changed"
	case events.Reservation:
		what = "reservation " + e.What
		add(true, "reservationId", e.Reservation)
	}
	add(e.Node.Host != "", "nodeId", e.Node)
	add(e.Queue != "", "queue", e.Queue)
	add(e.From != "", "from", e.From)
	add(e.MemoryMB != 0 || e.VCores != 0, "memoryMB", e.MemoryMB)
	add(e.MemoryMB != 0 || e.VCores != 0, "vCores", e.VCores)
	add(e.Kind == events.Container, "master", e.Master)
	add(e.Exit != 0, "exit", e.Exit)
	add(e.Cause != "", "cause", e.Cause)
	log.Debug(what, args...)
}
