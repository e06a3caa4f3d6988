package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/heddle-project/heddle/cli"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/descriptors"
	"github.com/heddle-project/heddle/minicluster"
)

// runMinicluster runs a whole cluster until ctx ends or the terminal is closed.
func runMinicluster(ctx context.Context, s cli.Start) error {
	if err := descriptors.CloseOnExec(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	o := minicluster.Options{Properties: s.Overrides, Env: s.Env, Environ: s.Environ, System: s.System, User: processUser()}
	keep, err := miniclusterOptions(&o, s)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return cli.Exit(2) // said already
	}
	if o.Level, err = level(s.LogLevel); err != nil {
		return err
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "heddle-minicluster-"); err != nil {
			return fmt.Errorf("cannot make a directory for the cluster: %w", err)
		}
		if err = os.Chmod(o.Dir, 0o755); err != nil { // users of the cluster read its configuration
			return err
		}
	} else {
		keep = true
	}
	c, err := minicluster.Start(o)
	if err != nil {
		return fmt.Errorf("%w\nthe logs are in %s/logs", err, o.Dir)
	}
	fmt.Fprintf(s.Stdout, "pages:         %s\nconfiguration: %s\nlogs:          %s\n\nyarn --config %s node -list\n\nCtrl-C ends it.\n", c.Web, c.ConfDir(), c.LogDir(), c.ConfDir())
	err = c.Wait(ctx)
	c.Stop()
	if err == nil && !keep {
		err = os.RemoveAll(o.Dir)
	}
	return err
}

func miniclusterOptions(o *minicluster.Options, s cli.Start) (keep bool, err error) {
	f := flag.NewFlagSet("yarn minicluster", flag.ContinueOnError)
	f.SetOutput(s.Stderr)
	f.IntVar(&o.Nodes, "nodes", 1, "`number` of NodeManagers")
	f.Int64Var(&o.MemoryMB, "memory", 4096, "`MiB` of each")
	f.IntVar(&o.VCores, "vcores", 4, "`vcores` of each")
	f.StringVar(&o.Dir, "dir", "", "`directory` of the cluster, kept at the end (default: a temporary one that is removed)")
	f.BoolVar(&keep, "keep", false, "keep the temporary directory")
	f.Func("conf", "`name=value` of yarn-site.xml; may be repeated", func(text string) error {
		p, err := conf.ParseOverride(text)
		o.Properties = append(o.Properties, p)
		return err
	})
	if err := f.Parse(s.Args); err != nil {
		return keep, err
	}
	if f.NArg() > 0 {
		fmt.Fprintf(s.Stderr, "yarn minicluster: %q is no option\n", f.Arg(0))
		return keep, errors.New("usage")
	}
	return keep, nil
}
