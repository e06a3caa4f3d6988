package resourcemanager

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/syndtr/goleveldb/leveldb"

	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// TestImportStore: what stands in Apache's LevelDB is served after one command, with the epoch of that; a store that has something is
// left alone.
func TestImportStore(t *testing.T) {
	was, to, from := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "store"), t.TempDir()
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", storePath, was, levelPath, from)
	alice := w.as("alice")
	lives, killed := alice.submit(unmanaged), alice.submit(unmanaged)
	until(t, "the kill", func() bool {
		return must(alice, "forceKillApplication", &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(killed)}, &pb.KillApplicationResponse{}).GetIsKillCompleted()
	})
	o := Options{Load: w.load, Dir: w.dir, User: operator, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	var out bytes.Buffer
	imports := func(why string) {
		t.Helper()
		if err := ImportStore(o, &out); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("imported: %v, want %q", err, why)
		}
	}
	imports("there is no LevelDB in " + from)
	toLevelDB(t, was, filepath.Join(from, "yarn-rm-state"))
	imports("is a ResourceManager running already?")
	w.d.Stop()
	imports("is not empty: nothing was imported")

	w.set(storePath, to)
	if err := ImportStore(o, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{": 2 applications, 2 attempts,", "not imported: application/application_1_0009: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("said %q, want %q", out.String(), want)
		}
	}
	d, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	w.d = d
	t.Cleanup(d.Stop)
	alice = w.as("alice")
	alice.reaches(lives, pb.YarnApplicationState_ACCEPTED)
	alice.reaches(killed, pb.YarnApplicationState_KILLED)
	if !strings.Contains(w.log.String(), "epoch=42") {
		t.Error("the epoch does not follow that of the directory")
	}
}

// TestImportApaches: a directory that Apache's ResourceManager has left is whole in a store of either form.
func TestImportApaches(t *testing.T) {
	f, err := os.Open("store/leveldb/testdata/apache.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := golden.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	from := t.TempDir()
	if err := os.CopyFS(from, packed); err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"", "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"} {
		w := &world{t: t, dir: t.TempDir(), site: site("yarn.resourcemanager.recovery.enabled", "true", storePath, filepath.Join(t.TempDir(), "store"),
			"yarn.resourcemanager.fs.state-store.uri", "file://"+filepath.Join(t.TempDir(), "store"), levelPath, from), log: &journalLog{}}
		if class != "" {
			w.set("yarn.resourcemanager.store.class", class)
		}
		o := Options{Load: w.load, Dir: w.dir, User: operator, Log: slog.New(slog.NewTextHandler(w.log, nil))}
		var out bytes.Buffer
		if err := ImportStore(o, &out); err != nil {
			t.Fatal(err)
		}
		if want := ": 9 applications, 9 attempts, 1 delegation tokens, 1 reservations\n"; !strings.HasSuffix(out.String(), want) {
			t.Errorf("said %q, want %q", out.String(), want)
		}
		r, err := storeOf(o)
		if err != nil {
			t.Fatal(err)
		}
		s, got, err := r.load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if len(got.Quarantined) > 0 || len(got.Applications) != 9 || len(got.Attempts) != 9 || len(got.DelegationKeys) != 2 || len(got.Reservations) != 1 || got.Epoch != 2 {
			t.Errorf("%q: quarantined %v, %d records, epoch %d", class, got.Quarantined, len(got.Ops()), got.Epoch)
		}
	}
}

// toLevelDB writes what a store has into a LevelDB as Apache's would, and a record that is none.
func toLevelDB(t *testing.T, path, to string) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy") // its owner still runs
	for _, suffix := range []string{"", ".witness"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := bolt.Open(copied, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	snapshot, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	version, _ := apache.EncodeVersion(1, 1)
	epoch, _ := apache.EncodeEpoch(41)
	values := map[string][]byte{apache.Version: version, apache.Epoch: epoch, "RMAppRoot/application_1_0009": []byte("no record")}
	for _, op := range snapshot.Ops() {
		key := op.Record.Key()
		name := map[state.Table]string{state.Applications: "RMAppRoot/" + key.Name, state.DelegationKeys: "RMDTSecretManagerRoot/DelegationKey_" + key.Name,
			state.AMRMKeys: apache.AMRM}[key.Table]
		if a, ok := op.Record.(state.Attempt); ok {
			name = "RMAppRoot/" + a.ID.Application.String() + "/" + key.Name
		}
		if name == "" {
			t.Fatalf("there is a %s", key)
		}
		if values[name], err = (apache.Codec{Types: yarn.BasicResourceTypes()}).Encode(op.Record); err != nil {
			t.Fatal(err)
		}
	}
	db, err := leveldb.OpenFile(to, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range values {
		if err := db.Put([]byte(name), value, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
