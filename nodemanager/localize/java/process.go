package java

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/wire/token"
)

// class is what is run.
const class = "org.apache.hadoop.yarn.server.nodemanager.containermanager.localizer.ContainerLocalizer"

// Bounds of a process's life.
const (
	look      = 250 * time.Millisecond // how often it is looked whether it has been silent for too long
	leaving   = 20 * time.Second       // between being told to end and being killed; it waits 10 s for its threads itself
	pipesOpen = 2 * time.Second        // for output after its end
	maxTail   = 4 << 10                // bytes of its output that are told
)

// process is one run of ContainerLocalizer. The fields above the line never change; those below are guarded by Fetcher.mu.
type process struct {
	crew       *crew
	id         string // as it calls itself: the container
	identifier []byte // of its token
	password   []byte
	dirs       Dirs
	tokens     string // the file of its credentials
	quit       context.CancelCauseFunc
	ctx        context.Context

	// ---
	current *order    // that it fetches
	heard   time.Time // its last heartbeat, or its start
	dying   bool      // it has been told to end
	idle    bool      // its last answer said that there is nothing to do
}

// kill ends the process without waiting.
func (p *process) kill(why error) { p.quit(why) }

// shift runs a process until it ends. It returns nil if the process ended because it was told to or because its resource was no
// longer wanted; otherwise the error is why it failed, for everyone who waits for it.
func (c *crew) shift() error {
	p, cmd, err := c.prepare()
	if errors.Is(err, errUnwanted) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("this node speaks file, http, https and hdfs itself and has the rest fetched by Hadoop's own localizer, which cannot be started: %w", err)
	}
	defer p.clear()
	c.f.enter(p)
	output := &tail{}
	cmd.Stdout, cmd.Stderr = output, output
	c.f.cfg.Log.Info("a localizer is started", "container", p.id, "public", c.key.public, "java", cmd.Path)
	err = p.run(cmd)
	cause := context.Cause(p.ctx)
	p.quit(nil)
	told := c.f.leave(p)
	switch {
	case errors.Is(cause, errUnwanted):
		err = nil
	case cause != nil:
		err = cause
	case told:
		err = nil
	case err == nil:
		err = errors.New("it ended before it was told to")
	}
	if err != nil && !errors.Is(err, errClosed) {
		err = fmt.Errorf("Hadoop's localizer (%s) failed: %w", cmd.Path, err)
		if text := output.text(); text != "" {
			err = fmt.Errorf("%w. Last bytes of its output:\n%s", err, text)
		}
	}
	c.f.cfg.Log.Info("a localizer has ended", "container", p.id, "public", c.key.public, "error", err)
	c.f.finish(p, err)
	return err
}

// enter makes the process known at the port.
func (f *Fetcher) enter(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.heard = time.Now()
	f.processes[string(p.identifier)] = p
	p.crew.now = p
	if len(p.crew.queue) == 0 { // all was given up meanwhile
		p.kill(errUnwanted)
	}
}

// leave makes the port forget the process, and tells whether that was told to end and has left nothing undone.
func (f *Fetcher) leave(p *process) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.processes, string(p.identifier))
	p.crew.now = nil
	return p.dying && p.current == nil
}

// finish finishes what the process has not.
func (f *Fetcher) finish(p *process, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.current == nil {
		return
	}
	if err == nil {
		err = errUnwanted
	}
	p.current.finish("", err)
	p.current = nil
}

