package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	zk "github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
)

// realAddress names a ZooKeeper that takes requests of manyBytes, which is asked the
// same as the one in memory; test/compat sets it. realChild is the path at which the
// child of TestKilled commits until it is killed.
const (
	realAddress = "HEDDLE_TEST_ZOOKEEPER"
	realChild   = "HEDDLE_TEST_ZOOKEEPER_CHILD"
	manyBytes   = 64 << 20
)

func TestMain(m *testing.M) {
	at := os.Getenv(realChild)
	if at == "" {
		os.Exit(m.Run())
	}
	s, err := Open(Options{Options: store.Options{Types: storetest.Types()}, Parent: at, Connection: zk.Options{Address: os.Getenv(realAddress)}})
	if err == nil {
		err = storetest.CommitForever(s, os.Stdout)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// everywhere runs a test in memory, and with a real ZooKeeper if there is one.
func everywhere(t *testing.T, test func(t *testing.T, o Options)) {
	t.Run("memory", func(t *testing.T) { test(t, Options{Dial: zookeepertest.New().Open}) })
	if at := os.Getenv(realAddress); at != "" {
		t.Run("real", func(t *testing.T) { test(t, Options{Connection: zk.Options{Address: at}, Parent: fresh(t, at)}) })
	}
}

// fresh makes a node of a real ZooKeeper that no other test uses.
func fresh(t testing.TB, address string) string {
	c := dial(t, Options{Dial: zk.Open, Connection: zk.Options{Address: address}})
	must(t, zk.MakeParents(t.Context(), c, "/heddle/store", zk.Anyone()))
	at, err := c.Create(t.Context(), "/heddle/store/test-", nil, zk.PersistentSequential, zk.Anyone())
	must(t, err)
	return at
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func dial(t testing.TB, o Options) zk.Conn {
	t.Helper()
	c, err := o.withDefaults().Dial(o.Connection)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func open(t testing.TB, o Options) store.Store {
	t.Helper()
	if o.Types == nil {
		o.Types = storetest.Types()
	}
	o.Connection.MaxRequest = manyBytes
	s, err := Open(o)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func loaded(t testing.TB, o Options) (store.Store, *state.Snapshot) {
	t.Helper()
	s := open(t, o)
	snapshot, err := s.Load(t.Context())
	must(t, err)
	return s, snapshot
}

// overwrite writes a record's node as it is at split index 0, whatever is there.
func overwrite(t testing.TB, o Options, key state.Key, value []byte) {
	t.Helper()
	o = o.withDefaults()
	k := &keeper{options: o, root: o.Parent + "/" + rootName, tree: tree{}}
	at, err := k.place(key, state.Reservation{Plan: "root.plan"})
	if key.Table == state.Attempts && err != nil {
		t.Fatal(err)
	}
	c := dial(t, o)
	must(t, zk.MakeParents(t.Context(), c, k.absolute(at), zk.Anyone()))
	_, err = c.Set(t.Context(), k.absolute(at), value, zk.AnyVersion)
	must(t, err)
}

func TestConformance(t *testing.T) {
	everywhere(t, func(t *testing.T, o Options) {
		n := 0
		storetest.Run(t, func(testing.TB) storetest.Subject {
			n++
			o := o
			o.Parent = fmt.Sprintf("%s/suite%d", o.Parent, n)
			return storetest.Subject{
				Open: func(t testing.TB, s store.Options) store.Store {
					o := o
					o.Options = s
					return open(t, o)
				},
				Overwrite: func(t testing.TB, key state.Key, value []byte) { overwrite(t, o, key, value) },
				Codec:     apache.Codec{Types: storetest.Types()},
				Damages:   storetest.ApacheDamages,
			}
		})
	})
}

// TestSplits runs the suite with all split indexes.
func TestSplits(t *testing.T) {
	everywhere(t, func(t *testing.T, o Options) {
		for n := 1; n <= MaxSplit; n++ {
			o := o
			o.AppSplit, o.TokenSplit, o.Parent = n, n, fmt.Sprintf("%s/split%d", o.Parent, n)
			s, _ := loaded(t, o)
			model := storetest.Model{}
			ops := storetest.Puts(storetest.Everything()...)
			model.Apply(ops)
			must(t, s.Commit(t.Context(), ops))
			must(t, s.Close())
			o.AppSplit, o.TokenSplit = (n+1)%(MaxSplit+1), (n+2)%(MaxSplit+1) // what is there is found, and changed where it is
			s, snapshot := loaded(t, o)
			if want := model.Snapshot(1); !reflect.DeepEqual(snapshot, want) {
				t.Fatalf("%d: %+v, want %+v", n, snapshot, want)
			}
			more := append(storetest.Puts(storetest.Ended(1, 5), storetest.Attempt(1, 3), storetest.Application(3, 4)), state.RemoveApplication(storetest.AppID(2)),
				state.Remove(state.DelegationToken{Sequence: 9}))
			model.Apply(more)
			must(t, s.Commit(t.Context(), more))
			must(t, s.Close())
			if _, snapshot := loaded(t, o); !reflect.DeepEqual(snapshot, model.Snapshot(2)) {
				t.Fatalf("%d: %+v, want %+v", n, snapshot, model.Snapshot(2))
			}
		}
	})
}

// TestPaths shows where nodes are, and that parents of split names go with the last.
func TestPaths(t *testing.T) {
	server := zookeepertest.New()
	o := Options{Dial: server.Open, AppSplit: 2, TokenSplit: 1}
	s, _ := loaded(t, o)
	must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 0), storetest.Attempt(1, 1), state.DelegationToken{Sequence: 1}, state.DelegationSequence{Last: 1},
		state.DelegationKey{ID: 3, ExpireAt: 5}, state.NodeDeadline{Node: storetest.Attempt(1, 1).MasterNode})))
	has := func(want bool, names ...string) {
		t.Helper()
		dump := server.Dump("/rmstore/ZKRMStateRoot")
		for _, name := range names {
			if _, got := dump["/rmstore/ZKRMStateRoot/"+name]; got != want {
				t.Fatalf("%s is there: %t\n%v", name, got, slices.Sorted(func(yield func(string) bool) {
					for at := range dump {
						yield(at)
					}
				}))
			}
		}
	}
	app, token := "RMAppRoot/HIERARCHIES/2/application_1700000000000_00", "RMDTSecretManagerRoot/RMDelegationTokensRoot/1/RMDelegationToken_000"
	has(true, app+"/01/appattempt_1700000000000_0001_000001", token+"/1", "RMDTSecretManagerRoot/RMDTMasterKeysRoot/DelegationKey_3", "HeddleRoot/node-deadline/node7:8041")
	dump := server.Dump("/rmstore")
	if v := dump["/rmstore/ZKRMStateRoot/RMVersionNode"]; string(v) != "\x08\x01\x10\x05" {
		t.Fatalf("version %x", v)
	}
	if v := dump["/rmstore/ZKRMStateRoot/RMDTSecretManagerRoot/RMDTSequentialNumber"]; string(v) != "\x00\x00\x00\x01" {
		t.Fatalf("sequence %x", v)
	}
	if v := dump["/rmstore/ZKRMStateRoot/RMAppRoot"]; v != nil {
		t.Fatalf("a directory has data %x", v)
	}
	must(t, s.Commit(t.Context(), []state.Op{state.RemoveApplication(storetest.AppID(1)), state.Remove(state.DelegationToken{Sequence: 1})}))
	has(false, app, token, "RM_ZK_FENCING_LOCK")
	has(true, "RMAppRoot/HIERARCHIES/2", "RMDTSecretManagerRoot/RMDelegationTokensRoot/1")
}

func TestFencing(t *testing.T) {
	everywhere(t, func(t *testing.T, o Options) {
		for name, fence := range map[string][2]*Fence{"by the epoch": {}, "by the access list": {{"rm1:8032", "one"}, {"rm2:8032", "two"}}} {
			o := o
			o.Parent += "/" + name[7:8]
			o.Fence = fence[0]
			first, _ := loaded(t, o)
			must(t, first.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5))))
			o.Fence = fence[1]
			second, snapshot := loaded(t, o)
			if len(snapshot.Applications) != 1 || snapshot.Epoch != 1 {
				t.Fatalf("%s: %+v", name, snapshot)
			}
			if err := first.Commit(t.Context(), nil); !errors.Is(err, store.ErrFenced) {
				t.Fatalf("%s: without a change: %v", name, err)
			}
			for range 2 {
				if err := first.Commit(t.Context(), storetest.Puts(storetest.Application(2, 5))); !errors.Is(err, store.ErrFenced) {
					t.Fatalf("%s: %v", name, err)
				}
			}
			must(t, second.Commit(t.Context(), nil))
			must(t, second.Commit(t.Context(), storetest.Puts(storetest.Application(3, 5))))
			must(t, second.Close())
			o.Fence = nil // high availability is turned off: the list is taken back
			third, snapshot := loaded(t, o)
			if len(snapshot.Applications) != 2 {
				t.Fatalf("%s: %+v", name, snapshot)
			}
			must(t, third.Commit(t.Context(), storetest.Puts(storetest.Application(4, 5))))
		}
	})
}

