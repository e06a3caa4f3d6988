package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/cli/shell"
	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/yarn"
)

// How a shell watches its application.
const (
	shellLook      = 500 * time.Millisecond // between two reports
	shellLookLater = 2 * time.Second        // while its master tells more
	shellGrace     = 5 * time.Second        // for the master's last events after the application has ended
)

// run submits the job, follows it to its end and returns its exit code.
func (s *shellRun) run() error {
	if err := s.submit(); err != nil {
		if s.ctx.Err() != nil {
			return s.stop(interrupted, "interrupted")
		}
		return errors.Join(err, s.clean())
	}
	s.print.tell("submitted", document{{"application", s.id.String()}, {"containers", s.job.Containers}},
		"%s is submitted: %d containers of %d MB, %d vcores", s.id, s.job.Containers, s.job.MemoryMB, s.job.VCores)
	err := s.watch()
	s.print.flush()
	return err
}

// submit prepares and submits the application.
func (s *shellRun) submit() error {
	id, largest, err := s.rm.NewApplication(s.ctx)
	if err != nil {
		return err
	}
	if largest.MemoryMB > 0 && (s.job.MemoryMB > largest.MemoryMB || s.job.VCores > largest.VCores) {
		return fmt.Errorf("containers of %d MB, %d vcores: the cluster's largest has %d MB, %d vcores (yarn.scheduler.maximum-allocation-mb, -vcores)",
			s.job.MemoryMB, s.job.VCores, largest.MemoryMB, largest.VCores)
	}
	s.id = id
	if err := s.places(); err != nil {
		return err
	}
	sources := append(s.sources, shell.Source{Path: s.Program, Name: shellMasterFile})
	if s.staged, err = shell.Stage(s.ctx, s.props, s.job.User, s.opts.first("staging"), id.String(), sources); err != nil {
		return err
	}
	binary := s.staged.Files[shellMasterFile]
	delete(s.staged.Files, shellMasterFile)
	s.job.Files, s.job.Staging = s.staged.Files, s.staged.Dir
	s.job.Properties = shell.Needed(s.props, s.rm.ResourceManagers()[0].Address)
	credentials, err := s.job.Credentials()
	if err != nil {
		return err
	}
	application := client.Submission{ID: id, Name: s.name, Type: "SHELL", Queue: s.queue, MaxAttempts: 1,
		Master: client.Resource{MemoryMB: shellMasterMB, VCores: 1},
		Launch: client.Launch{Tokens: credentials, Resources: map[string]client.File{shellMasterFile: binary},
			Commands: []string{shell.Line(nil, []string{"./" + shellMasterFile, hiddenShellMaster})}}}
	if s.timeout > 0 {
		application.LifetimeSeconds = int64((s.timeout + shellLifetime).Seconds())
	}
	s.staged.Files[shellMasterFile] = binary // for explain
	return s.rm.Submit(s.ctx, application)
}

// watched holds the channels from the goroutines of a watch.
type watched struct {
	reports chan *client.Application
	lost    chan error // of the ResourceManager
	events  chan shell.Event
	told    chan error // the master has told everything, or cannot be asked
}

