package leveldb_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"golang.org/x/sys/unix"

	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	reader "github.com/heddle-project/heddle/resourcemanager/store/leveldb"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
	"github.com/heddle-project/heddle/yarn"
)

var codec = apache.Codec{Types: storetest.Types()}

func options() store.Options { return store.Options{Types: storetest.Types()} }

// name is a record's key in LevelDB.
func name(t *testing.T, r state.Record) (string, bool) {
	t.Helper()
	key := r.Key()
	switch key.Table {
	case state.Applications:
		return apache.Applications + "/" + key.Name, true
	case state.Attempts:
		id, err := yarn.ParseAttemptID(key.Name)
		if err != nil {
			t.Fatal(err)
		}
		return apache.Applications + "/" + id.Application.String() + "/" + key.Name, true
	case state.AMRMKeys:
		return apache.AMRM, true
	case state.DelegationKeys:
		return apache.Delegation + "/" + apache.KeyPrefix + key.Name, true
	case state.DelegationTokens:
		return apache.Delegation + "/" + apache.TokenPrefix + key.Name, true
	case state.DelegationSequences:
		return apache.Delegation + "/RMDTSequentialNumber", true
	case state.Reservations:
		return apache.Reservations + "/" + r.(state.Reservation).Plan + "/" + key.Name, true
	}
	return "", false // none that Hadoop has
}