func TestRootACL(t *testing.T) {
	server := zookeepertest.New()
	o := Options{Dial: server.Open, Fence: &Fence{"rm1:8032", "secret"}}
	loaded(t, o)
	c := dial(t, Options{Dial: server.Open})
	got, _, err := c.GetACL(t.Context(), "/rmstore/ZKRMStateRoot")
	want := []zk.ACL{{Perms: zk.Read | zk.Write | zk.Admin, Scheme: "world", ID: "anyone"}, {Perms: zk.CreateChild | zk.DeleteChild, Scheme: "digest", ID: zk.Digest("rm1:8032", "secret")}}
	if must(t, err); !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
	got, _, err = c.GetACL(t.Context(), "/rmstore/ZKRMStateRoot/RMAppRoot")
	if must(t, err); !slices.Equal(got, zk.Anyone()) {
		t.Fatalf("%v", got)
	}
}

// TestLost: transactions of which the answer, or they themselves, are lost.
func TestLost(t *testing.T) {
	server := zookeepertest.New()
	o := Options{Dial: server.Open}
	s, _ := loaded(t, o)
	lose := ""
	server.Before(func(call, _ string) error {
		if call == lose {
			return zk.ErrConnection
		}
		return nil
	})
	unavailable := func(ops []state.Op) {
		t.Helper()
		var err *store.UnavailableError
		if got := s.Commit(t.Context(), ops); !errors.As(got, &err) {
			t.Fatalf("%v", got)
		}
	}
	lose = "multi"
	batch := storetest.Puts(storetest.Application(1, 5), storetest.Attempt(1, 1))
	unavailable(batch)
	lose = "look for"
	unavailable(batch)
	lose = ""
	must(t, s.Commit(t.Context(), batch))

	// The same again, after it was stored and the answer was lost.
	k := s.(*keeper)
	k.mu.Lock()
	k.tree.forget("RMAppRoot/application_1700000000000_0001")
	k.mu.Unlock()
	must(t, s.Commit(t.Context(), batch))
	must(t, s.Commit(t.Context(), []state.Op{state.RemoveApplication(storetest.AppID(1))}))
	k.mu.Lock()
	k.tree.add("RMAppRoot/application_1700000000000_0001")
	k.mu.Unlock()
	must(t, s.Commit(t.Context(), []state.Op{state.RemoveApplication(storetest.AppID(1))}))
	must(t, s.Close())
	if _, snapshot := loaded(t, o); len(snapshot.Applications) != 0 {
		t.Fatalf("%+v", snapshot)
	}
}

