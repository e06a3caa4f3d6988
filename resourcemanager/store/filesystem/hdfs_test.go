package filesystem

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
)

// called asks before each call of a file system; an error ends it.
type called struct {
	filesystem.FileSystem
	before func() error
}

func (c called) Stat(file string) (filesystem.Info, error) {
	if err := c.before(); err != nil {
		return filesystem.Info{}, err
	}
	return c.FileSystem.Stat(file)
}

func (c called) Open(file string) (io.ReadCloser, error) {
	if err := c.before(); err != nil {
		return nil, err
	}
	return c.FileSystem.Open(file)
}

func (c called) List(dir string, limit int) ([]filesystem.Info, error) {
	if err := c.before(); err != nil {
		return nil, err
	}
	return c.FileSystem.List(dir, limit)
}

func (c called) Create(file string, mode fs.FileMode, overwrite bool) (io.WriteCloser, error) {
	if err := c.before(); err != nil {
		return nil, err
	}
	return c.FileSystem.Create(file, mode, overwrite)
}

func (c called) MkdirAll(dir string, mode fs.FileMode) error {
	if err := c.before(); err != nil {
		return err
	}
	return c.FileSystem.MkdirAll(dir, mode)
}

func (c called) Rename(from, to string) error {
	if err := c.before(); err != nil {
		return err
	}
	return c.FileSystem.Rename(from, to)
}

func (c called) Remove(file string) error {
	if err := c.before(); err != nil {
		return err
	}
	return c.FileSystem.Remove(file)
}

// asks has a store as if it were on HDFS ask before each call.
func asks(t testing.TB, dir string, before func() error) *keeper {
	t.Helper()
	k := open(t, dir).(*keeper)
	k.local = false
	must(t, k.connect(t.Context()))
	k.sys = called{k.sys, before}
	return k
}

func token(n int32) []state.Op {
	return storetest.Puts(state.DelegationToken{Sequence: n, Identifier: []byte("token")}, state.DelegationSequence{Last: n})
}

// TestDiesRemoving: a batch that removes something is there as a whole, or is not, wherever the process dies in it, and in the load that carries it out.
func TestDiesRemoving(t *testing.T) {
	before := append(storetest.Puts(storetest.Application(1, 0), storetest.Attempt(1, 1), storetest.Application(2, 0)), token(1)...)
	died := errors.New("the process has died")
	dies := func(left *int) func() error {
		return func() error {
			if *left--; *left < 0 {
				return died
			}
			return nil
		}
	}
	for name, batch := range map[string][]state.Op{
		"token": token(2),
		"both":  append(token(2), state.Remove(state.DelegationToken{Sequence: 1}), state.RemoveApplication(storetest.AppID(1)), state.RemoveApplication(storetest.AppID(2))),
	} {
		old, whole := storetest.Model{}, storetest.Model{}
		old.Apply(before)
		whole.Apply(before)
		whole.Apply(batch)
		for at, all := 0, false; !all; at++ {
			dir, left := t.TempDir(), 1<<20
			k := asks(t, dir, dies(&left))
			_, err := k.Load(t.Context())
			must(t, err)
			must(t, k.Commit(t.Context(), before))
			left = at
			err = k.Commit(t.Context(), batch)
			all = err == nil
			must(t, k.Close())
			left = at % 50
			if _, err := asks(t, dir, dies(&left)).Load(t.Context()); err != nil && !errors.Is(err, died) {
				t.Fatalf("%s, %d calls: %v", name, at, err)
			}
			k, snapshot := unlocked(t, dir)
			if snapshot.Epoch != 1 && snapshot.Epoch != 2 {
				t.Fatalf("%s, %d calls: epoch %d", name, at, snapshot.Epoch)
			}
			if there := reflect.DeepEqual(snapshot, whole.Snapshot(snapshot.Epoch)); !there && (all || !reflect.DeepEqual(snapshot, old.Snapshot(snapshot.Epoch))) {
				t.Fatalf("%s, %d calls: %+v", name, at, snapshot)
			}
			must(t, k.Close())
		}
	}
}

