package zookeeper

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	zk "github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
)

// follows begins to follow a store, without pauses, and gives the connection that it uses.
func follows(t testing.TB, o Options) (*Follower, zk.Conn) {
	t.Helper()
	o.Types = storetest.Types()
	o = o.withDefaults()
	o.pause = time.Microsecond
	o.Connection.MaxRequest = manyBytes
	dial, used := o.Dial, zk.Conn(nil)
	o.Dial = func(c zk.Options) (zk.Conn, error) {
		var err error
		used, err = dial(c)
		return used, err
	}
	f, err := Follow(o)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f, used
}

// whole waits until a copy has all.
func whole(t testing.TB, f *Follower) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Microsecond) {
		c := f.Copy()
		if c.Whole && c.Behind == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", c)
		}
	}
}

// sameAsCold takes the store over with a copy, and then again without one, which must be the same. It tells whether the copy was used.
func sameAsCold(t testing.TB, o Options, f *Follower) bool {
	t.Helper()
	o.Follower = f
	warm, got := loaded(t, o)
	o.Follower = nil
	nodes := warm.(*keeper).tree
	cold, want := loaded(t, o)
	if want.Epoch != got.Epoch+1 {
		t.Fatalf("epochs %d and %d", got.Epoch, want.Epoch)
	}
	want.Epoch = got.Epoch
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("with a copy %.4000s, without %.4000s", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
	if a, b := listing(nodes), listing(cold.(*keeper).tree); !slices.Equal(a, b) {
		t.Fatalf("nodes with a copy %q, without %q", a, b)
	}
	must(t, cold.Close())
	must(t, warm.Close())
	return f.Copy().Why == "was taken"
}

// listing is the nodes of a tree by what has them and by what lists them, but for the marks of starts.
func listing(nodes tree) []string {
	var out []string
	for at := range nodes {
		if !strings.Contains(at, "/"+markPrefix) {
			out = append(out, at)
			for name := range nodes[at] {
				if !strings.HasPrefix(name, markPrefix) {
					out = append(out, at+" has "+name)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestWarmTakeOver: whatever the active one stores, however often the standby loses its connection, and in whatever moment it takes over,
// it finds what it would find without a copy.
func TestWarmTakeOver(t *testing.T) {
	warm := 0
	const runs = 60
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng, batches := rand.New(rand.NewPCG(seed, 19)), rand.New(rand.NewPCG(seed, 18))
			server := zookeepertest.New()
			o := Options{Dial: server.Open, AppSplit: int(seed % 3), TokenSplit: int(seed % 2)}
			active, _ := loaded(t, o)
			var mu sync.Mutex // the active one is one writer
			many := 2 + rng.IntN(60)
			commit := func() {
				mu.Lock()
				defer mu.Unlock()
				if many--; many < 0 {
					return
				}
				err := active.Commit(t.Context(), storetest.RandomOps(batches))
				if err != nil && !errors.Is(err, store.ErrFenced) {
					t.Error(err)
				}
			}
			for range rng.IntN(20) {
				commit()
			}
			var calls, inside sync.Mutex
			chance := rand.New(rand.NewPCG(seed, 20))
			server.Before(func(call, _ string) error { // between any two calls, those of the take-over included
				if call == "multi" || call == "sync" || !inside.TryLock() {
					return nil
				}
				defer inside.Unlock()
				calls.Lock()
				now := chance.IntN(8) == 0
				calls.Unlock()
				if now {
					commit()
				}
				return nil
			})
			f, conn := follows(t, o)
			for range rng.IntN(6) {
				switch rng.IntN(6) {
				case 0:
					server.Lose(conn)
				case 1:
					server.Expire(conn)
				case 2:
					server.Cut(conn)
					commit()
					server.Mend(conn)
				case 3:
					server.Cut(conn)
					server.ExpireCut(conn)
					commit()
					server.Mend(conn)
				case 4:
					whole(t, f)
				default:
					commit()
				}
			}
			if rng.IntN(3) > 0 {
				whole(t, f)
			}
			if sameAsCold(t, o, f) {
				warm++
			}
			if err := active.Commit(t.Context(), storetest.RandomOps(rng)); !errors.Is(err, store.ErrFenced) {
				t.Fatalf("%v", err)
			}
		})
	}
	if warm < runs/2 {
		t.Fatalf("the copy was used in %d of %d runs", warm, runs)
	}
}

// TestFollowLosesNoChild: the watch is lost when a standby has read of an application that it has another attempt, and has not read that.
func TestFollowLosesNoChild(t *testing.T) {
	for name, early := range map[string]bool{"while the attempt is read": false, "while the application is read": true} {
		t.Run(name, func(t *testing.T) {
			server := zookeepertest.New()
			o := Options{Dial: server.Open}
			active, _ := loaded(t, o)
			must(t, active.Commit(t.Context(), storetest.Puts(storetest.Application(5, 10), storetest.Attempt(5, 1))))
			f, conn := follows(t, o)
			whole(t, f)
			application, attempt := storetest.AppID(5).String(), storetest.Attempt(5, 3).ID.String()
			begun, lost := make(chan struct{}), false
			server.Before(func(call, at string) error {
				switch {
				case call != "read" || lost:
				case strings.HasSuffix(at, application):
					select {
					case <-begun:
						return nil
					default:
						close(begun)
					}
					if lost = early; lost {
						server.Lose(conn)
					}
					return active.Commit(t.Context(), storetest.Puts(storetest.Attempt(5, 3)))
				case strings.HasSuffix(at, attempt):
					lost = true
					server.Lose(conn)
					return zk.ErrConnection
				}
				return nil
			})
			must(t, active.Commit(t.Context(), storetest.Puts(storetest.Application(5, 20))))
			<-begun
			whole(t, f)
			if server.Before(nil); !sameAsCold(t, o, f) {
				t.Fatalf("the copy was not used: %+v", f.Copy())
			}
		})
	}
}

// TestFollow follows a store from before there is one, with a real ZooKeeper, too.
func TestFollow(t *testing.T) {
	everywhere(t, func(t *testing.T, o Options) {
		f, _ := follows(t, o)
		whole(t, f)
		active, _ := loaded(t, o)
		must(t, active.Commit(t.Context(), storetest.Puts(storetest.Everything()...)))
		for n := range 40 {
			must(t, active.Commit(t.Context(), storetest.Puts(storetest.Application(n+1, 10*n), storetest.Attempt(n+1, 1))))
		}
		must(t, active.Commit(t.Context(), []state.Op{state.RemoveApplication(storetest.AppID(3))}))
		if !sameAsCold(t, o, f) {
			t.Fatalf("the copy was not used: %+v", f.Copy())
		}
		if err := active.Commit(t.Context(), nil); !errors.Is(err, store.ErrFenced) {
			t.Fatalf("%v", err)
		}
	})
}

// TestFollowReads: a standby reads what has changed, and no more; after it was cut off it looks at all, and reads what has changed.
func TestFollowReads(t *testing.T) {
	server := zookeepertest.New()
	o := Options{Dial: server.Open}
	active, _ := loaded(t, o)
	for n := range 50 {
		must(t, active.Commit(t.Context(), storetest.Puts(storetest.Application(n+1, 10))))
	}
	f, conn := follows(t, o)
	whole(t, f)
	if c := f.Copy(); c.Records != len(server.Dump("/rmstore/ZKRMStateRoot")) || c.Bytes == 0 {
		t.Fatalf("%+v, there are %d nodes", c, len(server.Dump("/rmstore/ZKRMStateRoot")))
	}
	var mu sync.Mutex
	calls := map[string]int{}
	server.Before(func(call, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		calls[call]++
		return nil
	})
	counted := func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		out := maps.Clone(calls)
		clear(calls)
		return out
	}
	must(t, active.Commit(t.Context(), storetest.Puts(storetest.Application(7, 20), storetest.Attempt(8, 1))))
	whole(t, f)
	if n := counted(); n["read"] != 2 || n["look for"]+n["list"] != 0 {
		t.Errorf("after a batch of two: %v", n)
	}
	server.Cut(conn)
	must(t, active.Commit(t.Context(), storetest.Puts(storetest.Application(9, 20), storetest.Attempt(10, 1))))
	counted()
	server.Mend(conn)
	whole(t, f)
	if n := counted(); n["read"] > 6 || n["look for"] < 50 {
		t.Errorf("after it was cut off: %v", n)
	}
	if !sameAsCold(t, o, f) {
		t.Error("the copy was not used")
	}
}

// TestCannotFollow: without a copy a store reads all.
func TestCannotFollow(t *testing.T) {
	server := zookeepertest.New()
	said := make(chan string, 10)
	o := Options{Dial: server.Open, Warn: func(text string) { said <- text }}
	active, _ := loaded(t, o)
	must(t, active.Commit(t.Context(), storetest.Puts(storetest.Application(1, 10))))
	server.Before(func(call, _ string) error {
		if call == "watch all below" {
			return zk.ErrUnsupported
		}
		return nil
	})
	f, _ := follows(t, o)
	if text := <-said; !strings.Contains(text, "needs ZooKeeper 3.6") {
		t.Fatalf("%q", text)
	}
	if c := f.Copy(); c.Whole || !strings.Contains(c.Why, "3.6") {
		t.Fatalf("%+v", c)
	}
	if sameAsCold(t, o, f) {
		t.Fatal("a copy was used")
	}
	server.Before(nil)

	o.most = 5 // bytes
	f, _ = follows(t, o)
	if text := <-said; !strings.Contains(text, "has more than") {
		t.Fatalf("%q", text)
	}
	if sameAsCold(t, o, f) {
		t.Fatal("a copy was used")
	}
}

// TestCopyIsLate: a server that does not know of the fence cannot tell that the copy is whole.
func TestCopyIsLate(t *testing.T) {
	server := zookeepertest.New()
	said := ""
	o := Options{Dial: server.Open, Warn: func(text string) { said += text }}
	loaded(t, o)
	f, _ := follows(t, o)
	whole(t, f)
	if nodes, _, err := f.take(t.Context(), "HeddleRoot/start-other"); nodes != nil || err == nil || !strings.Contains(err.Error(), "does not know who") {
		t.Fatalf("%v %v", nodes, err)
	}
	if sameAsCold(t, o, f) != true { // the next one knows
		t.Fatal(said)
	}
}

// BenchmarkTakeOver loads 10,000 applications with an attempt each, with a copy and without, from a real ZooKeeper if there is one.
func BenchmarkTakeOver(b *testing.B) {
	o := Options{Dial: zookeepertest.New().Open}
	if at := os.Getenv(realAddress); at != "" {
		o = Options{Connection: zk.Options{Address: at}, Parent: fresh(b, at)}
	}
	s, _ := loaded(b, o)
	for n := range 100 {
		var ops []state.Op
		for i := range 100 {
			ops = append(ops, storetest.Puts(storetest.Application(100*n+i+1, 1500), storetest.Attempt(100*n+i+1, 1))...)
		}
		must(b, s.Commit(b.Context(), ops))
	}
	take := func(b *testing.B, f *Follower) {
		o := o
		o.Follower = f
		s, snapshot := loaded(b, o)
		b.StopTimer()
		if len(snapshot.Applications) != 10_000 {
			b.Fatalf("%d applications", len(snapshot.Applications))
		}
		must(b, s.Close())
		b.StartTimer()
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			take(b, nil)
		}
	})
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			f, _ := follows(b, o)
			whole(b, f)
			b.StartTimer()
			take(b, f)
			must(b, f.Close())
		}
	})
}