func TestLoadWaits(t *testing.T) {
	server := zookeepertest.New()
	var calls atomic.Int64 // some are made at the same time
	server.Before(func(string, string) error {
		if calls.Add(1) < 4 {
			return zk.ErrConnection
		}
		return nil
	})
	said := ""
	o := Options{Dial: server.Open, Retries: 5, Interval: time.Microsecond, Warn: func(text string) { said += text }}
	loaded(t, o)
	if !strings.Contains(said, "waiting for ZooKeeper") {
		t.Fatalf("said %q", said)
	}
	calls.Store(-1000)
	s := open(t, o)
	var unavailable *store.UnavailableError
	if _, err := s.Load(t.Context()); !errors.As(err, &unavailable) || !errors.Is(err, zk.ErrConnection) {
		t.Fatalf("%v", err)
	}
}

func TestRefused(t *testing.T) {
	server := zookeepertest.New()
	o := Options{Dial: server.Open}
	const root = "/rmstore/ZKRMStateRoot"
	for at, value := range map[string]string{root + "/RMVersionNode": "\x08\x02\x10\x00", root + "/EpochNode": "\x08\xff"} {
		server.Put(at, []byte(value))
		s := open(t, o)
		_, err := s.Load(t.Context())
		if err == nil || errors.As(err, new(*store.UnavailableError)) || !strings.Contains(err.Error(), root) {
			t.Fatalf("%s: %v", at, err)
		}
		server.Put(at, map[string][]byte{root + "/RMVersionNode": {8, 1, 16, 2}, root + "/EpochNode": {8, 6}}[at])
	}
	s, snapshot := loaded(t, o)
	if snapshot.Epoch != 6 || string(server.Dump(root)[root+"/RMVersionNode"]) != "\x08\x01\x10\x05" {
		t.Fatalf("epoch %d", snapshot.Epoch)
	}
	for at := range server.Dump(root) {
		if at == root+"/EpochNode" {
			must(t, dial(t, o).Delete(context.Background(), at, zk.AnyVersion))
		}
	}
	var damaged *store.DamagedError
	for range 2 {
		if err := s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5))); !errors.As(err, &damaged) {
			t.Fatalf("%v", err)
		}
	}
	if _, err := Open(Options{Dial: server.Open, AppSplit: 5}); err == nil {
		t.Fatal("split index 5")
	}
}

