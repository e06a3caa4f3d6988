package zookeepertest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
)

// address names a real ZooKeeper, host:port, which is asked the same as the one in
// memory; test/compat sets it.
const address = "HEDDLE_TEST_ZOOKEEPER"

// everywhere runs a test with an opener of each kind, below a node of its own.
func everywhere(t *testing.T, test func(t *testing.T, open func(...zookeeper.Auth) zookeeper.Conn)) {
	run := func(name, at string, open zookeeper.Opener) {
		t.Run(name, func(t *testing.T) {
			opened := func(at string, auth ...zookeeper.Auth) zookeeper.Conn {
				c, err := open(zookeeper.Options{Address: at, Auth: auth, Session: 4 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(c.Close)
				return c
			}
			must(t, zookeeper.MakeParents(t.Context(), opened(at), "/heddle/test", zookeeper.Anyone()))
			root, err := opened(at).Create(t.Context(), "/heddle/test/"+strings.ReplaceAll(t.Name(), "/", "-"), nil, zookeeper.PersistentSequential, zookeeper.Anyone())
			must(t, err)
			test(t, func(auth ...zookeeper.Auth) zookeeper.Conn { return opened(at+root, auth...) })
		})
	}
	run("memory", "memory:1", zookeepertest.New().Open)
	if at := os.Getenv(address); at != "" {
		run("real", at, zookeeper.Open)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func create(t testing.TB, c zookeeper.Conn, name string, data []byte) {
	t.Helper()
	_, err := c.Create(t.Context(), name, data, zookeeper.Persistent, zookeeper.Anyone())
	must(t, err)
}

func TestNodes(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...zookeeper.Auth) zookeeper.Conn) {
		c, ctx := open(), t.Context()
		create(t, c, "/a", nil)
		create(t, c, "/a/b", []byte("x"))
		_, err := c.Create(ctx, "/a/b", nil, zookeeper.Persistent, zookeeper.Anyone())
		is(t, err, zookeeper.ErrNodeExists)
		_, err = c.Create(ctx, "/no/b", nil, zookeeper.Persistent, zookeeper.Anyone())
		is(t, err, zookeeper.ErrNoNode)
		data, stat, err := c.Get(ctx, "/a")
		if must(t, err); data != nil || stat.Children != 1 || stat.Version != 0 {
			t.Fatalf("%q %+v", data, stat)
		}
		stat, err = c.Set(ctx, "/a/b", []byte("y"), 0)
		if must(t, err); stat.Version != 1 || stat.Size != 1 {
			t.Fatalf("%+v", stat)
		}
		_, err = c.Set(ctx, "/a/b", []byte("z"), 0)
		is(t, err, zookeeper.ErrBadVersion)
		is(t, c.Delete(ctx, "/a", zookeeper.AnyVersion), zookeeper.ErrNotEmpty)
		is(t, c.Delete(ctx, "/a/b", 0), zookeeper.ErrBadVersion)
		names, _, err := c.Children(ctx, "/a")
		if must(t, err); !slices.Equal(names, []string{"b"}) {
			t.Fatalf("%v", names)
		}
		must(t, c.Delete(ctx, "/a/b", 1))
		there, _, err := c.Exists(ctx, "/a/b")
		if must(t, err); there {
			t.Fatal("still there")
		}
		name, err := c.Create(ctx, "/a/n-", nil, zookeeper.PersistentSequential, zookeeper.Anyone())
		if must(t, err); !strings.HasPrefix(name, "/a/n-0000") || len(name) != len("/a/n-")+10 {
			t.Fatalf("%s", name)
		}
		if _, _, err := c.Get(ctx, "a"); err == nil || !strings.Contains(err.Error(), "does not begin with a slash") {
			t.Fatalf("%v", err)
		}
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		is(t, c.Sync(cancelled, "/a"), context.Canceled)
		must(t, c.Sync(ctx, "/a"))
	})
}

func TestMulti(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...zookeeper.Auth) zookeeper.Conn) {
		c, ctx := open(), t.Context()
		create(t, c, "/a", nil)
		anyone := zookeeper.Anyone()
		must(t, c.Multi(ctx, zookeeper.CreateOp("/lock", nil, anyone), zookeeper.CreateOp("/a/b", []byte("1"), anyone),
			zookeeper.SetOp("/a/b", []byte("2")), zookeeper.DeleteOp("/lock")))
		err := c.Multi(ctx, zookeeper.SetOp("/a/b", []byte("3")), zookeeper.CreateOp("/a/c", nil, anyone), zookeeper.DeleteOp("/lock"))
		var refused *zookeeper.MultiError
		if !errors.As(err, &refused) || refused.Index != 2 || !errors.Is(err, zookeeper.ErrNoNode) {
			t.Fatalf("%v", err)
		}
		data, stat, err := c.Get(ctx, "/a/b")
		if must(t, err); !bytes.Equal(data, []byte("2")) || stat.Version != 1 {
			t.Fatalf("%q %+v", data, stat)
		}
		err = c.Multi(ctx, zookeeper.Op{Kind: zookeeper.OpCheck, Path: "/a/b", Version: 7})
		is(t, err, zookeeper.ErrBadVersion)
		must(t, c.Multi(ctx, zookeeper.Op{Kind: zookeeper.OpCheck, Path: "/a/b", Version: 1}))
		is(t, c.Multi(ctx, zookeeper.Op{Kind: zookeeper.OpCheck, Path: "/a/none", Version: 1}), zookeeper.ErrNoNode)
		_, stat, err = c.Get(ctx, "/a/b")
		if must(t, err); stat.Version != 1 {
			t.Fatalf("a check changes the node: %+v", stat)
		}
		is(t, c.Multi(ctx, zookeeper.CreateOp("/big", make([]byte, zookeeper.DefaultRequest), anyone)), zookeeper.ErrTooLarge)
		must(t, c.Multi(ctx))
	})
}

