package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// All processes of a container stop, those in sessions of their own and those that are being forked included, and go on
// again. A stopped one can be killed.
func TestPause(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := containerIn(t.TempDir(), "for i in 1 2; do (setsid bash -c 'while :; do echo 1>>ticks; sleep 0.002; done' &); done; echo 1>ready; while :; do echo 1>>ticks; sleep 0.002; done")
	p := start(t, New(testConfig()), c)
	ticks := filepath.Join(c.WorkDir, "ticks")
	size := func() int64 {
		info, err := os.Stat(ticks)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for range 2 {
		awaitFile(t, ticks)
		for range 2 { // stopping it again is no error
			if err := p.Pause(ctx); err != nil {
				t.Fatal(err)
			}
		}
		before := size()
		time.Sleep(50 * time.Millisecond)
		if after := size(); after != before {
			t.Fatalf("it goes on: %d, %d", before, after)
		}
		if err := p.Resume(ctx); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(ticks, 0); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); size() == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it does not go on")
			}
		}
	}
	// The next life of the daemon stops it likewise.
	attached := New(testConfig()).Attach(t.Context(), c)
	if err := attached.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(ctx); err != nil || p.Exit().Code != 137 {
		t.Errorf("%v %+v", err, p.Exit())
	}
	none(t, c.ID)
	if err := p.Pause(ctx); !errors.Is(err, ErrNotRunning) {
		t.Errorf("paused after its end: %v", err)
	}
	if err := p.Resume(ctx); !errors.Is(err, ErrNotRunning) {
		t.Errorf("resumed after its end: %v", err)
	}
}