// TestLimits: what the servers would not take is refused before it is sent.
func TestLimits(t *testing.T) {
	server := zookeepertest.New()
	s, err := Open(Options{Options: store.Options{Types: storetest.Types()}, Dial: server.Open, Connection: zk.Options{MaxRequest: 10_000}})
	must(t, err)
	defer s.Close()
	_, err = s.Load(t.Context())
	must(t, err)
	var poison *store.PoisonError
	err = s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5), storetest.Application(2, 10_000)))
	if !errors.As(err, &poison) || poison.Index != 1 || !errors.As(err, new(*store.SizeError)) {
		t.Fatalf("%v", err)
	}
	err = s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5000), storetest.Application(2, 5000)))
	if !errors.As(err, new(*store.BatchError)) {
		t.Fatalf("%v", err)
	}
	must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5000))))
	must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(2, 5000))))
}

// TestLimitsChroot: with a chroot each path is longer than the store knows.
func TestLimitsChroot(t *testing.T) {
	server := zookeepertest.New()
	server.Put("/deep/yarn/heddle/a/b/c/d", nil)
	s, err := Open(Options{Options: store.Options{Types: storetest.Types()}, Dial: server.Open,
		Connection: zk.Options{Address: "h:1/deep/yarn/heddle/a/b/c/d", MaxRequest: 10_000}})
	must(t, err)
	defer s.Close()
	_, err = s.Load(t.Context())
	must(t, err)
	batches := 0
	for size := 1; ; size++ {
		var ops []state.Op
		for n := range int32(20) {
			ops = append(ops, state.Put(state.DelegationToken{Sequence: 1 + n, Identifier: make([]byte, size), RenewBy: 1}))
		}
		err := s.Commit(t.Context(), ops)
		if err == nil {
			continue
		}
		if !errors.As(err, new(*store.BatchError)) {
			t.Fatalf("%d bytes each: %v", size, err)
		}
		if batches++; batches > 50 { // beyond what both count
			break
		}
	}
	stored := false
	for size := 9000; ; size++ {
		err := s.Commit(t.Context(), storetest.Puts(state.DelegationToken{Sequence: 99, Identifier: make([]byte, size), RenewBy: 1}))
		if err == nil {
			stored = true
			continue
		}
		if !stored || !errors.As(err, new(*store.PoisonError)) {
			t.Fatalf("%d bytes, stored before: %t, %v", size, stored, err)
		}
		break
	}
}

