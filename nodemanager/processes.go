package nodemanager

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/run"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// close stops following containers. They go on.
func (p *processes) close() {
	p.stop()
	p.work.Wait()
}

// maxLaunching bounds the containers that are being started at once.
const maxLaunching = 16

// pidPause is how often a started container is looked at until its process id is known.
const pidPause = 10 * time.Millisecond

// processes starts, finds and ends the processes of containers, and reports to the loop what becomes of them.
type processes struct {
	d     *Daemon
	slots chan struct{}
	ctx   context.Context // ends when containers are not followed any more
	stop  context.CancelFunc

	mu      sync.Mutex
	running map[yarn.ContainerID]*running
	work    sync.WaitGroup
}

// running is a container between its Launch and its end.
type running struct {
	process *run.Process // nil until it is started
	kill    bool         // kill it as soon as it has a process
	halt    bool         // it is to be stopped, likewise

	turn      sync.Mutex         // while it is being stopped or resumed
	halting   context.Context    // ends when it is to be killed, or has ended
	interrupt context.CancelFunc // ends that
	confinement
}

func newProcesses(d *Daemon) *processes {
	p := &processes{d: d, slots: make(chan struct{}, maxLaunching), running: map[yarn.ContainerID]*running{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// launch starts a container in the background.
func (p *processes) launch(x engine.Launch) {
	p.enter(x.Spec)
	began := time.Now()
	p.work.Go(func() {
		select {
		case p.slots <- struct{}{}:
		case <-p.ctx.Done():
			return
		}
		c, process, err := p.start(x)
		<-p.slots
		if err != nil {
			p.failed(x.Spec.ID, err)
			return
		}
		p.d.counters.launch.add(time.Since(began))
		p.follow(c, "started", process)
	})
}

func (p *processes) start(x engine.Launch) (*run.Container, *run.Process, error) {
	c, err := p.d.runnable(x.Place, x.Spec)
	if err != nil {
		return nil, nil, err
	}
	c.Counters = x.Counters
	for _, l := range x.Links {
		if _, err := os.Lstat(l.Target); errors.Is(err, fs.ErrNotExist) {
			p.d.loop.Post(engine.Gone{Path: l.Target}) // this container fails; the next one gets it anew
		}
		c.Links = append(c.Links, run.Link(l))
	}
	if err := p.d.launcher.Prepare(c); err != nil {
		return nil, nil, err
	}
	if err := p.confine(c); err != nil {
		return nil, nil, err
	}
	defer c.Cgroup.Close()
	process, err := p.d.launcher.Start(c)
	return c, process, err
}

// attach finds a container of the last life.
func (p *processes) attach(x engine.Attach) {
	p.enter(x.Spec)
	p.work.Go(func() {
		c, err := p.d.runnable(x.Place, x.Spec)
		if err != nil {
			p.failed(x.Spec.ID, err)
			return
		}
		p.reconfine(c.ID)
		p.follow(c, "found again", p.d.launcher.Attach(p.ctx, c))
	})
}

func (p *processes) enter(s *engine.Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &running{confinement: confinement{wanted: limitsOf(s)}}
	r.halting, r.interrupt = context.WithCancel(p.ctx)
	p.running[s.ID] = r
}

// failed reports a container that there is no process of.
func (p *processes) failed(id yarn.ContainerID, err error) {
	p.d.Log.Warn("cannot start a container", "container", id, "error", err)
	p.d.suspect(err)
	p.release(id, p.leave(id))
	p.d.loop.Post(engine.Exited{ID: id, Code: cannotStart, Text: err.Error()})
}

// cannotStart is the exit status of a container whose process could not be started.
// compat: what stock NodeManagers report then.
const cannotStart = -1

// follow reports a container's life until it ends or the daemon does. What the container leaves running ends with it.
func (p *processes) follow(c *run.Container, how string, process *run.Process) {
	id := c.ID
	p.d.counters.launched.Add(1)
	p.d.Log.Info("a container has been "+how, "container", id)
	p.d.loop.Post(engine.Launched{ID: id})
	p.mu.Lock()
	r := p.running[id]
	r.process = process
	kill, halt := r.kill, r.halt
	p.mu.Unlock()
	switch {
	case kill:
		p.end(process, r)
	case halt:
		p.work.Go(func() { p.haltOrGoOn(r) })
	}
	p.tellPID(process)
	select {
	case <-process.Done():
	case <-p.ctx.Done():
		return
	}
	p.leave(id)
	if err := process.Kill(p.ctx); err != nil {
		p.d.Log.Warn("a container has left processes that cannot be ended", "container", id, "error", err)
	}
	exit := process.Exit()
	if p.release(id, r) && exit.Code != 0 {
		p.d.loop.Post(outOfMemory(id, r.wanted.MemoryMB, exit.Code))
	}
	p.d.counters.ended(exit.Code)
	p.d.Log.Info("a container has ended", "container", id, "exit", exit.Code)
	if exit.Note != "" {
		p.d.loop.Post(engine.Noted{ID: id, Text: exit.Note})
	}
	p.d.loop.Post(engine.Exited{ID: id, Code: exit.Code, Text: exit.Text})
	p.cleanUp(c)
}

// cleanUp removes what is of no use once a container has ended. That includes the exit code, so it waits until the end is
// durable: otherwise a restarted daemon would find neither. It removes nothing if the container is launched again, nor if its
// directories are deleted as a whole anyway.
func (p *processes) cleanUp(c *run.Container) {
	if p.d.settings.Launch.DeleteDelay == 0 || p.d.loop.Sync(p.ctx) != nil {
		return
	}
	if v := p.d.loop.Container(c.ID); v != nil && !v.Done() {
		return
	}
	if err := p.d.launcher.Cleanup(c); err != nil {
		p.d.Log.Warn("cannot clean up after a container", "container", c.ID, "error", err)
	}
}

// tellPID reports the process id once it is known; it gives up when it will
// never be.
func (p *processes) tellPID(process *run.Process) {
	ticker := time.NewTicker(pidPause)
	defer ticker.Stop()
	for {
		if pid := process.PID(); pid != 0 {
			p.d.loop.Post(engine.Launched{ID: process.ID(), PID: int32(pid)})
			return
		}
		select {
		case <-ticker.C:
		case <-process.Done():
			return
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *processes) leave(id yarn.ContainerID) *running {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.running[id]
	delete(p.running, id)
	if r != nil {
		r.interrupt()
	}
	return r
}

// kill ends a container in the background; one that is only being started, as soon as it can be.
func (p *processes) kill(id yarn.ContainerID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.running[id]
	if r == nil {
		return
	}
	r.kill = true
	r.interrupt()
	if process := r.process; process != nil {
		p.end(process, r)
	}
}

// halt stops a container in the background, or has it go on; one that is only being started, as soon as it can be.
func (p *processes) halt(id yarn.ContainerID, stop bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.running[id]
	if r == nil || r.kill {
		return
	}
	r.halt = stop
	if r.process != nil {
		p.work.Go(func() { p.haltOrGoOn(r) })
	}
}

// haltOrGoOn does what was asked for last. Whoever comes last does the latest; what is told the engine again changes nothing.
func (p *processes) haltOrGoOn(r *running) {
	r.turn.Lock()
	defer r.turn.Unlock()
	p.mu.Lock()
	process, stop := r.process, r.halt
	p.mu.Unlock()
	do := process.Resume
	if stop {
		do = process.Pause
	}
	err := do(r.halting)
	if r.halting.Err() != nil {
		return
	}
	failure := ""
	if err != nil {
		p.d.Log.Warn("cannot pause a container, or have it go on", "container", process.ID(), "pause", stop, "error", err)
		failure = err.Error()
	}
	if stop {
		p.d.loop.Post(engine.Paused{ID: process.ID(), Failure: failure})
	} else {
		p.d.loop.Post(engine.Resumed{ID: process.ID(), Failure: failure})
	}
}

// end kills a container in the background. One that was stopped goes on, so that it may obey SIGTERM.
func (p *processes) end(process *run.Process, r *running) {
	p.work.Go(func() {
		r.turn.Lock()
		p.mu.Lock()
		halted := r.halt
		p.mu.Unlock()
		if halted {
			_ = process.Resume(p.ctx)
		}
		r.turn.Unlock()
		if err := process.Kill(p.ctx); err != nil && p.ctx.Err() == nil {
			p.d.Log.Warn("cannot kill a container", "container", process.ID(), "error", err)
		}
	})
}

// signals are those of SignalContainerCommandProto.
var signals = map[pb.SignalContainerCommand]syscall.Signal{
	pb.SignalContainerCommand_OUTPUT_THREAD_DUMP: syscall.SIGQUIT,
	pb.SignalContainerCommand_GRACEFUL_SHUTDOWN:  syscall.SIGTERM,
	pb.SignalContainerCommand_FORCEFUL_SHUTDOWN:  syscall.SIGKILL,
}

// deliver sends a signal to a container's processes.
func (p *processes) deliver(id yarn.ContainerID, command int32) {
	sig, known := signals[pb.SignalContainerCommand(command)]
	p.mu.Lock()
	r := p.running[id]
	p.mu.Unlock()
	if !known || r == nil || r.process == nil {
		return
	}
	if err := r.process.Signal(p.ctx, sig); err != nil {
		p.d.Log.Warn("cannot signal a container", "container", id, "signal", sig, "error", err)
	}
}

// runnable is a container as it is to be run: its launch context, in its place.
func (d *Daemon) runnable(at engine.Place, s *engine.Spec) (*run.Container, error) {
	launch := &pb.ContainerLaunchContext{}
	if err := proto.Unmarshal(s.Launch, launch); err != nil {
		return nil, err
	}
	app := s.ID.Attempt.Application
	c := &run.Container{ID: s.ID, User: s.User, WorkDir: at.WorkDir, LogDir: at.LogDir, PrivateDir: engine.PrivateDir(d.firstLocal(at), s.ID),
		Command: launch.GetCommand(), Tokens: launch.GetTokens()}
	for _, local := range at.Local {
		c.WorkDirs = append(c.WorkDirs, engine.ContainerDir(local, s.User, s.ID))
		c.AppDirs = append(c.AppDirs, engine.ApplicationDir(local, s.User, app))
		c.UserDirs = append(c.UserDirs, engine.UserDir(local, s.User)+"/")
	}
	for _, root := range at.Log {
		c.LogDirs = append(c.LogDirs, engine.LogDir(root, s.ID))
	}
	for _, v := range launch.GetEnvironment() {
		c.Env = append(c.Env, run.Variable{Name: v.GetKey(), Value: v.GetValue()})
	}
	metadata := d.services.Metadata()
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		c.Aux = append(c.Aux, run.Aux{Name: name, Metadata: metadata[name]})
	}
	return c, nil
}

// firstLocal is the local directory that a container's working directory is on: the daemon's own files lie there too.
func (d *Daemon) firstLocal(at engine.Place) string {
	for _, local := range d.settings.Dirs.Local {
		if len(at.WorkDir) > len(local) && at.WorkDir[:len(local)+1] == local+"/" {
			return local
		}
	}
	return d.settings.Dirs.Local[0]
}