func TestAccess(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...zookeeper.Auth) zookeeper.Conn) {
		ctx := t.Context()
		ours, theirs := open(zookeeper.Auth{Scheme: "digest", Secret: []byte("rm1:one")}), open(zookeeper.Auth{Scheme: "digest", Secret: []byte("rm2:two")})
		acl := []zookeeper.ACL{{Perms: zookeeper.Read | zookeeper.Write | zookeeper.Admin, Scheme: "world", ID: "anyone"},
			{Perms: zookeeper.CreateChild | zookeeper.DeleteChild, Scheme: "digest", ID: zookeeper.Digest("rm1", "one")}}
		_, err := ours.Create(ctx, "/fenced", nil, zookeeper.Persistent, acl)
		must(t, err)
		create(t, ours, "/fenced/x", nil)
		lock := func(c zookeeper.Conn) error {
			return c.Multi(ctx, zookeeper.CreateOp("/fenced/lock", nil, zookeeper.Anyone()), zookeeper.SetOp("/fenced/x", []byte("x")), zookeeper.DeleteOp("/fenced/lock"))
		}
		must(t, lock(ours))
		is(t, lock(theirs), zookeeper.ErrNoAuth)
		got, _, err := theirs.GetACL(ctx, "/fenced")
		if must(t, err); !slices.Equal(got, acl) {
			t.Fatalf("%v", got)
		}
		acl[1].ID = zookeeper.Digest("rm2", "two")
		_, err = theirs.SetACL(ctx, "/fenced", acl, zookeeper.AnyVersion)
		must(t, err)
		must(t, lock(theirs))
		is(t, lock(ours), zookeeper.ErrNoAuth)
		_, err = ours.Create(ctx, "/mine", nil, zookeeper.Persistent, []zookeeper.ACL{{Perms: zookeeper.All, Scheme: "auth"}})
		must(t, err)
		_, _, err = theirs.Get(ctx, "/mine")
		is(t, err, zookeeper.ErrNoAuth)
		_, err = ours.Create(ctx, "/none", nil, zookeeper.Persistent, nil)
		is(t, err, zookeeper.ErrInvalidACL)
	})
}

func TestEphemeral(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...zookeeper.Auth) zookeeper.Conn) {
		ctx, c, other := t.Context(), open(), open()
		_, err := c.Create(ctx, "/lock", []byte("rm1"), zookeeper.Ephemeral, zookeeper.Anyone())
		must(t, err)
		there, stat, gone, err := other.ExistsWatch(ctx, "/lock")
		if must(t, err); !there || stat.Owner != c.SessionID() || stat.Owner == 0 {
			t.Fatalf("%v %+v, session %d", there, stat, c.SessionID())
		}
		_, err = c.Create(ctx, "/lock/x", nil, zookeeper.Persistent, zookeeper.Anyone())
		is(t, err, zookeeper.ErrEphemeral)
		c.Close()
		is(t, c.Sync(ctx, "/"), zookeeper.ErrClosed)
		seen(t, gone, zookeeper.NodeDeleted, "/lock")
	})
}

func seen(t testing.TB, events <-chan zookeeper.Event, kind zookeeper.EventKind, name string) {
	t.Helper()
	select {
	case e := <-events:
		if e.Kind != kind || e.Path != name {
			t.Fatalf("seen %+v", e)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was seen")
	}
	if _, open := <-events; open {
		t.Fatal("the watch goes on")
	}
}

func TestWatches(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...zookeeper.Auth) zookeeper.Conn) {
		ctx, c, other := t.Context(), open(), open()
		create(t, other, "/a", nil)
		must(t, c.Sync(ctx, "/"))
		_, _, data, err := c.GetWatch(ctx, "/a")
		must(t, err)
		_, _, children, err := c.ChildrenWatch(ctx, "/a")
		must(t, err)
		there, _, made, err := c.ExistsWatch(ctx, "/b")
		if must(t, err); there {
			t.Fatal("there already")
		}
		create(t, other, "/a/x", nil)
		seen(t, children, zookeeper.ChildrenChanged, "/a")
		_, err = other.Set(ctx, "/a", []byte("1"), zookeeper.AnyVersion)
		must(t, err)
		seen(t, data, zookeeper.DataChanged, "/a")
		must(t, other.Multi(ctx, zookeeper.CreateOp("/b", nil, zookeeper.Anyone())))
		seen(t, made, zookeeper.NodeCreated, "/b")
	})
}