// TestSync: before what is read decides anything, the server catches up with what others were told is stored.
func TestSync(t *testing.T) {
	server := zookeepertest.New()
	calls, lose := []string{}, false
	var mu sync.Mutex // some calls are made at the same time
	server.Before(func(call, path string) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call+" "+path)
		if lose && call == "multi" {
			return zk.ErrConnection
		}
		return nil
	})
	s := open(t, Options{Dial: server.Open})
	_, err := s.Load(t.Context())
	must(t, err)
	const root = "/rmstore/ZKRMStateRoot"
	for _, read := range []string{"read " + root + "/EpochNode", "read " + root} {
		if i := slices.Index(calls, read); i < 1 || calls[i-1] != "sync "+root {
			t.Errorf("%s: %q", read, calls)
		}
	}
	lose = true
	if err := s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5))); !errors.Is(err, zk.ErrConnection) {
		t.Fatalf("%v", err)
	}
	calls, lose = nil, false
	must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5))))
	if calls[0] != "sync "+root || len(calls) < 3 {
		t.Errorf("%q", calls)
	}
	calls = nil
	must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5))))
	if len(calls) != 1 {
		t.Errorf("%q", calls)
	}
}

// TestRemoveRunning: who runs while the store is removed can store nothing more, neither meanwhile nor once it is begun anew.
func TestRemoveRunning(t *testing.T) {
	for _, tries := range []bool{false, true} { // before the store is begun anew
		server := zookeepertest.New()
		o := Options{Dial: server.Open}
		running, _ := loaded(t, o)
		put := func(s store.Store, id int32) error {
			return s.Commit(t.Context(), storetest.Puts(state.DelegationKey{ID: id, ExpireAt: 1, Bytes: []byte("x")}))
		}
		must(t, put(running, 1))
		var during error
		tried := false
		server.Before(func(call, _ string) error {
			if tries && call == "multi" && !tried {
				tried = true
				during = put(running, 2)
			}
			return nil
		})
		must(t, Remove(t.Context(), o))
		server.Before(nil)
		if left := server.Dump("/rmstore/ZKRMStateRoot"); len(left) != 0 {
			t.Fatalf("%v", left)
		}
		if tries != tried || tries && !errors.As(during, new(*store.DamagedError)) {
			t.Fatalf("tried: %t, %v", tried, during)
		}
		next, _ := loaded(t, o)
		must(t, put(next, 3))
		if err := put(running, 4); !tries && !errors.Is(err, store.ErrFenced) || err == nil {
			t.Fatalf("%v", err)
		}
		must(t, put(next, 5))
		must(t, next.Close())
		_, snapshot := loaded(t, o)
		if len(snapshot.DelegationKeys) != 2 {
			t.Fatalf("%+v", snapshot)
		}
		marks := 0
		for at := range server.Dump("/rmstore/ZKRMStateRoot/HeddleRoot") {
			if strings.Contains(at, "/"+markPrefix) {
				marks++
			}
		}
		if marks != 1 {
			t.Fatalf("%d marks", marks)
		}
	}
}

// TestName: a name that ZooKeeper does not take is refused alone.
func TestName(t *testing.T) {
	s, _ := loaded(t, Options{Dial: zookeepertest.New().Open})
	bad := reservation(t)
	bad.Plan = "plan\x7f"
	var poison *store.PoisonError
	if err := s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5), bad)); !errors.As(err, &poison) || poison.Index != 1 {
		t.Fatalf("%v", err)
	}
	must(t, s.Commit(t.Context(), storetest.Puts(storetest.Application(1, 5))))
	must(t, s.Commit(t.Context(), []state.Op{state.Remove(bad)}))
}

func reservation(t testing.TB) state.Reservation {
	t.Helper()
	for _, r := range storetest.Everything() {
		if r, ok := r.(state.Reservation); ok {
			return r
		}
	}
	t.Fatal("no reservation")
	return state.Reservation{}
}

func TestKilled(t *testing.T) {
	at := os.Getenv(realAddress)
	if at == "" {
		return
	}
	self, err := os.Executable()
	must(t, err)
	parent := fresh(t, at)
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), realChild+"="+parent)
	child.Stderr = io.Discard
	storetest.Kill(t, child, 20, func() store.Store { return open(t, Options{Connection: zk.Options{Address: at}, Parent: parent}) })
}
