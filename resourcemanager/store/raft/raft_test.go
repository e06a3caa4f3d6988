package raft

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/internal/replica/replicatest"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
)

const childDir = "HEDDLE_TEST_RAFT_STORE"

func group(t testing.TB, dir string, n int) *replicatest.Group {
	g := replicatest.New(t, dir, n)
	g.Edit = func(c *replica.Config) { c.Buckets, c.Intact = Buckets(), Intact }
	g.Open(g.Names...)
	return g
}

func openOn(g *replicatest.Group, name string, o store.Options) *Store {
	return Open(Options{Options: o, Member: g.Members[name], Name: name, Patience: 20 * time.Second})
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Subject {
		g := group(t, t.TempDir(), 3)
		opened := 0
		return storetest.Subject{
			Open: func(_ testing.TB, o store.Options) store.Store { // on one member after the other
				opened++
				return openOn(g, g.Names[opened/3%3], o)
			},
			Overwrite: func(t testing.TB, key state.Key, value []byte) {
				_, leader := g.Leader()
				err := leader.Commit(t.Context(), replica.Batch{Changes: []replica.Change{{Bucket: string(key.Table), Key: key.Name, Value: value}}})
				if err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

// child is a test that only fails.
type child struct{ testing.TB }

func (child) Helper()        {}
func (child) Cleanup(func()) {}
func (child) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

// TestMain is also the child process of TestKilled: all members, and batch after batch.
func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	flag.Parse()
	g := group(child{}, dir, 3)
	fmt.Fprintln(os.Stderr, storetest.CommitForever(openOn(g, "rm1", store.Options{Types: storetest.Types()}), os.Stdout))
	os.Exit(1)
}

func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), childDir+"="+dir)
	storetest.Kill(t, child, 20, func() store.Store {
		return openOn(group(t, dir, 3), "rm2", store.Options{Types: storetest.Types()})
	})
}

// TestFenced: whoever has lost the store cannot write to it, whether it is the leader or not.
func TestFenced(t *testing.T) {
	g := group(t, t.TempDir(), 3)
	name, leader := g.Leader()
	first := openOn(g, name, store.Options{})
	if _, err := first.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := Open(Options{Member: leader, Name: name, Patience: 20 * time.Second})
	if snapshot, err := again.Load(t.Context()); err != nil || snapshot.Epoch != 1 {
		t.Fatalf("%v, %v", snapshot, err)
	}
	if err := first.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5))); !errors.Is(err, store.ErrFenced) {
		t.Fatalf("got %v", err)
	}
	other := g.Names[0]
	if other == name {
		other = g.Names[1]
	}
	third := openOn(g, other, store.Options{})
	if snapshot, err := third.Load(t.Context()); err != nil || snapshot.Epoch != 2 || len(snapshot.Applications) != 0 {
		t.Fatalf("%v, %v", snapshot, err)
	}
	replicatest.Until(t, "fence", func() bool { return errors.Is(again.Commit(context.Background(), nil), store.ErrFenced) })
	if err := again.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5))); !errors.Is(err, store.ErrFenced) {
		t.Fatalf("got %v", err)
	}
	if err := third.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5))); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 64, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			g := group(b, b.TempDir(), 3)
			name, _ := g.Leader()
			s := openOn(g, name, store.Options{})
			if _, err := s.Load(b.Context()); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				ops := make([]state.Op, size)
				for i := range ops {
					n++
					ops[i] = state.Put(storetest.Application(1+n%20000, 2000))
				}
				if err := s.Commit(b.Context(), ops); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
