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
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/nodemanager"
	"github.com/heddle-project/heddle/resourcemanager"
	"github.com/heddle-project/heddle/sim/replay"
)

func main() {
	os.Exit(cli.Main(cli.Daemons{ResourceManager: runResourceManager, NodeManager: runNodeManager, Minicluster: runMinicluster, Simulation: runSimulation}))
}

// runResourceManager runs the daemon until ctx ends.
func runResourceManager(ctx context.Context, s cli.Start) error {
	log, done, err := openLog(s, "resourcemanager")
	if err != nil {
		return err
	}
	defer done()
	d, err := resourcemanager.Start(resourcemanager.Options{Load: s.Load, Dir: s.ConfDir, User: processUser(), Log: log})
	if err != nil {
		return err
	}
	log.Info("the ResourceManager is up", "configuration", s.ConfDir)
	err = d.Wait(ctx)
	d.Stop()
	log.Info("the ResourceManager has stopped")
	return err
}

// runNodeManager runs the daemon until ctx ends.
func runNodeManager(ctx context.Context, s cli.Start) error {
	log, done, err := openLog(s, "nodemanager")
	if err != nil {
		return err
	}
	defer done()
	d, err := nodemanager.Start(nodemanager.Options{Load: func() (*conf.Properties, error) { return s.LoadWith(conf.NodeManagerFiles) },
		Dir: s.ConfDir, User: processUser(), Environ: os.Environ(), Log: log})
	if err != nil {
		return err
	}
	log.Info("the NodeManager is up", "configuration", s.ConfDir)
	err = d.Wait(ctx)
	d.Stop()
	log.Info("the NodeManager has stopped")
	return err
}

// processUser is whom the process runs as.
func processUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "yarn"
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

// level is the level of that name, or of the first of names and settings that log4j would take.
func level(words string) (slog.Level, error) {
	word, _, _ := strings.Cut(words, ",")
	if word == "" {
		return slog.LevelInfo, nil
	}
	known, ok := levels[strings.ToUpper(word)]
	if !ok {
		return 0, fmt.Errorf("unknown log level %q: use DEBUG, INFO, WARN or ERROR", word)
	}
	return known, nil
}

func openLog(s cli.Start, name string) (*slog.Logger, func(), error) {
	least, err := level(s.LogLevel)
	if err != nil {
		return nil, nil, err
	}
	out, done := os.Stderr, func() {}
	if s.LogFile != "" {
		f, err := os.OpenFile(s.LogFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot open the log: %w", err)
		}
		out, done = f, func() { f.Close() }
	}
	return slog.New(logs.New(out, least)).With("logger", name), done, nil
}