// TestStandsLoading: who stands still while it loads the store, until another start has loaded it and is in the middle of a batch, takes nothing of that one's
// away, unless it takes the store over from it.
func TestStandsLoading(t *testing.T) {
	stored := append(storetest.Puts(storetest.Application(1, 0), storetest.Attempt(1, 1), storetest.Application(2, 0)), token(1)...)
	batch := append(token(2), append(storetest.Puts(storetest.Application(3, 0)), state.RemoveApplication(storetest.AppID(1)))...)
	fenced, took := 0, 0
	for at, stood := 1, true; stood; at++ {
		for during, inside := 1+at%11, true; inside; during += 11 {
			stood, inside = standsLoading(t, fmt.Sprintf("call %d, going on at call %d", at, during), at, during, stored, batch, &fenced, &took)
		}
	}
	t.Logf("%d were too late, %d took the store over", fenced, took)
	if fenced < 50 || took < 10 {
		t.Error("nothing was tested")
	}
}

// standsLoading has a start stand still before a call, and go on before a call of the other one's batch. stood, inside: there were so many calls.
func standsLoading(t *testing.T, what string, at, during int, stored, batch []state.Op, fenced, took *int) (stood, inside bool) {
	dir := t.TempDir()
	first, _ := unlocked(t, dir)
	must(t, first.Commit(t.Context(), stored))
	must(t, first.beginJournal(work{Epoch: first.epoch, Start: filepath.Base(first.mark()), Remove: []string{"RMAppRoot/" + storetest.AppID(2).String()}}))
	must(t, first.Close())

	stands, goes, finished, calls := make(chan bool), make(chan bool), make(chan error, 1), 0
	goOn := sync.OnceFunc(func() { close(goes) })
	defer goOn()
	slow := asks(t, dir, func() error {
		if calls++; calls == at {
			stands <- true
			<-goes
		}
		return nil
	})
	go func() {
		_, err := slow.Load(t.Context())
		finished <- err
	}()
	select {
	case <-stands:
	case err := <-finished:
		must(t, err)
		return false, false
	}

	n := 0
	var late error
	quick := asks(t, dir, func() error {
		if n--; n == 0 {
			inside = true
			there := files(t, dir)
			goOn()
			if late = <-finished; late != nil {
				left := files(t, dir)
				for name, content := range there {
					if now, ok := left[name]; !ok || now != content {
						t.Errorf("%s: load: %v; %s is gone or changed", what, late, name)
					}
				}
			}
		}
		return nil
	})
	snapshot, err := quick.Load(t.Context())
	must(t, err)
	model := storetest.Model{}
	model.Apply(stored)
	model.Apply([]state.Op{state.RemoveApplication(storetest.AppID(2))})
	if !reflect.DeepEqual(snapshot, model.Snapshot(snapshot.Epoch)) {
		t.Fatalf("%s: %+v", what, snapshot)
	}
	n = during
	committed := quick.Commit(t.Context(), batch)
	if n = 0; !inside {
		goOn()
		late = <-finished
	}
	again := quick.Commit(t.Context(), nil)
	switch {
	case late == nil && errors.Is(again, store.ErrFenced):
		*took++
	case late != nil && committed == nil && again == nil:
		*fenced++
	default:
		t.Fatalf("%s: load: %v; commit: %v; the next one: %v", what, late, committed, again)
	}
	must(t, errors.Join(slow.Close(), quick.Close()))
	old := model.Snapshot(0)
	model.Apply(batch)
	k, snapshot := unlocked(t, dir)
	old.Epoch = snapshot.Epoch
	if !reflect.DeepEqual(snapshot, model.Snapshot(snapshot.Epoch)) && (committed == nil || !reflect.DeepEqual(snapshot, old)) {
		t.Fatalf("%s: committed: %v: %+v", what, committed, snapshot)
	}
	must(t, k.Close())
	return true, inside
}

// TestSettlesOwn: what the next start of ours writes is left to it, and what Hadoop's ResourceManager writes once it has taken the store over.
func TestSettlesOwn(t *testing.T) {
	dir := t.TempDir()
	k, _ := unlocked(t, dir)
	next := k.at(filepath.Join(apache.OwnRoot, markPrefix+"next"))
	must(t, os.Mkdir(next, dirMode))
	must(t, os.WriteFile(filepath.Join(next, apache.Epoch+unfinished), []byte("half"), 0o600))
	_, err := k.walk(t.Context())
	must(t, err)
	if _, err := os.Stat(filepath.Join(next, apache.Epoch+unfinished)); err != nil {
		t.Error(err)
	}
	must(t, os.WriteFile(k.at(apache.Epoch), []byte{8, 9}, 0o600))
	for _, name := range []string{"RMVersionNode.tmp", "RMVersionNode.new"} {
		must(t, os.WriteFile(k.at(name), []byte("half"), 0o600))
		if _, err := k.settle(name); !errors.Is(err, store.ErrFenced) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(k.at(name)); err != nil {
			t.Error(err)
		}
	}
}
