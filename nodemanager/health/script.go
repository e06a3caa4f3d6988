package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/command"
)

// maxOutput bounds what a script may print, in bytes.
const maxOutput = 1 << 20

// script is a health script and its last answer.
type script struct {
	conf.HealthScript
	report string // empty: the node is well
}

// runnable returns why a file cannot be run, or nil.
func runnable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case syscall.Access(path, mayExecute) != nil:
		return fmt.Errorf("%s may not be executed", path)
	}
	return nil
}

// errPassedOver is returned for a script that printed an error but failed
// itself, so that its output is ignored.
var errPassedOver = errors.New("an error was printed")

// run runs the script. The report is empty if the node is well.
//
// compat: the output counts only if the script ends with 0, and any other exit
// code says nothing about the node, so that a broken script cannot take the
// whole cluster out.
func (s *script) run(ctx context.Context) (report string, err error) {
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	out, err := command.Run(limited, 0, maxOutput, s.Path, s.Args...)
	var failure *command.Error
	if errors.As(err, &failure) {
		out = failure.Out
	}
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay): // it ended, but left a child behind
		if hasError(out) {
			return bounded(string(out)), nil
		}
		return "", nil
	case ctx.Err() != nil:
		return "", err
	case limited.Err() != nil:
		return "Node health script timed out", err
	case errors.As(err, &exit) && hasError(out):
		return "", fmt.Errorf("%w: %w", errPassedOver, err)
	case errors.As(err, &exit):
		return "", err
	}
	return bounded("The health script " + s.Name + " cannot be run: " + err.Error()), err
}

// hasError tells whether a line begins with ERROR.
func hasError(out []byte) bool {
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte("ERROR")) {
			return true
		}
	}
	return false
}
