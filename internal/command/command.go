// Package command runs small helper programs, such as a topology script or id,
// within bounds of time and output.
package command

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// MaxStderr is how much of a program's complaints is kept for the error.
const MaxStderr = 512

// ErrOutput is the cause when a program wrote more than it may.
var ErrOutput = errors.New("it wrote more than is allowed")

// Error tells that a program failed. Out is what it wrote to its standard
// output before. ExitCode is -1 if it did not end by itself.
type Error struct {
	Program  string
	ExitCode int
	Stderr   string
	Out      []byte
	Err      error
}

func (e *Error) Error() string {
	text := "run " + e.Program + ": " + e.Err.Error()
	if e.Stderr != "" {
		text += ": " + e.Stderr
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Run runs the program without a shell and returns its standard output. It has
// no standard input. When ctx ends or timeout passes (0: never) or it writes
// more than limit bytes, the program is killed with all that it started, unless
// they left its process group. Errors are of type *Error.
func Run(ctx context.Context, timeout time.Duration, limit int, program string, args ...string) ([]byte, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %v", timeout))
		defer cancel()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &bounded{limit: limit, full: func() { stop(ErrOutput) }}
	complaints := &bounded{limit: MaxStderr}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = out, complaints
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for pipes that escaped children hold open
	err := cmd.Run()
	if err == nil && !out.over {
		return out.kept, nil
	}
	failure := &Error{Program: program, ExitCode: cmd.ProcessState.ExitCode(), Stderr: complaints.line(), Out: out.kept, Err: err}
	if cause := context.Cause(ctx); cause != nil {
		failure.Err = cause
	}
	if out.over {
		failure.Err = fmt.Errorf("%w: %d bytes", ErrOutput, limit)
	}
	return nil, failure
}

// bounded keeps the first bytes written to it and forgets the others. It has no
// ReadFrom, which io.Copy would prefer to Write.
type bounded struct {
	kept  []byte
	limit int
	over  bool
	full  func() // called when something is dropped
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - len(b.kept)
	if len(p) <= room {
		b.kept = append(b.kept, p...)
		return len(p), nil
	}
	b.kept = append(b.kept, p[:room]...)
	if !b.over && b.full != nil {
		b.full()
	}
	b.over = true
	return len(p), nil
}

func (b *bounded) line() string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(b.kept), "?")), " ")
}
