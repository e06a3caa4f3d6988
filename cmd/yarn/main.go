// Command yarn is Hadoop's bin/yarn: clients, administrators' commands and
// daemons in one static binary. See package cli.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strings"

	"github.com/heddle-project/heddle/cli"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/resourcemanager"
	"github.com/heddle-project/heddle/sim/replay"
)

func main() {
	os.Exit(cli.Main(cli.Daemons{ResourceManager: runResourceManager, Simulation: runSimulation}))
}

// runResourceManager runs the daemon until ctx ends.
func runResourceManager(ctx context.Context, s cli.Start) error {
	log, done, err := openLog(s)
	if err != nil {
		return err
	}
	defer done()
	name := "yarn"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	d, err := resourcemanager.Start(resourcemanager.Options{Load: s.Load, Dir: s.ConfDir, User: name, Log: log})
	if err != nil {
		return err
	}
	log.Info("the ResourceManager is up", "configuration", s.ConfDir)
	err = d.Wait(ctx)
	d.Stop()
	log.Info("the ResourceManager has stopped")
	return err
}

// runSimulation runs yarn sim replay.
func runSimulation(_ context.Context, s cli.Start) error {
	if len(s.Args) == 0 || s.Args[0] != "replay" {
		return fmt.Errorf("yarn sim: only \"replay FILE\" is built")
	}
	if code := replay.Main(s.Args[1:], s.Stdout, s.Stderr); code != 0 {
		return cli.Exit(code)
	}
	return nil
}

var levels = map[string]slog.Level{"TRACE": slog.LevelDebug, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError, "FATAL": slog.LevelError}

func openLog(s cli.Start) (*slog.Logger, func(), error) {
	level := slog.LevelInfo
	if word, _, _ := strings.Cut(s.LogLevel, ","); word != "" {
		known, ok := levels[strings.ToUpper(word)]
		if !ok {
			return nil, nil, fmt.Errorf("unknown log level %q: use DEBUG, INFO, WARN or ERROR", word)
		}
		level = known
	}
	out, done := os.Stderr, func() {}
	if s.LogFile != "" {
		f, err := os.OpenFile(s.LogFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot open the log: %w", err)
		}
		out, done = f, func() { f.Close() }
	}
	return slog.New(logs.New(out, level)).With("logger", "resourcemanager"), done, nil
}