// prepare makes everything ready for a process.
func (c *crew) prepare() (*process, *exec.Cmd, error) {
	f := c.f
	java, err := Find(f.getenv, f.cfg.Conf())
	if err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	var first localize.Job
	if len(c.queue) > 0 {
		first = c.queue[0].Job
	}
	f.mu.Unlock()
	if first.Resource == nil {
		return nil, nil, errUnwanted
	}
	host, port, err := net.SplitHostPort(f.cfg.Address())
	if err != nil {
		return nil, nil, err
	}
	p := &process{crew: c, id: c.key.container.String(), password: random(20)}
	p.identifier = append([]byte{0, 0, 0, 1}, p.id+"/"+hex.EncodeToString(random(8))...)
	if p.dirs, err = f.cfg.Dirs(first); err != nil {
		return nil, nil, errors.Join(err, p.dirs.remove())
	}
	user := first.User
	var own token.Credentials
	if c.key.public {
		user = f.cfg.User
	} else if len(first.Tokens) > 0 {
		if own, err = token.ParseCredentials(first.Tokens); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("the container's credentials: %w", err), p.dirs.remove())
		}
	}
	own.SetToken(token.KindLocalizer, token.Token{Identifier: p.identifier, Password: p.password, Kind: token.KindLocalizer})
	p.tokens = filepath.Join(p.dirs.Work, p.id+hex.EncodeToString(random(8))+TokensSuffix)
	if err := os.WriteFile(p.tokens, own.Append(nil), 0o600); err != nil {
		return nil, nil, errors.Join(err, p.dirs.remove())
	}
	p.ctx, p.quit = context.WithCancelCause(f.ctx)
	return p, &exec.Cmd{Path: java.Java, Args: f.arguments(java, p, user, host, port), Dir: p.dirs.Work, Env: f.environ(p),
		WaitDelay: pipesOpen, SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}}, nil
}

// TokensSuffix is what the names of files with a process's credentials end with; they begin with the container's id.
const TokensSuffix = ".tokens"

// firstExports is the first version that needs, and knows, the options for Exports.
const firstExports = 17

// arguments are what LinuxContainerExecutor gives.
func (f *Fetcher) arguments(java Runtime, p *process, user, host, port string) []string {
	args := []string{java.Java, "-classpath", java.Path}
	if java.Native != "" {
		args = append(args, "-Djava.library.path="+java.Native)
	}
	args = append(args, f.cfg.Options...)
	if f.cfg.Exports && java.Version >= firstExports {
		args = append(args, "--add-exports=java.base/sun.net.dns=ALL-UNNAMED", "--add-exports=java.base/sun.net.util=ALL-UNNAMED")
	}
	log := "container-localizer-syslog"
	if p.crew.key.public {
		log = "container-localizer-public-syslog"
	}
	app := p.crew.key.container.Attempt.Application
	args = append(args, "-Dlog4j.configuration=container-log4j.properties", "-Dyarn.app.container.log.dir="+p.dirs.Log,
		"-Dyarn.app.container.log.filesize=0", "-Dhadoop.root.logger="+f.cfg.LogLevel+",CLA", "-Dhadoop.root.logfile="+log,
		class, user, app.String(), p.id, host, port, filepath.Base(p.tokens))
	return append(args, p.dirs.Local...)
}

// environ is the daemon's environment and the mark by which the next life finds a process that has been left behind.
func (f *Fetcher) environ(p *process) []string {
	return append(slices.Clone(f.cfg.Environ), mark+"="+p.dirs.Work)
}

// run starts the process and returns when nothing of it is left.
func (p *process) run(cmd *exec.Cmd) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel kills the process with the thread that has started it
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			ended <- err
			return
		}
		exited, swept := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(swept)
			p.watch(exited)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it has not been waited for: nobody else can have its id
		}()
		for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		close(exited)
		<-swept
		ended <- cmd.Wait()
	}()
	return <-ended
}

// watch returns when the process has ended or is to be killed.
func (p *process) watch(ended <-chan struct{}) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-p.ctx.Done():
		case <-ticker.C:
			if err := p.late(); err != nil {
				p.quit(err)
			} else {
				continue
			}
		}
		return
	}
}

// late tells what has taken too long.
func (p *process) late() error {
	f := p.crew.f
	f.mu.Lock()
	defer f.mu.Unlock()
	silent := time.Since(p.heard)
	switch {
	case p.dying && silent > leaving:
		return fmt.Errorf("it was told to end, and has not within %v", leaving)
	case silent > f.cfg.Silence:
		return fmt.Errorf("nothing was heard of it for %v", f.cfg.Silence)
	}
	return nil
}

func (p *process) clear() {
	err := os.Remove(p.tokens) // it does that itself, if it comes so far
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, p.dirs.remove()); err != nil {
		p.crew.f.cfg.Log.Warn("cannot clean up after a localizer", "container", p.id, "error", err)
	}
}

func (d Dirs) remove() error {
	if !d.Temporary {
		return nil
	}
	return os.RemoveAll(d.Work)
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// tail keeps the last bytes that are written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b[max(len(b)-maxTail, 0):]...)
	t.kept = append(t.kept[:0], t.kept[max(len(t.kept)-maxTail, 0):]...)
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "?"))
}
