package run

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/nodemanager/process"
)

// pauseLimit is how long the processes of a container have to stop.
const pauseLimit = 5 * time.Second

// Pause stops the container's processes with SIGSTOP, and returns when all of them are stopped. They keep their memory.
func (p *Process) Pause(ctx context.Context) error {
	if err := p.pause(ctx); err != nil {
		return fmt.Errorf("pause %s: %w", p.id, err)
	}
	return nil
}

func (p *Process) pause(ctx context.Context) error {
	p.awaitPID(ctx)
	deadline := time.Now().Add(pauseLimit)
	quiet := 0 // looks in a row that found nobody awake: what was forked during one shows in the next
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		table, err := process.Linux.Table()
		if err != nil {
			return err
		}
		members := p.members(table)
		if len(members) == 0 {
			return ErrNotRunning
		}
		awake := slices.DeleteFunc(members, process.Info.Stopped)
		if quiet++; len(awake) > 0 {
			quiet = 0
		}
		switch {
		case quiet == 2:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%d processes go on after SIGSTOP and %v", len(awake), pauseLimit)
		}
		send(table, awake, syscall.SIGSTOP)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// Resume has the container's processes go on.
func (p *Process) Resume(ctx context.Context) error { return p.Signal(ctx, syscall.SIGCONT) }
