package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// batchApps is how many applications each batch of CommitForever has.
const batchApps = 7

// CommitForever loads the store and commits batch after batch, printing the
// number of each one after its Commit has returned. It runs in a child process
// that will be killed.
func CommitForever(s store.Store, out io.Writer) error {
	if _, err := s.Load(context.Background()); err != nil {
		return err
	}
	for batch := 1; ; batch++ {
		var ops []state.Op
		for i := range batchApps {
			n := (batch-1)*batchApps + i + 1
			ops = append(ops, state.Put(Application(n, 3000)), state.Put(Attempt(n, 1)))
		}
		if err := s.Commit(context.Background(), ops); err != nil {
			return err
		}
		fmt.Fprintln(out, batch)
	}
}

// Kill starts the child, waits for enough acknowledged batches, kills it with
// SIGKILL and checks what the store holds then: all that was acknowledged, and
// of the batch under way all or nothing.
func Kill(t testing.TB, child *exec.Cmd, enough int, open func() store.Store) {
	t.Helper()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatalf("child said %q", lines.Text())
		}
		if acknowledged == enough {
			_ = child.Process.Kill() // lines printed before it died still follow
		}
	}
	if err := child.Wait(); err == nil || acknowledged < enough {
		t.Fatalf("child ended by itself after %d batches: %v", acknowledged, err)
	}
	s := open()
	defer s.Close()
	snapshot := load(t, s)
	apps, attempts := len(snapshot.Applications), len(snapshot.Attempts)
	if apps%batchApps != 0 || attempts != apps || len(snapshot.Quarantined) != 0 {
		t.Fatalf("half a batch: %d applications, %d attempts, quarantined %v", apps, attempts, snapshot.Quarantined)
	}
	if found := apps / batchApps; found < acknowledged || found > acknowledged+1 {
		t.Fatalf("%d batches were acknowledged, %d are stored", acknowledged, found)
	}
	if last := snapshot.Applications[apps-1].ID; last != AppID(apps) {
		t.Fatalf("last application is %s, %d are stored", last, apps)
	}
	commit(t, s, state.Put(Application(apps+1, 10)))
}
