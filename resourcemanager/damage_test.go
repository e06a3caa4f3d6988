package resourcemanager

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/wire/ipc"
)

// advised checks that an error says that the store is damaged and names the ways on.
func advised(t *testing.T, err error) {
	t.Helper()
	for _, text := range []string{"damaged", "yarn resourcemanager -check-state-store", "yarn resourcemanager -repair-state-store"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: does not say %q", err, text)
		}
	}
}

// spoil overwrites the numbers of all pages of a bbolt file but its meta pages and its list of free ones, without which bbolt would keep its
// locks after it has met the damage.
func spoil(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	const freelist = 0x10 // the flag of a page's kind, behind its number of 8 bytes
	size := int64(os.Getpagesize())
	var head [10]byte
	for at := 2 * size; ; at += size {
		if _, err := file.ReadAt(head[:], at); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if head[8] == freelist {
			continue
		}
		if _, err := file.WriteAt([]byte{255, 255, 255, 255, 255, 255, 255, 255}, at); err != nil {
			return err
		}
	}
}

// beforeCommit is a store that calls do before its next commit, when nothing else writes the file.
type beforeCommit struct {
	bolt.Store
	do *atomic.Pointer[func()]
}

func (b beforeCommit) Commit(ctx context.Context, ops []state.Op) error {
	if do := b.do.Swap(nil); do != nil {
		(*do)()
	}
	return b.Store.Commit(ctx, ops)
}

// A file that is damaged while it is in use ends the daemon at once, as it would stop the start.
func TestDamagedInTerm(t *testing.T) {
	w, faults := faulty(t, "")
	var next atomic.Pointer[func()]
	open := w.d.openBolt
	w.d.openBolt = func(path string, o bolt.Options) (bolt.Store, error) {
		s, err := open(path, o)
		return beforeCommit{s, &next}, err
	}
	if err := w.d.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	alice := w.as("alice")
	alice.submit(unmanaged)
	id := alice.newID()
	damage := func() {
		if err := spoil(w.site["yarn.resourcemanager.heddle.state-store.path"]); err != nil {
			t.Error(err)
		}
	}
	next.Store(&damage)
	submitted := make(chan error, 1)
	go func() {
		_, err := alice.raw("submitApplication", submission(id))
		submitted <- err
	}()
	err, ok := receive(w.d.fatal)
	var loss *loop.Loss
	if !ok || !errors.As(err, &loss) || loss.Kind != loop.Damaged || !strings.HasPrefix(err.Error(), "the state store is lost: it is damaged: ") {
		t.Fatalf("it ended with %v", err)
	}
	advised(t, err)
	commits := faults().Calls("commit")
	w.d.stepDown()
	if err, ok := receive(submitted); !ok {
		t.Error("a submission that is not stored hangs")
	} else {
		refused(t, err, ipc.ClassStandby, "") // before its end or after it
	}
	if n := faults().Calls("commit"); n != commits {
		t.Errorf("%d commits followed the damage", n-commits)
	}
}

// A start on a damaged store is refused at once, wherever the damage shows.
func TestDamagedAtStart(t *testing.T) {
	t.Run("opening", func(t *testing.T) {
		w, _ := faulty(t, "")
		if err := os.WriteFile(w.site["yarn.resourcemanager.heddle.state-store.path"], []byte(strings.Repeat("no database ", 2000)), 0o600); err != nil {
			t.Fatal(err)
		}
		tries, open := 0, w.d.openBolt
		w.d.openBolt = func(path string, o bolt.Options) (bolt.Store, error) {
			tries++
			return open(path, o)
		}
		advised(t, w.d.start(t.Context()))
		if tries != 1 || w.d.active() {
			t.Errorf("it was opened %d times; active %t", tries, w.d.active())
		}
	})
	t.Run("loading", func(t *testing.T) {
		w, faults := faulty(t, "load 1.. damaged")
		err := w.d.start(t.Context())
		if !errors.As(err, new(*store.DamagedError)) || faults().Calls("load") != 1 || faults().Calls("close") != 1 || w.d.active() {
			t.Errorf("%v after %d loads; active %t", err, faults().Calls("load"), w.d.active())
		}
	})
}