func TestSessions(t *testing.T) {
	s := zookeepertest.New()
	var states []zookeeper.State
	c, err := s.Open(zookeeper.Options{State: func(x zookeeper.State) { states = append(states, x) }})
	must(t, err)
	ctx := t.Context()
	lock := func() {
		t.Helper()
		_, err := c.Create(ctx, "/lock", nil, zookeeper.Ephemeral, zookeeper.Anyone())
		must(t, err)
	}
	there := func(want bool) {
		t.Helper()
		if _, got := s.Dump("/")["/lock"]; got != want {
			t.Fatalf("the lock is there: %t", got)
		}
	}
	lock()
	_, _, watch, err := c.ExistsWatch(ctx, "/other")
	must(t, err)
	s.Cut(c)
	is(t, c.Sync(ctx, "/"), zookeeper.ErrConnection)
	there(true)
	s.Mend(c)
	s.Expire(c)
	there(false)
	if e := <-watch; e.Kind != zookeeper.NotWatching || !errors.Is(e.Err, zookeeper.ErrSessionExpired) {
		t.Fatalf("%+v", e)
	}
	lock()
	s.Cut(c)
	s.ExpireCut(c)
	there(false)
	s.Mend(c)
	lock()
	s.Before(func(call, path string) error {
		if call == "read" && path == "/lock" {
			return zookeeper.ErrConnection
		}
		return nil
	})
	_, _, err = c.Get(ctx, "/lock")
	is(t, err, zookeeper.ErrConnection)
	s.Put("/a/b", []byte("x"))
	if got := s.Dump("/a"); len(got) != 2 || string(got["/a/b"]) != "x" {
		t.Fatalf("%v", got)
	}
	c.Close()
	there(false)
	want := []zookeeper.State{zookeeper.Connected, zookeeper.Disconnected, zookeeper.Connected, zookeeper.Disconnected, zookeeper.Expired,
		zookeeper.Connected, zookeeper.Disconnected, zookeeper.Expired, zookeeper.Connected}
	if !slices.Equal(states, want) {
		t.Fatalf("%v", states)
	}
}

// TestWatchAll: all that changes below a node is told before anything is answered that comes after it.
func TestWatchAll(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...zookeeper.Auth) zookeeper.Conn) {
		ours, theirs, ctx, anyone := open(), open(), t.Context(), zookeeper.Anyone()
		var mu sync.Mutex
		var told []zookeeper.Event
		hears := func(e zookeeper.Event) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e)
		}
		must(t, ours.WatchAll(ctx, "/a", hears)) // which is not there yet
		create(t, theirs, "/a", nil)
		create(t, theirs, "/other", nil)
		create(t, theirs, "/ab", nil)
		create(t, theirs, "/a/b", []byte("1"))
		must(t, theirs.Multi(ctx, zookeeper.CreateOp("/a/b/c", nil, anyone), zookeeper.SetOp("/a/b", []byte("2")), zookeeper.DeleteOp("/a/b/c")))
		is(t, theirs.Multi(ctx, zookeeper.SetOp("/a/b", []byte("3")), zookeeper.DeleteOp("/a/b/c")), zookeeper.ErrNoNode)
		must(t, theirs.Delete(ctx, "/a/b", zookeeper.AnyVersion))
		must(t, ours.Sync(ctx, "/a"))
		_, _, err := ours.Exists(ctx, "/a/b")
		must(t, err)
		want := []zookeeper.Event{{Kind: zookeeper.NodeCreated, Path: "/a"}, {Kind: zookeeper.NodeCreated, Path: "/a/b"}, {Kind: zookeeper.NodeCreated, Path: "/a/b/c"},
			{Kind: zookeeper.DataChanged, Path: "/a/b"}, {Kind: zookeeper.NodeDeleted, Path: "/a/b/c"}, {Kind: zookeeper.NodeDeleted, Path: "/a/b"}}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(told, want) {
			t.Fatalf("%v, want %v", told, want)
		}
	})
}

// TestWatchAllEnds with the connection to the server.
func TestWatchAllEnds(t *testing.T) {
	server := zookeepertest.New()
	for name, lose := range map[string]func(zookeeper.Conn){"lost": server.Lose, "cut": server.Cut, "expired": server.Expire} {
		c, err := server.Open(zookeeper.Options{})
		must(t, err)
		defer c.Close()
		var told []zookeeper.Event
		must(t, c.WatchAll(t.Context(), "/", func(e zookeeper.Event) { told = append(told, e) }))
		lose(c)
		server.Put("/"+name, nil)
		if len(told) != 1 || told[0].Kind != zookeeper.NotWatching || told[0].Err == nil {
			t.Errorf("%s: %v", name, told)
		}
	}
}
