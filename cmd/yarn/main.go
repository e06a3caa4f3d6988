// Command yarn is Hadoop's bin/yarn: clients, administrators' commands and
// daemons in one static binary. See package cli.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/cli"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/descriptors"
	"github.com/heddle-project/heddle/internal/local"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/logserver"
	"github.com/heddle-project/heddle/nodemanager"
	"github.com/heddle-project/heddle/resourcemanager"
	"github.com/heddle-project/heddle/sim/compare"
	"github.com/heddle-project/heddle/sim/replay"
	"github.com/heddle-project/heddle/sim/rerun"
)

func main() {
	os.Exit(cli.Main(cli.Daemons{ResourceManager: runResourceManager, NodeManager: runNodeManager, LogServer: runLogServer, Minicluster: runMinicluster, Simulation: runSimulation, Actions: actions()}))
}

// starting is called when signals are obeyed and the ResourceManager begins to start. A test has it wait.
var starting = func() {}

// runResourceManager runs the daemon until ctx ends.
func runResourceManager(ctx context.Context, s cli.Start) (err error) {
	if err := descriptors.CloseOnExec(); err != nil {
		return err
	}
	log, err := openLog(s, "resourcemanager")
	if err != nil {
		return err
	}
	defer func() { log.ends(err) }()
	o := resourceManagerOptions(s, log)
	if o.Audit, err = log.openAudit(s, auditorOfResourceManager); err != nil {
		return err
	}
	var d *resourcemanager.Daemon
	up := make(chan struct{})
	log.attend(ctx, func(ctx context.Context) {
		select {
		case <-up: // one that is starting may have read the files before they changed
			d.Reread(ctx)
		case <-ctx.Done():
		}
	})
	starting()
	if d, err = resourcemanager.Start(ctx, o); err != nil {
		return err
	}
	close(up)
	log.Info("the ResourceManager is up", "configuration", s.ConfDir)
	err = d.Wait(ctx)
	d.Stop()
	log.Info("the ResourceManager has stopped")
	return err
}

// runNodeManager runs the daemon until ctx ends.
func runNodeManager(ctx context.Context, s cli.Start) (err error) {
	if err := descriptors.CloseOnExec(); err != nil {
		return err
	}
	log, err := openLog(s, "nodemanager")
	if err != nil {
		return err
	}
	defer func() { log.ends(err) }()
	o := nodeManagerOptions(s, log)
	if o.Audit, err = log.openAudit(s, auditorOfNodeManager); err != nil {
		return err
	}
	log.attend(ctx, func(context.Context) {}) // a NodeManager reads nothing anew while it runs
	d, err := nodemanager.Start(o)
	if err != nil {
		return err
	}
	log.Info("the NodeManager is up", "configuration", s.ConfDir)
	err = d.Wait(ctx)
	d.Stop()
	log.Info("the NodeManager has stopped")
	return err
}

// runLogServer runs the server for collected logs until ctx ends.
func runLogServer(ctx context.Context, s cli.Start) (err error) {
	if err := descriptors.CloseOnExec(); err != nil {
		return err
	}
	log, err := openLog(s, "logserver")
	if err != nil {
		return err
	}
	defer func() { log.ends(err) }()
	log.attend(ctx, func(context.Context) {}) // it reads nothing anew while it runs
	d, err := logserver.Start(logServerOptions(s, log))
	if err != nil {
		return err
	}
	log.Info("the server for collected logs is up", "configuration", s.ConfDir)
	err = d.Wait(ctx)
	d.Stop()
	log.Info("the server for collected logs has stopped")
	return err
}

func logServerOptions(s cli.Start, log *journal) logserver.Options {
	s.Local = local.Host
	return logserver.Options{LogDir: logDir(s), Load: func() (*conf.Properties, error) { return s.LoadWith(conf.LogServerFiles) }, User: processUser(), Log: log.Logger}
}

func resourceManagerOptions(s cli.Start, log *journal) resourcemanager.Options {
	s.Local = local.Host
	return resourcemanager.Options{Load: s.Load, Dir: s.ConfDir, User: processUser(), Log: log.Logger, Recordings: logDir(s), Getenv: getenv(s.Env)}
}

// getenv is "" for what is not set.
func getenv(lookup func(string) (string, bool)) func(string) string {
	return func(name string) string {
		value, _ := lookup(name)
		return value
	}
}

func nodeManagerOptions(s cli.Start, log *journal) nodemanager.Options {
	return nodemanager.Options{LogDir: logDir(s), Load: func() (*conf.Properties, error) { return s.LoadWith(conf.NodeManagerFiles) },
		Dir: s.ConfDir, User: processUser(), Environ: s.Environ, Log: log.Logger}
}

// processUser is whom the process runs as.
func processUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "yarn"
}

// logDir is where a daemon's logs are.
func logDir(s cli.Start) string {
	if s.LogFile != "" {
		return filepath.Dir(s.LogFile)
	}
	return s.System["yarn.log.dir"]
}

const simulationUsage = `Usage: yarn sim replay [--check] [--out DIR] TRACE...
       yarn sim rerun [-check] [-list] FILE
       yarn sim compare TRACE... --scheduler A [--scheduler B] [--site FILE]... [--output json] [--all]
replay plays recorded decisions of Apache's schedulers, rerun a recording of a ResourceManager's black box, compare the work of either under
two configurations. Each tells more with -help.
`

// runSimulation runs yarn sim replay, rerun and compare.
func runSimulation(_ context.Context, s cli.Start) error {
	commands := map[string]func([]string, io.Writer, io.Writer) int{"compare": compare.Main, "replay": replay.Main, "rerun": rerun.Main}
	if len(s.Args) > 0 && slices.Contains([]string{"-help", "--help", "-h"}, s.Args[0]) {
		fmt.Fprint(s.Stdout, simulationUsage)
		return nil
	}
	var run func([]string, io.Writer, io.Writer) int
	if len(s.Args) > 0 {
		run = commands[s.Args[0]]
	}
	if run == nil {
		return fmt.Errorf("only \"replay TRACE...\", \"rerun FILE\" and \"compare TRACE...\" are built, not %q: yarn sim -help tells more", strings.Join(s.Args, " "))
	}
	if code := run(s.Args[1:], s.Stdout, s.Stderr); code != 0 {
		return cli.Exit(code)
	}
	return nil
}

// level is the level of that name, or of the first of names and settings that log4j would take.
func level(words string) (slog.Level, error) {
	word, _, _ := strings.Cut(words, ",")
	if word == "" {
		return slog.LevelInfo, nil
	}
	known, ok := logs.ParseLevel(word)
	if !ok {
		return 0, fmt.Errorf("unknown log level %q: use DEBUG, INFO, WARN or ERROR", word)
	}
	return known, nil
}

// bounds are the size of a log and the number of older ones: what the system properties of a prefix say, or else the defaults.
func bounds(system map[string]string, prefix string, most int64, kept int) (int64, int, error) {
	var err error
	if text := system[prefix+"maxfilesize"]; text != "" {
		if most, err = logs.ParseSize(text); err != nil {
			return 0, 0, fmt.Errorf("%smaxfilesize: %w", prefix, err)
		}
	}
	if text := system[prefix+"maxbackupindex"]; text != "" {
		if kept, err = strconv.Atoi(text); err != nil || kept < 0 || kept > maxKept {
			return 0, 0, fmt.Errorf("%smaxbackupindex: %q is not a number of files from 0 to %d", prefix, text, maxKept)
		}
	}
	return most, kept, nil
}

// maxKept bounds the older logs: each rotation renames all of them.
const maxKept = 1000
