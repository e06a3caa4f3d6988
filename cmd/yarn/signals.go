package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"github.com/heddle-project/heddle/cli"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/logs"
)

// journal is where a daemon logs: a file, or standard error.
type journal struct {
	*slog.Logger
	out   io.Writer
	least slog.Level
	file  *logs.File // nil for standard error

	audit    *logs.File // of the audit log; nil if it has none of its own
	auditLog *audit.Log // nil if nothing is audited
}

// openLog opens the log of a daemon. A file is rotated at hadoop.log.maxfilesize, and hadoop.log.maxbackupindex older ones are kept,
// as system properties have them (-D in HADOOP_OPTS or the daemon's own variable).
func openLog(s cli.Start, name string) (*journal, error) {
	least, err := level(s.LogLevel)
	if err != nil {
		return nil, err
	}
	j := &journal{out: os.Stderr, least: least}
	if s.LogFile != "" {
		most, kept, err := bounds(s.System, "hadoop.log.", logs.DefaultSize, logs.DefaultKept)
		if err != nil {
			return nil, err
		}
		if j.file, err = logs.OpenFile(s.LogFile, most, kept); err != nil {
			return nil, err
		}
		j.out = j.file
	}
	j.Logger = slog.New(logs.New(j.out, logs.NewLevels(least))).With("logger", name)
	return j, nil
}

// ends closes the log of a daemon. Why it ends stands on standard error, which a start in the background may not keep, so a file says it, too.
func (j *journal) ends(why error) {
	if why != nil && j.file != nil {
		j.Error("the daemon ends", "error", why)
	}
	j.close()
}

// close writes what waits and closes the files.
func (j *journal) close() {
	j.auditLog.Close()
	for _, f := range []*logs.File{j.audit, j.file} {
		if f != nil {
			f.Close()
		}
	}
}

// attend obeys the signals that do not end a daemon, as long as the process lives: HUP opens the log anew and, until ctx ends, has the
// daemon read again what administrators' refreshes read; QUIT writes the stacks of all goroutines to the log, whatever HUP waits for.
func (j *journal) attend(ctx context.Context, reread func(context.Context)) {
	on(syscall.SIGQUIT, j.stacks)
	on(syscall.SIGHUP, func() {
		j.reopen()
		if ctx.Err() == nil {
			reread(ctx)
		}
	})
}

// on does something at each signal, one after the other; those that come meanwhile count as one.
func on(s os.Signal, do func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, s)
	go func() {
		for range c {
			do()
		}
	}()
}

func (j *journal) reopen() {
	for what, f := range map[string]*logs.File{"log": j.file, "audit log": j.audit} {
		if f == nil {
			continue
		}
		if err := f.Reopen(); err != nil {
			j.Error("the "+what+" could not be reopened: the old file is still written to", "signal", "HUP", "error", err)
			continue
		}
		j.Info("the "+what+" has been reopened", "signal", "HUP")
	}
}

// stacks writes what every goroutine is doing, as a Java daemon's users know it from their virtual machine.
func (j *journal) stacks() {
	j.Info("the stacks of all goroutines follow", "signal", "QUIT")
	if err := pprof.Lookup("goroutine").WriteTo(j.out, 2); err != nil {
		j.Error("cannot write the stacks", "error", err)
	}
	j.Info("these were the stacks of all goroutines", "signal", "QUIT")
}
