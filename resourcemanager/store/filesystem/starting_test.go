package filesystem

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
)

// TestDiesStarting has a second process load a store on HDFS while the first is in the middle of a batch. The second pauses or dies at any of its calls; the first goes on with
// that batch and, if it can, commits another one of the same records. A third process must find everything that the first was told is stored, nothing that was refused, and no
// batch by half; so must the second, if it goes on.
func TestDiesStarting(t *testing.T) {
	before := append(storetest.Puts(storetest.Application(1, 0), storetest.Attempt(1, 1), storetest.Application(2, 0)), token(1)...)
	batch := append(token(2), append(storetest.Puts(storetest.Application(3, 0), storetest.Ended(1, 0)), state.Remove(state.DelegationToken{Sequence: 1}), state.RemoveApplication(storetest.AppID(2)))...)
	another := append(storetest.Puts(storetest.Ended(3, 0)), token(3)...)
	const stride = 13
	var seen starting
	for during, inside := 1, true; inside; during += 2 {
		for at, stood := 1+during*5%stride, true; stood; at += stride {
			more := []int{0, 1, 1 << 20}[(during/2+at)%3] // calls of the second after the first has ended
			inside, stood = seen.play(t, during, at, more, before, batch, another)
		}
	}
	t.Logf("%+v", seen)
	if seen.Both < 10 || seen.Fenced < 50 || seen.Whole < 20 || seen.Took < 10 {
		t.Error("nothing was tested")
	}
}

// starting counts the situations that TestDiesStarting has met.
type starting struct{ Both, One, Fenced, Whole, Took int }

// play starts the second process before a call of the first one's batch, and has it pause before a call of its own. inside: the batch had so many calls; stood: the load had.
func (seen *starting) play(t *testing.T, during, at, more int, before, batch, another []state.Op) (inside, stood bool) {
	dir := t.TempDir()
	died := errors.New("the process has died")
	stands, goes, finished := make(chan bool, 1), make(chan bool), make(chan error, 1)
	calls := 0
	second := asks(t, dir, func() error {
		if calls++; calls == at {
			stands <- true
			<-goes
		}
		if calls >= at+more {
			return died
		}
		return nil
	})
	var snapshot *state.Snapshot
	n := 0
	first := asks(t, dir, func() error {
		if n--; n != 0 {
			return nil
		}
		inside = true
		go func() {
			var err error
			snapshot, err = second.Load(t.Context())
			finished <- err
		}()
		select {
		case <-stands:
			stood = true
		case err := <-finished:
			finished <- err
		}
		return nil
	})
	_, err := first.Load(t.Context())
	must(t, err)
	must(t, first.Commit(t.Context(), before))
	n = during
	commit := func(ops []state.Op) error { // retries, as the daemon does
		err := first.Commit(t.Context(), ops)
		if errors.As(err, new(*store.UnavailableError)) {
			err = first.Commit(t.Context(), ops)
		}
		return err
	}
	one := commit(batch)
	var other error
	if n = 0; inside {
		other = commit(another)
	}
	close(goes)
	if !inside {
		must(t, one)
		return false, false
	}
	loading := <-finished
	for _, err := range []error{one, other} {
		if err != nil && !errors.Is(err, store.ErrFenced) {
			t.Fatalf("call %d of the batch, %d of the load: %v", during, at, err)
		}
	}
	model := storetest.Model{}
	model.Apply(before)
	may := []*state.Snapshot{model.Snapshot(0)} // the states that may be found, the oldest first
	model.Apply(batch)
	whole := model.Snapshot(0)
	if may = append(may, whole); one == nil {
		may = may[1:]
	}
	model.Apply(another)
	if one == nil && other == nil {
		may = may[1:]
	}
	may = append(may, model.Snapshot(0))
	holds := func(what string, got *state.Snapshot) {
		for _, want := range may {
			if want.Epoch = got.Epoch; reflect.DeepEqual(got, want) {
				if one != nil && want == whole {
					seen.Whole++
				}
				return
			}
		}
		t.Errorf("call %d of the batch, %d of the load and %d more (%v): the batches: %v, %v; %s has %+v", during, at, more, loading, one, other, what, got)
	}
	switch {
	case one == nil && other == nil:
		seen.Both++
	case one == nil:
		seen.One++
	default:
		seen.Fenced++
	}
	if loading == nil {
		seen.Took++
		holds("the second", snapshot)
	}
	must(t, errors.Join(first.Close(), second.Close()))
	third, found := unlocked(t, dir)
	holds("the third", found)
	must(t, third.Close())
	return true, stood
}

// TestApacheBetween: an unfinished batch is not carried out if Hadoop's ResourceManager has counted the epoch up since, even if a start of ours died before it had done so.
func TestApacheBetween(t *testing.T) {
	for _, ours := range []bool{false, true} { // whether our start has counted first
		dir := t.TempDir()
		first, _ := unlocked(t, dir)
		must(t, first.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0), storetest.Attempt(1, 1))))
		must(t, first.beginJournal(work{Epoch: first.epoch, Start: filepath.Base(first.mark()), Remove: []string{"RMAppRoot/" + storetest.AppID(1).String()}}))
		must(t, first.Close())
		next, err := apache.EncodeEpoch(2)
		must(t, err)
		died := errors.New("the process has died")
		done := false
		second := open(t, dir).(*keeper)
		second.local = false
		must(t, second.connect(t.Context()))
		hook(second, func(op, file string) error {
			if done || op == "rename" && filepath.Base(file) == apache.Epoch && !ours {
				return died
			}
			done = op == "rename" && filepath.Base(file) == apache.Epoch
			return nil
		})
		if _, err := second.Load(t.Context()); !errors.Is(err, died) {
			t.Fatal(err)
		}
		must(t, second.Close())
		if ours {
			next, err = apache.EncodeEpoch(3)
			must(t, err)
		}
		must(t, os.WriteFile(filepath.Join(dir, rootName, apache.Epoch), next, 0o600))
		third, snapshot := unlocked(t, dir)
		if len(snapshot.Applications) != 1 {
			t.Errorf("our start has counted first: %t: %+v", ours, snapshot)
		}
		must(t, third.Close())
	}
}