// watch prints what happens until the application has ended.
func (s *shellRun) watch() error {
	ctx, cancel := context.WithCancel(s.ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	w := &watched{make(chan *client.Application), make(chan error, 1), make(chan shell.Event), make(chan error, 1)}
	following, cancelFollow := context.WithCancel(ctx)
	defer cancelFollow()
	look := make(chan time.Duration, 1)
	work.Go(func() { s.look(ctx, w, look) })
	var deadline, grace <-chan time.Time
	if s.timeout > 0 {
		deadline = time.After(s.timeout)
	}
	unread := make(chan os.Signal, 1) // else what cannot be printed would end this program, and leave the application
	signal.Notify(unread, syscall.SIGPIPE)
	defer signal.Stop(unread)
	var last *client.Application
	asked, told := false, false
	for last == nil || asked && !told {
		select {
		case a := <-w.reports:
			s.print.state(a)
			if url := a.OriginalTrackingURL; a.State == yarn.PublicRunning && !asked && url != nil && strings.HasPrefix(*url, "http") {
				asked = true
				work.Go(func() { s.follow(following, w, a) })
				look <- shellLookLater
			}
			if last == nil && a.State >= yarn.PublicFinished {
				last, grace = a, time.After(shellGrace)
			}
		case e := <-w.events:
			s.see(e)
		case err := <-w.told:
			if told = true; err != nil && last == nil {
				s.print.warn("%v", err)
			}
			select {
			case look <- shellLook:
			default:
			}
		case <-grace:
			cancelFollow()
		case err := <-w.lost:
			return fmt.Errorf("%w; %s may still run", err, s.id)
		case <-deadline:
			return s.stop(shellTimedOut, "timed out after "+s.timeout.String())
		case <-unread:
			return s.stop(shellUnread, "nobody reads the output")
		case <-s.ctx.Done():
			return s.stop(interrupted, "interrupted")
		}
	}
	return s.end(last)
}

// look asks the ResourceManager about the application until ctx ends. It takes
// the pause between two requests from the channel.
func (s *shellRun) look(ctx context.Context, w *watched, pauses <-chan time.Duration) {
	pause := shellLook
	for {
		a, err := s.rm.Application(ctx, s.id)
		if err != nil {
			w.lost <- err
			return
		}
		select {
		case w.reports <- a:
		case <-ctx.Done():
			return
		}
		select {
		case pause = <-pauses:
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// follow receives the master's events, directly or through the proxy.
func (s *shellRun) follow(ctx context.Context, w *watched, a *client.Application) {
	urls := []string{*a.OriginalTrackingURL}
	if a.TrackingURL != nil && strings.HasPrefix(*a.TrackingURL, "http") {
		urls = append(urls, *a.TrackingURL)
	}
	w.told <- shell.Follow(ctx, urls, s.job.Secret, func(e shell.Event) {
		select {
		case w.events <- e:
		case <-ctx.Done():
		}
	})
}

func (s *shellRun) see(e shell.Event) {
	if e.Kind == shell.Ended {
		s.exits[e.Number] = e.Exit
	}
	s.print.event(e)
	if e.Exit == yarn.ExitInvalid {
		s.explain(e.Detail)
	}
}

// end prints how the application has ended and returns the exit code.
func (s *shellRun) end(a *client.Application) error {
	code := s.code(a)
	diagnostics := ""
	if a.Diagnostics != nil {
		diagnostics = strings.TrimSpace(*a.Diagnostics)
	}
	text := fmt.Sprintf("%s is over: %s", s.id, a.State)
	if a.State == yarn.PublicFinished {
		text = fmt.Sprintf("%s is over: %s", s.id, a.FinalStatus)
	}
	if diagnostics != "" {
		text += ": " + withoutTraces(diagnostics)
	}
	s.print.tell("finished", document{{"application", s.id.String()}, {"state", a.State.String()}, {"finalStatus", a.FinalStatus.String()},
		{"diagnostics", diagnostics}, {"exitCode", int(code)}}, "%s", text)
	if missing := s.job.Containers - len(s.exits); missing > 0 && a.State == yarn.PublicFinished {
		s.print.warn("the master could not be asked to the end: what %d containers printed, and their exit codes, are not known here", missing)
	}
	s.explain(diagnostics)
	if err := s.clean(); err != nil {
		s.print.warn("%v", err)
	}
	if code == 0 {
		return nil
	}
	return code
}

// code is that of the first container in order that has another than 0.
func (s *shellRun) code(a *client.Application) Exit {
	for n := range s.job.Containers {
		switch exit := s.exits[n]; {
		case exit == 0:
		case exit < 0 || exit > 255:
			return failed
		default:
			return Exit(exit)
		}
	}
	if a.State == yarn.PublicFinished && a.FinalStatus == yarn.FinalSucceeded {
		return 0
	}
	return 1
}

// explain prints advice when a node did not find a file.
func (s *shellRun) explain(diagnostics string) {
	if s.staged == nil || s.staged.Dir != "" || s.explained {
		return
	}
	for _, f := range s.staged.Files {
		if strings.Contains(diagnostics, f.Path) {
			s.explained = true
			s.print.warn("fs.defaultFS is on file:, so each node reads %s from its own disks, and one could not, or found another file there. "+
				"Put it into a directory that all nodes share, name one with -staging file:///DIR, or set fs.defaultFS to an hdfs: one", f.Path)
			return
		}
	}
}

// stop kills the application, when the user or the clock says so.
func (s *shellRun) stop(code Exit, why string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), shellKillTime)
	defer cancel()
	s.print.flush()
	if !s.id.IsZero() {
		s.print.tell("stopped", document{{"application", s.id.String()}, {"reason", why}, {"exitCode", int(code)}}, "%s; killing %s", why, s.id)
		err := s.rm.KillApplication(ctx, s.id, "yarn shell: "+why)
		if err != nil && !client.Is(err, client.ClassApplicationNotFound) {
			s.print.warn("cannot kill %s: %v", s.id, err)
		}
	}
	if err := s.clean(); err != nil {
		s.print.warn("%v", err)
	}
	return code
}

// clean removes what was copied for the nodes.
func (s *shellRun) clean() error {
	if s.staged == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), shellKillTime)
	defer cancel()
	return shell.Unstage(ctx, s.props, s.job.User, s.staged.Dir)
}

// runShellMaster is yarn shell-master, in the container of a shell's master.
func runShellMaster(c *call) error {
	credentials, err := client.ReadCredentials(c.LookupEnv)
	if err != nil {
		return err
	}
	defer dumpStacks(c.Stderr)()
	log := slog.New(logs.New(c.Stderr, slog.LevelInfo)).With("logger", "shell")
	return shell.Run(c.ctx, shell.Master{Credentials: credentials, Host: c.Getenv("NM_HOST"), Log: log})
}

// dumpStacks has SIGQUIT, with which a node asks for a thread dump, write the stacks of all goroutines, until stop is called.
func dumpStacks(w io.Writer) (stop func()) {
	asked, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(asked, syscall.SIGQUIT)
	go func() {
		defer close(done)
		for range asked {
			_ = pprof.Lookup("goroutine").WriteTo(w, 2)
		}
	}()
	return func() {
		signal.Stop(asked)
		close(asked)
		<-done
	}
}
