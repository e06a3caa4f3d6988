package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/nodemanager/process"
	"github.com/heddle-project/heddle/yarn"
)

// Exit codes that a container did not choose itself.
const (
	exitKilled     int32 = 128 + 9  // SIGKILL
	exitTerminated int32 = 128 + 15 // SIGTERM
	exitLost       int32 = 154      // of a former life, and its exit code is nowhere
)

// Exit is how a container ended. Note, if not empty, and Text are diagnostics, in this order, each of which
// Apache's NodeManager puts a time before and a line end behind; both are empty after success.
type Exit struct {
	Code       int32
	Note, Text string
}

// Process is a container whose scripts have been started, be it by this daemon or by an earlier life of it.
type Process struct {
	l       *Launcher
	id      yarn.ContainerID
	pids    string // the pid file
	workDir string
	logDir  string
	output  string // the scripts' own; "" if the daemon did not start them
	brand   brand

	wrapper *os.Process // of default_container_executor.sh; nil if the daemon did not start it
	started uint64      // when the wrapper was, in the kernel's units; 0 if it ended at once
	pid     atomic.Int64
	exit    Exit
	done    chan struct{}
}

func (l *Launcher) process(c *Container) *Process {
	return &Process{l: l, id: c.ID, pids: c.pidFile(), workDir: c.WorkDir, logDir: c.LogDir, brand: brandOf(c.PrivateDir), done: make(chan struct{})}
}

// Start runs the scripts of a container that has been prepared. They and the container go on when the daemon ends.
//
// The first script has the container's own environment, not the daemon's, before any expansion: $X in the value of X is
// therefore that text, not what the daemon has (compat: DefaultContainerExecutor). If that is more than the kernel takes,
// it has none and sees for itself how far it gets: exit code 126, and the reason in prelaunch.err.
func (l *Launcher) Start(c *Container) (*Process, error) {
	if c.environ == nil {
		return nil, fmt.Errorf("start %s: it has not been prepared", c.ID)
	}
	p := l.process(c)
	p.output = filepath.Join(c.PrivateDir, wrapperOutput)
	output, err := createFile(p.output, 0o666&^l.cfg.Umask)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.ID, err)
	}
	defer output.Close()
	cmd := l.command(c, c.environ, output)
	if err = cmd.Start(); errors.Is(err, syscall.E2BIG) {
		cmd = l.command(c, []string{}, output)
		err = cmd.Start()
	}
	c.environ = nil
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.ID, err)
	}
	p.wrapper = cmd.Process
	if info, err := process.Linux.Stat(cmd.Process.Pid); err == nil { // not yet waited for, so it is the one
		p.started = info.Start
	}
	go p.reap(cmd)
	return p, nil
}

func (l *Launcher) command(c *Container, environ []string, output *os.File) *exec.Cmd {
	args := l.branded(brandOf(c.PrivateDir), []string{"/bin/bash", filepath.Join(c.WorkDir, wrapperScript)})
	if l.cfg.Nice != 0 {
		args = append([]string{l.program("nice"), "-n", strconv.Itoa(l.cfg.Nice)}, args...)
	}
	attr := &syscall.SysProcAttr{Setsid: true}
	if c.Cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(c.Cgroup.Fd())
	}
	return &exec.Cmd{Path: args[0], Args: args, Dir: c.WorkDir, Env: environ, Stdout: output, Stderr: output, SysProcAttr: attr}
}

// program looks in the places where every Linux has such.
func (l *Launcher) program(name string) string {
	if path := "/usr/bin/" + name; exists(path) {
		return path
	}
	return "/bin/" + name
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// reap waits for the wrapper. It lasts as long as that, so that there are no zombies, whatever becomes of the Launcher.
func (p *Process) reap(cmd *exec.Cmd) {
	_ = cmd.Wait() // its result is in the state
	p.finish(exitCode(cmd.ProcessState))
}

func exitCode(state *os.ProcessState) int32 {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(state.ExitCode())
}

// ID is the container's.
func (p *Process) ID() yarn.ContainerID { return p.id }

// Done is closed when the container has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how it ended. It must not be asked before Done.
func (p *Process) Exit() Exit { return p.exit }

func (p *Process) finish(code int32) {
	p.exit = p.explain(code)
	close(p.done)
}

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// PID is the process id of the container, which leads its session and its process group; 0 as long as the pid file is not
// there.
func (p *Process) PID() int {
	if pid := p.pid.Load(); pid != 0 {
		return int(pid)
	}
	pid := readNumber(p.pids)
	if pid <= 1 {
		return 0
	}
	p.pid.Store(int64(pid))
	return pid
}

const maxNumber = 32 // bytes of a file with a number

// readNumber reads a file that the scripts have written; -1 if there is none or no number in it.
func readNumber(name string) int {
	text, err := readSmall(name, maxNumber, syscall.O_NOFOLLOW)
	if err != nil {
		return -1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return int(n)
}

// alive is the container's process, if it lives and is really the container's: a pid file may be older than the machine's
// last start.
func (p *Process) alive() (process.Info, bool) {
	pid := p.PID()
	if pid == 0 {
		return process.Info{}, false
	}
	info, err := process.Linux.Stat(pid)
	if err != nil || info.Dead() || !p.owns(info) {
		return process.Info{}, false
	}
	return info, true
}

// clockSlack is how far the times of a process's start and of its pid file may be apart: the kernel tells when it started
// itself in whole seconds.
const clockSlack = 2 * time.Second

// owns tells whether the process that has the container's id is its: it bears the container's mark, or its parent is the
// wrapper. One that bears no mark at all may have overwritten it, but wrote the pid file, so is not younger than that.
func (p *Process) owns(info process.Info) bool {
	if p.marked(info.PID) || p.isWrapper(info.Parent) {
		return true
	}
	if _, other := process.Linux.Variable(info.PID, mark); other {
		return false
	}
	file, err := os.Lstat(p.pids)
	if err != nil {
		return false
	}
	started, err := process.Linux.Started(info)
	return err == nil && started.Before(file.ModTime().Add(clockSlack))
}
