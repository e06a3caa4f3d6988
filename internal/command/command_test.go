package command

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func sh(t *testing.T, timeout time.Duration, limit int, script string) (string, *Error) {
	t.Helper()
	out, err := Run(t.Context(), timeout, limit, "/bin/sh", "-c", script)
	var failure *Error
	if err != nil && !errors.As(err, &failure) {
		t.Fatalf("%q: %T %v", script, err, err)
	}
	return string(out), failure
}

func TestRun(t *testing.T) {
	if out, err := sh(t, time.Minute, 4, "printf abcd; cat >&2"); out != "abcd" || err != nil {
		t.Fatalf("%q, %v", out, err)
	}
	if out, err := sh(t, 0, 100, "echo part; echo 'no  such user' >&2; exit 3"); out != "" || err == nil || err.ExitCode != 3 ||
		string(err.Out) != "part\n" || !strings.HasSuffix(err.Error(), "exit status 3: no such user") {
		t.Fatalf("%q, %+v", out, err)
	}
}

func TestBounds(t *testing.T) {
	begun := time.Now()
	// The child that keeps the pipe open must die with its parent.
	if _, err := sh(t, 50*time.Millisecond, 100, "sleep 60 & sleep 60"); err == nil || !strings.Contains(err.Error(), "took longer than 50ms") {
		t.Fatal(err)
	}
	if _, err := sh(t, time.Minute, 10, "while :; do echo yyyyyyyyyyyyyyyyyyyy; done"); !errors.Is(err, ErrOutput) || len(err.Out) != 10 {
		t.Fatal(err)
	}
	if _, err := sh(t, time.Minute, 10, "echo 12345678901"); !errors.Is(err, ErrOutput) {
		t.Fatal(err)
	}
	if _, err := sh(t, time.Minute, 10, "head -c 100000 /dev/zero >&2; exit 1"); err == nil || len(err.Stderr) > MaxStderr {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, 0, 10, "/bin/sh", "-c", "sleep 60"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), 0, 10, "/does/not/exist"); err == nil {
		t.Fatal("a missing program ran")
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Fatalf("took %v", took)
	}
}
