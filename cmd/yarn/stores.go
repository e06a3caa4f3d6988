package main

import (
	"context"

	"github.com/heddle-project/heddle/cli"
	"github.com/heddle-project/heddle/nodemanager"
	"github.com/heddle-project/heddle/resourcemanager"
)

// actions are what daemons' commands do to their stores instead of running.
func actions() map[string]cli.Daemon {
	rm := func(do func(resourcemanager.Options, cli.Start) error) cli.Daemon {
		return action("resourcemanager", func(s cli.Start, log *journal) error { return do(resourceManagerOptions(s, log), s) })
	}
	nm := func(do func(nodemanager.Options, cli.Start) error) cli.Daemon {
		return action("nodemanager", func(s cli.Start, log *journal) error { return do(nodeManagerOptions(s, log), s) })
	}
	return map[string]cli.Daemon{
		"resourcemanager -check-state-store": rm(func(o resourcemanager.Options, s cli.Start) error {
			return verdict(resourcemanager.CheckStore(o, s.Stdout))
		}),
		"resourcemanager -repair-state-store": rm(func(o resourcemanager.Options, s cli.Start) error { return resourcemanager.RepairStore(o, s.Stdout) }),
		"resourcemanager -format-conf-store": rm(func(o resourcemanager.Options, s cli.Start) error {
			return resourcemanager.FormatConfStore(o, s.Stdout)
		}),
		"resourcemanager -format-state-store":  rm(func(o resourcemanager.Options, s cli.Start) error { return resourcemanager.FormatStore(o, s.Stdout) }),
		"resourcemanager -import-state-store":  rm(func(o resourcemanager.Options, s cli.Start) error { return resourcemanager.ImportStore(o, s.Stdout) }),
		"resourcemanager -recover-lost-quorum": rm(func(o resourcemanager.Options, s cli.Start) error { return resourcemanager.RecoverQuorum(o, s.Stdout) }),
		"resourcemanager -remove-application-from-state-store": rm(func(o resourcemanager.Options, s cli.Start) error {
			return resourcemanager.RemoveFromStore(o, s.Args[0], s.Stdout)
		}),
		"nodemanager -check-recovery-store": nm(func(o nodemanager.Options, s cli.Start) error {
			return verdict(nodemanager.CheckStore(o, s.Stdout))
		}),
		"nodemanager -repair-recovery-store": nm(func(o nodemanager.Options, s cli.Start) error { return nodemanager.RepairStore(o, s.Stdout) }),
	}
}

func action(name string, do func(cli.Start, *journal) error) cli.Daemon {
	return func(_ context.Context, s cli.Start) error {
		log, err := openLog(s, name)
		if err != nil {
			return err
		}
		defer log.close()
		return do(s, log)
	}
}

// verdict is exit code 1 for what is damaged.
func verdict(whole bool, err error) error {
	if err == nil && !whole {
		return cli.Exit(1)
	}
	return err
}
