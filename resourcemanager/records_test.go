package resourcemanager

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

const recoveryPackage = "org.apache.hadoop.yarn.server.resourcemanager.recovery."

// A store in a directory is used, loses an application, and is formatted, all by the names that Hadoop has for it.
func TestStoreInDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rmstore")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.store.class", recoveryPackage+"FileSystemRMStateStore",
		"yarn.resourcemanager.fs.state-store.uri", "file://"+dir)
	alice := w.as("alice")
	gone, kept := alice.submit(unmanaged), alice.submit(unmanaged)
	w.d.Stop()
	o := Options{Load: w.load, Dir: w.dir, User: operator, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	says := func(err error, out *bytes.Buffer, fails, want string) {
		t.Helper()
		if fails == "" && err != nil || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) || !strings.Contains(out.String(), want) {
			t.Errorf("%v, want %q; said %q, want %q", err, fails, out, want)
		}
	}
	var out bytes.Buffer
	says(RemoveFromStore(o, gone.String(), &out), &out, "", gone.String()+" is removed from the state store file://"+dir)
	says(RemoveFromStore(o, gone.String(), &out), &out, "is not in the state store", "")
	r, err := storeOf(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Load(t.Context())
	if err != nil || len(snapshot.Applications) != 1 || snapshot.Applications[0].ID != kept || len(snapshot.DelegationKeys) == 0 || len(snapshot.MasterKeys.Current.Bytes) != 8 {
		t.Fatalf("%+v %v", snapshot, err)
	}
	says(FormatStore(o, &out), &out, "is a ResourceManager running already?", "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	says(FormatStore(o, &out), &out, "", "is formatted: the next start begins with an empty one")
	out.Reset()
	says(FormatStore(o, &out), &out, "", "there is no state store at file://"+dir+" (yarn.resourcemanager.fs.state-store.uri)")
}

// What the settings of ZooKeeper become, and what is wrong with them.
func TestStoreInZooKeeper(t *testing.T) {
	options := func(set ...string) (records, error) {
		t.Helper()
		all := map[string]string{"yarn.resourcemanager.store.class": recoveryPackage + "ZKRMStateStore"}
		for i := 0; i < len(set); i += 2 {
			all[set[i]] = set[i+1]
		}
		var over []conf.Override
		for name, value := range all {
			over = append(over, conf.Override{Name: name, Value: value})
		}
		site, err := conf.Load(conf.Options{Overrides: over})
		if err != nil {
			t.Fatal(err)
		}
		settings, err := conf.ReadResourceManager(site)
		if err != nil {
			t.Fatal(err)
		}
		p := &process{Options: Options{Log: slog.New(slog.DiscardHandler)}}
		return p.records(site, settings, store.Options{})
	}
	const zk = "zk1:2181,zk2:2181/hadoop"
	const ha = "yarn.resourcemanager."
	pair := []string{ha + "ha.enabled", "true", ha + "ha.rm-ids", "a,b", ha + "ha.id", "a", ha + "cluster-id", "c", ha + "hostname.a", "rm1", ha + "hostname.b", "rm2"}
	r, err := options(append(pair, "yarn.resourcemanager.zk-address", zk, "hadoop.zk.acl", "world:anyone:rwa", "hadoop.zk.auth", "digest:a:b",
		"yarn.resourcemanager.zk-appid-node.split-index", "2", "yarn.resourcemanager.zk-max-znode-size.bytes", "5000")...)
	z := r.zookeeper
	if err != nil || z.Connection.Address != zk || len(z.ACL) != 1 || z.ACL[0].String() != "world:anyone:rwa" || len(z.Connection.Auth) != 1 || z.Fence == nil ||
		z.Fence.User != "rm1:8032" || len(z.Fence.Password) < 20 || z.AppSplit != 2 || z.MaxRecord != 5000 || z.Parent != "/rmstore" || z.Retries != 1000 {
		t.Errorf("%+v %v", z, err)
	}
	if r, err := options(append(pair, "hadoop.zk.address", zk, "yarn.resourcemanager.zk-state-store.root-node.acl", "world:anyone:rwcda")...); err != nil || r.zookeeper.Fence != nil || len(r.zookeeper.RootACL) != 1 {
		t.Errorf("%+v %v", r.zookeeper, err)
	}
	for _, c := range [][]string{
		{"hadoop.zk.address is not set"},
		{"hadoop.zk.acl: ", "hadoop.zk.address", zk, "hadoop.zk.acl", "world"},
		{"hadoop.zk.auth: ", "hadoop.zk.address", zk, "hadoop.zk.auth", "secret"},
		{"root-node.acl: the file named by @: ", "hadoop.zk.address", zk, "yarn.resourcemanager.zk-state-store.root-node.acl", "@/nowhere"},
	} {
		if _, err := options(c[1:]...); err == nil || !strings.Contains(err.Error(), c[0]) || strings.Contains(err.Error(), "secret\"") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestUnknownFieldsStay: what a record has that is not known is there still when the application has been changed. A record that cannot be used is shown,
// and so is its attempt.
func TestUnknownFieldsStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rmstore")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.store.class", recoveryPackage+"FileSystemRMStateStore",
		"yarn.resourcemanager.fs.state-store.uri", "file://"+dir)
	alice := w.as("alice")
	id, bad := alice.submit(unmanaged), alice.submit(unmanaged)
	w.d.Stop()
	file := func(id yarn.ApplicationID) string {
		return filepath.Join(dir, "FSRMStateRoot", "RMAppRoot", id.String(), id.String())
	}
	b, err := os.ReadFile(file(id))
	if err != nil {
		t.Fatal(err)
	}
	unknown := protowire.AppendString(protowire.AppendTag(nil, 77, protowire.BytesType), "of a later Hadoop")
	for name, content := range map[string][]byte{file(id): append(b, unknown...), file(bad): []byte("no record")} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.restart()
	if got := w.page("/ws/v1/cluster/info", 200); !strings.Contains(got, `"heddleRecordsSetAside":2`) || !strings.Contains(got, `"record":"application/`+bad.String()+`"`) ||
		!strings.Contains(got, `"rmStateStoreName":"`+recoveryPackage+`FileSystemRMStateStore"`) {
		t.Error(got)
	}
	for path, want := range map[string]string{"/jmx": `"RecordsSetAside" : 2`, "/prom": `records_set_aside`} {
		if got := w.page(path, 200); !strings.Contains(got, want) {
			t.Errorf("%s has no %s", path, want)
		}
	}
	if got := w.page("/cluster/cluster", 200); !strings.Contains(got, bad.String()) {
		t.Error(got)
	}
	must(w.as("alice"), "forceKillApplication", &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(id)}, &pb.KillApplicationResponse{})
	w.d.Stop()
	after, err := os.ReadFile(file(id))
	if err != nil || !bytes.Contains(after, unknown) || bytes.Equal(after, append(b, unknown...)) {
		t.Errorf("%v: %q", err, after)
	}
	if kept, err := os.ReadFile(file(bad)); err != nil || string(kept) != "no record" {
		t.Errorf("%v: %q", err, kept)
	}
}