// written is a database with records, and what is read of it.
func written(t *testing.T, more ...string) (dir string, want *state.Snapshot) {
	t.Helper()
	dir = t.TempDir()
	db, err := leveldb.OpenFile(filepath.Join(dir, "yarn-rm-state"), nil)
	if err != nil {
		t.Fatal(err)
	}
	version, _ := apache.EncodeVersion(1, 1)
	epoch, _ := apache.EncodeEpoch(7)
	values := map[string][]byte{apache.Version: version, apache.Epoch: epoch, apache.ProxyCA + "/caCert": []byte("x")}
	model := storetest.Model{}
	for _, r := range storetest.Everything() {
		key, ok := name(t, r)
		if !ok {
			continue
		}
		if values[key], err = codec.Encode(r); err != nil {
			t.Fatal(err)
		}
		model.Apply(storetest.Puts(r))
	}
	for i := 0; i+1 < len(more); i += 2 {
		values[more[i]] = []byte(more[i+1])
	}
	names := slices.Sorted(maps.Keys(values))
	slices.SortStableFunc(names, func(a, b string) int { return strings.Index(b, "Node") - strings.Index(a, "Node") }) // version and epoch first
	for _, key := range names {
		if err := db.Put([]byte(key), values[key], &opt.WriteOptions{Sync: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	want = model.Snapshot(7)
	apache.Settle(want)
	return dir, want
}

// TestRead: everything is read, from the directory or the one above it, and nothing is changed.
func TestRead(t *testing.T) {
	dir, want := written(t)
	for _, d := range []string{dir, filepath.Join(dir, "yarn-rm-state")} {
		before := listed(t, dir)
		got, _, err := reader.Read(d, options())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read %d records and %v, want %d", len(got.Ops()), got.Quarantined, len(want.Ops()))
		}
		if after := listed(t, dir); !reflect.DeepEqual(after, before) {
			t.Errorf("files were %v and are %v", before, after)
		}
	}
}

func listed(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestQuarantine: records that cannot be used are named, and the others are there.
func TestQuarantine(t *testing.T) {
	app := storetest.AppID(1).String()
	dir, want := written(t, "RMAppRoot/application_x", "", "RMAppRoot/"+app+"/appattempt_9_0009_000001", "", "RMDTSecretManagerRoot/DelegationKey_77", "no key",
		"RMDTSecretManagerRoot/RMDelegationToken_x", "")
	got, _, err := reader.Read(dir, options())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, q := range got.Quarantined {
		if q.Reason == "" {
			t.Errorf("%s for no reason", q.Key)
		}
		names = append(names, q.Key.Name)
	}
	if len(names) != 4 || len(got.Applications) != len(want.Applications) || len(got.DelegationKeys) != len(want.DelegationKeys) {
		t.Errorf("quarantined %q, %d applications of %d", names, len(got.Applications), len(want.Applications))
	}
}

// TestRefuses what is no such store, is one of another version, or in use.
func TestRefuses(t *testing.T) {
	refused := func(dir, why string) {
		t.Helper()
		if s, _, err := reader.Read(dir, options()); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v, %v, want %q", s, err, why)
		}
	}
	refused(t.TempDir(), "there is no LevelDB")
	other, _ := apache.EncodeVersion(2, 0)
	dir, _ := written(t, apache.Version, string(other))
	refused(dir, "its version is 2.0")

	dir, _ = written(t)
	f, err := os.OpenFile(filepath.Join(dir, "yarn-rm-state", "LOCK"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	refused(dir, "is in use")
	f.Close()
	if _, _, err := reader.Read(dir, options()); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "yarn-rm-state", manifest(t, dir))); err != nil {
		t.Fatal(err)
	}
	refused(dir, "its manifest is not there")
}

func manifest(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "yarn-rm-state", "CURRENT"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// TestApaches reads a directory that Apache's ResourceManager left behind when it was killed -9, as test/compat/record-leveldb records
// it: everything is there that it said of its applications just before.
func TestApaches(t *testing.T) {
	f, err := os.Open("testdata/apache.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := golden.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, packed); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "apps.json"))
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Apps struct {
			App []struct{ ID, User, Queue, State, FinalStatus string }
		}
	}
	if err := json.Unmarshal(text, &said); err != nil {
		t.Fatal(err)
	}
	got, odd, err := reader.Read(dir, store.Options{})
	if err != nil || len(odd) > 0 || len(got.Quarantined) > 0 {
		t.Fatalf("%v, odd %q, quarantined %v", err, odd, got.Quarantined)
	}
	apps := map[string]*state.Application{}
	for _, a := range got.Applications {
		apps[a.ID.String()] = a
	}
	for _, want := range said.Apps.App {
		a, ok := apps[want.ID]
		if !ok {
			t.Errorf("%s is not there", want.ID)
			continue
		}
		final := a.Final.String()
		if a.Final == yarn.AppNew {
			final = "ACCEPTED RUNNING"
		}
		if queue := strings.TrimPrefix(a.Queue, "root."); a.User != want.User || queue != strings.TrimPrefix(want.Queue, "root.") || !strings.Contains(final, want.State) || a.FinalStatus.String() != want.FinalStatus {
			t.Errorf("%s is %s of %s in %s, %s; Apache said %+v", want.ID, final, a.User, a.Queue, a.FinalStatus, want)
		}
	}
	counts := fmt.Sprintf("epoch %d, %d applications, %d attempts, %d keys, %d tokens, sequence %d, %d reservations", got.Epoch, len(got.Applications), len(got.Attempts),
		len(got.DelegationKeys), len(got.DelegationTokens), got.DelegationSequence, len(got.Reservations))
	if want := "epoch 1, 9 applications, 9 attempts, 2 keys, 1 tokens, sequence 1, 1 reservations"; counts != want {
		t.Errorf("%s, want %s", counts, want)
	}
	if len(got.MasterKeys.Current.Bytes) == 0 || got.Reservations[0].Plan == "" {
		t.Errorf("%+v %+v", got.MasterKeys, got.Reservations)
	}
}

// TestTornAndSpoilt: the log may end anywhere, as a process that is killed leaves it, and what stands before its end is read. A log with
// one bit that is another one is refused, unless that looks like such an end, which is told.
func TestTornAndSpoilt(t *testing.T) {
	dir, whole := written(t)
	logs, err := filepath.Glob(filepath.Join(dir, "yarn-rm-state", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%q %v", logs, err)
	}
	was, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for size := range len(was) {
		if size%7 != 0 && size < len(was)-200 {
			continue
		}
		if err := os.WriteFile(logs[0], was[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, err := reader.Read(dir, options())
		if err != nil {
			if strings.Contains(err.Error(), "has no RMVersionNode") {
				continue // it was not written yet
			}
			t.Fatalf("the first %d of %d bytes: %v", size, len(was), err)
		}
		n := len(got.Ops()) + len(got.Quarantined)
		if n < last || n > len(whole.Ops()) {
			t.Errorf("the first %d bytes have %d records, fewer ones had %d", size, n, last)
		}
		last = n
	}
	told := 0
	for at := 3; at < len(was); at += 11 {
		bad := append([]byte(nil), was...)
		bad[at] ^= 4
		if err := os.WriteFile(logs[0], bad, 0o600); err != nil {
			t.Fatal(err)
		}
		var damage *store.DamagedError
		_, odd, err := reader.Read(dir, options())
		if err == nil && len(odd) == 1 && strings.Contains(odd[0], "were passed over") {
			told++
			continue
		}
		if err == nil || !errors.As(err, &damage) {
			t.Errorf("byte %d of %d: %v", at, len(was), err)
		}
	}
	if told > 60 { // most of them in the last record
		t.Errorf("%d bits looked like the end of a write", told)
	}
}
