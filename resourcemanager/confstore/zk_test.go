package confstore_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/confstore/confstoretest"
)

const parent = "/yarn/confstore"

func openZK(server *zookeepertest.Server) (confstore.Store, error) {
	conn, err := server.Open(zookeeper.Options{})
	if err != nil {
		return nil, err
	}
	return confstore.OpenZK(context.Background(), confstore.ZKOptions{Conn: conn, Parent: parent, ACL: zookeeper.Anyone()})
}

// loadedZK is a store that has been loaded, and what it held.
func loadedZK(t *testing.T, server *zookeepertest.Server) (confstore.Store, *confstore.State) {
	t.Helper()
	s, err := openZK(server)
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, now
}

func TestZK(t *testing.T) {
	confstoretest.Run(t, confstoretest.Kind{Place: func(*rapid.T) func() (confstore.Store, error) {
		server := zookeepertest.New()
		return func() (confstore.Store, error) { return openZK(server) }
	}})
}

// TestZKWaits: who opens or loads the store while ZooKeeper does not answer waits for it, as often as it is told to.
func TestZKWaits(t *testing.T) {
	for _, away := range []int{0, 3, 4} { // how many calls are lost
		server := zookeepertest.New()
		lost, warned := 0, 0
		server.Before(func(what, name string) error {
			if lost++; lost <= away {
				return zookeeper.ErrConnection
			}
			return nil
		})
		conn, err := server.Open(zookeeper.Options{})
		if err != nil {
			t.Fatal(err)
		}
		o := confstore.ZKOptions{Conn: conn, Parent: parent, ACL: zookeeper.Anyone(), Retries: 3, Interval: time.Millisecond, Warn: func(string) { warned++ }}
		s, err := confstore.OpenZK(t.Context(), o)
		if (err == nil) != (away <= 3) || warned != min(away, 1) {
			t.Fatalf("%d calls were lost: %v, %d warnings", away, err, warned)
		}
		if err != nil {
			continue
		}
		lost = 0
		if _, err := s.Load(t.Context()); err != nil {
			t.Errorf("%d calls were lost: %v", away, err)
		}
		lost = -100
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Load(ctx); err == nil {
			t.Error("who is told to give up goes on")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestZKNodes: what Apache's ResourceManager finds.
func TestZKNodes(t *testing.T) {
	server := zookeepertest.New()
	s, now := loadedZK(t, server)
	defer s.Close()
	next := now.Clone()
	next.Accept(map[string]string{"a": "1"}, confstore.Version{User: "alice"})
	if err := s.Commit(t.Context(), 0, next); err != nil {
		t.Fatal(err)
	}
	found := server.Dump(parent)
	for name, want := range map[string]string{
		"VERSION": "08001001", "CONF_VERSION": hex.EncodeToString([]byte("1")),
		"LOGS": "aced0005737200146a6176612e7574696c2e4c696e6b65644c6973740c29535d4a608822030000787077040000000078",
		"CONF_STORE": "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f724900097468726573686f6c6478703f4000000000000c" +
			"770800000010000000017400016174000131" + "78",
	} {
		if got := hex.EncodeToString(found[parent+"/"+name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if _, there := found[parent+"/FENCING"]; there {
		t.Error("the fence is still there")
	}
}

// TestZKOfApache: Apache's ResourceManager has written last.
func TestZKOfApache(t *testing.T) {
	server := zookeepertest.New()
	s, err := openZK(server)
	if err != nil {
		t.Fatal(err)
	}
	values, _ := hex.DecodeString("aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f724900097468726573686f6c6478703f4000000000000c" +
		"77080000001000000001740001617400013178")
	server.Put(parent+"/CONF_VERSION", []byte("7"))
	server.Put(parent+"/CONF_STORE", values)
	found, err := s.Load(t.Context())
	if err != nil || found.Version != 7 || found.Values["a"] != "1" || len(found.History) != 1 {
		t.Fatalf("%+v %v", found, err)
	}
	other, theirs := loadedZK(t, server)
	theirs.Accept(map[string]string{"a": "2"}, confstore.Version{User: "eve"})
	if err := other.Commit(t.Context(), 7, theirs); err != nil {
		t.Fatal(err)
	}
	mine := found.Clone()
	mine.Accept(map[string]string{"a": "3"}, confstore.Version{User: "alice"})
	mine.Accept(map[string]string{"a": "4"}, confstore.Version{User: "alice"})
	var conflict *confstore.ConflictError
	if err := s.Commit(t.Context(), 7, mine); !errors.As(err, &conflict) || conflict.Found != 8 {
		t.Fatalf("%v, want a conflict with 8", err)
	}
	if again, err := s.Load(t.Context()); err != nil || again.Values["a"] != "2" {
		t.Fatalf("%+v %v", again, err)
	}
}

// TestZKFenced: the list of access no longer has this ResourceManager.
func TestZKFenced(t *testing.T) {
	server := zookeepertest.New()
	s, now := loadedZK(t, server)
	server.Before(func(call, path string) error {
		if call == "multi" || strings.HasSuffix(path, "/FENCING") {
			return zookeeper.ErrNoAuth
		}
		return nil
	})
	next := now.Clone()
	next.Accept(map[string]string{"a": "1"}, confstore.Version{User: "alice"})
	if err := s.Commit(t.Context(), 0, next); !errors.Is(err, confstore.ErrFenced) {
		t.Errorf("%v, want fenced", err)
	}
	server.Before(nil)
	if err := s.Commit(t.Context(), 0, next); err == nil {
		t.Error("a store that has failed goes on without being loaded")
	}
	if back, err := s.Load(t.Context()); err != nil || back.Version != 0 {
		t.Errorf("%+v %v", back, err)
	}
}

// TestZKLarge: however long history and log are, the nodes stay small, and the latest versions can be gone back to.
func TestZKLarge(t *testing.T) {
	server := zookeepertest.New()
	s, now := loadedZK(t, server)
	values := func(i int) map[string]string {
		out := map[string]string{}
		for n := range 200 {
			out[fmt.Sprintf("property-%d", n)] = fmt.Sprintf("%0100d", i)
		}
		return out
	}
	for i := range 60 {
		next := now.Clone()
		next.Accept(values(i), confstore.Version{User: "alice"})
		v := strings.Repeat("x", 3000)
		next.Note(confstore.Attempt{User: "alice", Updates: map[string]*string{"a": &v}}, 1000)
		if err := s.Commit(t.Context(), now.Version, next); err != nil {
			t.Fatal(err)
		}
		now = next
	}
	sum := 0
	for _, data := range server.Dump(parent) {
		sum += len(data)
	}
	back, err := s.Load(t.Context())
	if err != nil || sum > 600<<10 {
		t.Fatalf("%d bytes, %v", sum, err)
	}
	oldest := back.History[0].Number
	if back.Version != 60 || oldest > 57 || len(back.Attempts) < 10 {
		t.Errorf("version %d, history from %d, %d attempts", back.Version, oldest, len(back.Attempts))
	}
	for n := oldest; n <= 60; n++ {
		if got, err := back.At(n); err != nil || len(confstore.Diff(got, values(int(n-1)))) > 0 {
			t.Errorf("version %d is not as it was: %v", n, err)
		}
	}
}
