package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/nodemanager/process"
)

// Bounds of ending a container.
const (
	killLimit    = 10 * time.Second // for its processes to be gone after the first SIGKILL
	wrapperLimit = time.Second      // for its scripts to end after them
	firstPause   = 2 * time.Millisecond
	lastPause    = 100 * time.Millisecond
)

// ErrNotRunning tells that a container has no process that could get a signal.
var ErrNotRunning = errors.New("the container has no process")

// Signal sends a signal to all of the container's processes. It waits for Config.PIDWait for one that is just starting. SIGQUIT, which
// asks for a thread dump, goes only to those that catch it; it would end the others.
//
// compat: what Apache's NodeManager starts has it blocked until the program unblocks it, as a JVM does.
func (p *Process) Signal(ctx context.Context, signal syscall.Signal) error {
	p.awaitPID(ctx)
	n, err := p.deliver(signal)
	if err == nil && n == 0 {
		err = ErrNotRunning
	}
	if err != nil {
		return fmt.Errorf("send %v to %s: %w", signal, p.id, err)
	}
	return nil
}

// Kill ends the container's processes with SIGTERM and, after Config.KillDelay, SIGKILL. It returns when they are gone and Done
// is closed. If the container has already ended, Kill ends the processes it left behind. When ctx ends, Kill stops waiting. The
// error says which processes could not be ended.
//
// Processes are the container's if they descend from it, are in its session or one that began in it, or bear its mark in
// their environment or its brand among their limits. Apache's NodeManager signals one process group only, and what has left
// that lives on.
func (p *Process) Kill(ctx context.Context) error {
	if p.awaitPID(ctx); p.PID() == 0 && !p.ended() {
		p.killWrapper(ctx) // else it might go on to start the container
	}
	if p.l.cfg.KillDelay > 0 {
		n, err := p.deliver(syscall.SIGTERM)
		if err == nil && n > 0 {
			p.awaitEnd(ctx)
		}
	}
	err := p.killAll(ctx)
	if err == nil {
		err = p.endWrapper(ctx)
	}
	if err != nil {
		return fmt.Errorf("kill %s: %w", p.id, err)
	}
	return nil
}

// awaitPID waits until the container has written its process id, has ended, or has had its time to do so.
func (p *Process) awaitPID(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.l.cfg.PIDWait)
	defer cancel()
	for pause := firstPause; p.PID() == 0 && !p.ended(); pause = min(2*pause, lastPause) {
		select {
		case <-p.done:
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// awaitEnd waits for the container's processes, not longer than they have after SIGTERM.
func (p *Process) awaitEnd(ctx context.Context) {
	deadline := time.Now().Add(p.l.cfg.KillDelay)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		left := time.Until(deadline)
		if left <= 0 || sleep(ctx, min(pause, left)) != nil {
			return
		}
		// Looking through all processes is left for when the group is gone.
		if pid := p.PID(); pid != 0 && syscall.Kill(-pid, 0) == nil {
			continue
		}
		if n, err := p.deliver(0); err != nil || n == 0 {
			return
		}
	}
}

// killAll sends SIGKILL until nobody is left: what has just been forked may have been missed.
func (p *Process) killAll(ctx context.Context) error {
	deadline := time.Now().Add(killLimit)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		n, err := p.deliver(syscall.SIGKILL)
		if err != nil || n == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes are still there after SIGKILL and %v", n, killLimit)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// endWrapper waits for the scripts to end, and ends them if they do not. They may have been stopped, or told by the
// container's variables to do anything.
func (p *Process) endWrapper(ctx context.Context) error {
	if err := p.awaitDone(ctx, wrapperLimit); !errors.Is(err, errScripts) {
		return err
	}
	p.killWrapper(ctx)
	if err := p.killAll(ctx); err != nil {
		return err
	}
	return p.awaitDone(ctx, p.l.cfg.ExitFileWait+wrapperLimit)
}

var errScripts = errors.New("its scripts do not end")

func (p *Process) awaitDone(ctx context.Context, limit time.Duration) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(limit):
		return errScripts
	}
}

// killWrapper returns when the wrapper is gone, or does not go.
func (p *Process) killWrapper(ctx context.Context) {
	if p.wrapper != nil {
		_ = p.wrapper.Kill()
		_ = p.awaitDone(ctx, wrapperLimit)
		return
	}
	for deadline := time.Now().Add(wrapperLimit); time.Now().Before(deadline); {
		table, err := process.Linux.Table()
		if err != nil {
			return
		}
		pid := p.findWrapper(p.orphans(table))
		if pid == 0 {
			return
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		if sleep(ctx, firstPause) != nil {
			return
		}
	}
}

// deliver sends the signal to the container's processes, and tells how many there are. Signal 0 only counts.
func (p *Process) deliver(signal syscall.Signal) (int, error) {
	table, err := process.Linux.Table()
	if err != nil {
		return 0, err
	}
	members := p.members(table)
	switch signal {
	case 0:
	case syscall.SIGQUIT:
		for _, info := range members {
			if process.Linux.Catches(info.PID, signal) {
				_ = syscall.Kill(info.PID, signal)
			}
		}
	default:
		send(table, members, signal)
	}
	return len(members), nil
}

// members are the container's living processes. The wrapper is none, nor is what it runs to keep the exit code.
func (p *Process) members(t *process.Table) []process.Info {
	orphans := p.orphans(t)
	self := os.Getpid()
	spared := t.Adopters(self)
	spared[self], spared[p.findWrapper(orphans)] = true, true
	seeds := p.roots(t)
	for _, info := range orphans {
		seeds = append(seeds, info.PID)
	}
	seeds = slices.DeleteFunc(seeds, func(pid int) bool { return spared[pid] })
	return slices.DeleteFunc(t.Closure(seeds...), func(info process.Info) bool { return info.Dead() || spared[info.PID] })
}

// roots are the ids of the container and of a wrapper that has ended. Both may be gone and have left others in their
// sessions, as long as the ids have not been given to other processes.
func (p *Process) roots(t *process.Table) []int {
	var out []int
	if pid := p.PID(); pid != 0 {
		if info, ok := t.Get(pid); !ok || p.owns(info) {
			out = append(out, pid)
		}
	}
	if p.wrapper != nil {
		if info, ok := t.Get(p.wrapper.Pid); !ok || info.Dead() && info.Start == p.started {
			out = append(out, p.wrapper.Pid)
		}
	}
	return out
}

// send signals whole groups where all of a group is meant: what a member forks at that moment cannot escape.
func send(t *process.Table, members []process.Info, signal syscall.Signal) {
	among := make(map[int]bool, len(members))
	for _, info := range members {
		among[info.PID] = true
	}
	groups := map[int]bool{} // those that were looked at, and whether they were signalled
	for _, info := range members {
		whole, known := groups[info.Group]
		if !known {
			whole = info.Group > 1 && t.Group(info.Group, among)
			groups[info.Group] = whole
			if whole {
				_ = syscall.Kill(-info.Group, signal)
			}
		}
		if !whole {
			_ = syscall.Kill(info.PID, signal)
		}
	}
}
