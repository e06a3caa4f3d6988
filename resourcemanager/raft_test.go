package resourcemanager

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/wire/pb"
)

// newThree starts three ResourceManagers that keep their store together.
func newThree(t *testing.T, changes ...string) []*world {
	t.Helper()
	const rm = "yarn.resourcemanager."
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("s", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	ids := []string{"rm1", "rm2", "rm3"}
	all := append([]string{rm + "ha.enabled", "true", rm + "ha.rm-ids", strings.Join(ids, ","), rm + "recovery.enabled", "true", rm + "store.class", "heddle.raft",
		rm + "heddle.raft.secret-file", secret, rm + "heddle.raft.timeout-ms", "800", rm + "work-preserving-recovery.scheduling-wait-ms", "0"}, changes...)
	ports := freePorts(t, 9)
	for i, id := range ids {
		for _, name := range []string{"address", "scheduler.address", "resource-tracker.address"} {
			all = append(all, rm+name+"."+id, "127.0.0.1:0")
		}
		all = append(all, rm+"admin.address."+id, ports[3*i], rm+"webapp.address."+id, ports[3*i+1], rm+"heddle.raft.address."+id, ports[3*i+2])
	}
	var three []*world
	for _, id := range ids {
		three = append(three, newWorld(t, twoQueues, append(slices.Clone(all), rm+"ha.id", id, rm+"heddle.raft.path", filepath.Join(dir, id))...))
	}
	return three
}

// activeOne waits for one of them that is active and is not the one given.
func activeOne(t *testing.T, among []*world, but *world) (active *world) {
	t.Helper()
	until(t, "an active one", func() bool {
		for _, w := range among {
			if w != but && w.d.active() && w.d.leadsNow() {
				active = w
			}
		}
		return active != nil
	})
	return active
}

// Three ResourceManagers without ZooKeeper: applications and queues outlive whoever is active, in every way in which it ends.
func TestRaft(t *testing.T) {
	three := newThree(t, "yarn.scheduler.configuration.store.class", "leveldb", "yarn.admin.acl", operator)
	first := activeOne(t, three, nil)
	id := first.as("alice").submit(unmanaged)
	epoch := first.term().epoch
	if err := first.conf().Change(t.Context(), webgate.Caller{User: operator}, setting("maximum-applications", "77"), access.Change{}); err != nil {
		t.Fatal(err)
	}
	if text := first.page("/ws/v1/cluster/info", 200); !strings.Contains(text, `"haState":"ACTIVE"`) || !strings.Contains(text, `"rmStateStoreName":"heddle.raft"`) || !strings.Contains(text, `"haZooKeeperConnectionState":"CONNECTED"`) {
		t.Error(text)
	}

	first.d.elector.Load().Yield("test") // it hands over, and is told to step down
	second := activeOne(t, three, first)
	until(t, "a standby", func() bool { return !first.d.active() })
	known := func(w *world) {
		t.Helper()
		if r := w.as("alice").reaches(id, pb.YarnApplicationState_ACCEPTED); r.GetUser() != "alice" {
			t.Errorf("%v", r)
		}
		if kept := w.term().queues.kept.Load(); kept.Values["yarn.scheduler.capacity.maximum-applications"] != "77" {
			t.Errorf("the change of queues is forgotten: version %d", kept.Version)
		}
	}
	known(second)
	if now := second.term().epoch; now != epoch+1 {
		t.Errorf("epoch %d after %d", now, epoch)
	}

	if err := first.d.BecomeActive("test"); err != nil { // as by force
		t.Fatal(err)
	}
	until(t, "one that was fenced", func() bool { return !second.d.active() })
	known(first)

	first.d.Stop()
	third := activeOne(t, three, first)
	known(third)
	var out bytes.Buffer
	o := Options{Load: first.load, Dir: first.dir, User: operator, Log: slog.New(slog.NewTextHandler(first.log, nil))}
	if whole, err := CheckStore(o, &out); err != nil || !whole || !strings.Contains(out.String(), "its last entry is ") || strings.Contains(out.String(), "entry is 0") {
		t.Errorf("%v, %s", err, &out)
	}
	if err := RemoveFromStore(o, id.String(), &out); err == nil || !strings.Contains(err.Error(), "replicated by several ResourceManagers") {
		t.Errorf("got %v", err)
	}
	if err := RepairStore(o, &out); err == nil || !strings.Contains(err.Error(), "made anew from the others'") {
		t.Errorf("got %v", err)
	}
	if err := FormatConfStore(o, &out); err == nil || !strings.Contains(err.Error(), "yarn schedulerconf -apply") {
		t.Errorf("got %v", err)
	}
	if err := FormatStore(o, &out); err != nil || !strings.Contains(out.String(), "gets everything from the other ResourceManagers") {
		t.Errorf("%v, %s", err, &out)
	}
}

// TestRecoverQuorum: of three ResourceManagers two lose their disks. The third goes on with its copy, once it is told to.
func TestRecoverQuorum(t *testing.T) {
	three := newThree(t)
	first := activeOne(t, three, nil)
	id, epoch := first.as("alice").submit(unmanaged), first.term().epoch
	var out bytes.Buffer
	o := Options{Load: first.load, Dir: first.dir, User: operator, Log: slog.New(slog.NewTextHandler(first.log, nil))}
	if err := RecoverQuorum(o, &out); err == nil || !strings.Contains(err.Error(), "answers at") {
		t.Fatalf("while others run: %v", err)
	}
	for _, w := range three {
		w.d.Stop()
	}
	if err := RecoverQuorum(o, &out); err != nil || !strings.Contains(out.String(), "is the state store now") {
		t.Fatalf("%v, %s", err, &out)
	}
	first.again()
	if activeOne(t, three, nil) != first {
		t.Fatal("another one is active")
	}
	if r := first.as("alice").reaches(id, pb.YarnApplicationState_ACCEPTED); r.GetUser() != "alice" {
		t.Errorf("%v", r)
	}
	if now := first.term().epoch; now <= epoch+1 {
		t.Errorf("epoch %d after %d: one that this copy has missed would be used twice", now, epoch)
	}
	for _, w := range three { // one comes with its copy of before
		if w == first {
			continue
		}
		d, err := w.start()
		if err != nil {
			t.Fatal(err)
		}
		w.d = d
		t.Cleanup(d.Stop)
		until(t, "an end", func() bool { return strings.Contains(w.log.String(), "recovered from the copy of another member") })
		break
	}
	alone := newWorld(t, twoQueues)
	o.Load = alone.load
	if err := RecoverQuorum(o, &out); err == nil || !strings.Contains(err.Error(), "store.class is not heddle.raft") {
		t.Errorf("with another store: %v", err)
	}
}

// TestWitness: a ResourceManager that is a witness gets everything and is not active, whoever ends and whoever asks for it.
func TestWitness(t *testing.T) {
	three := newThree(t, raftWitnesses, "rm1")
	witness := three[0]
	first := activeOne(t, three, nil)
	id := first.as("alice").submit(unmanaged)
	if err := witness.d.BecomeActive("test"); err == nil || !strings.Contains(err.Error(), "is a witness") {
		t.Errorf("it becomes active: %v", err)
	}
	first.d.Stop()
	second := activeOne(t, three, first)
	if first == witness || second == witness {
		t.Error("the witness was active")
	}
	if r := second.as("alice").reaches(id, pb.YarnApplicationState_ACCEPTED); r.GetUser() != "alice" {
		t.Errorf("%v", r)
	}
}
