package resourcemanager

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
)

// A store is formatted, and loses single applications, while no ResourceManager uses it; also one that is damaged is formatted.
func TestFormatStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.heddle.state-store.path", path)
	alice := w.as("alice")
	gone, kept := alice.submit(unmanaged), alice.submit(unmanaged)
	o := Options{Load: w.load, Dir: w.dir, User: operator, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	try := func(err error, out *bytes.Buffer, fails, says string) {
		t.Helper()
		if fails == "" && err != nil || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) || !strings.Contains(out.String(), says) {
			t.Errorf("%v, want %q; said %q, want %q", err, fails, out, says)
		}
	}
	remove := func(id, fails, says string) {
		t.Helper()
		var out bytes.Buffer
		try(RemoveFromStore(o, id, &out), &out, fails, says)
	}
	format := func(fails, says string) {
		t.Helper()
		var out bytes.Buffer
		try(FormatStore(o, &out), &out, fails, says)
	}
	remove(gone.String(), "is a ResourceManager running already?", "")
	format("is a ResourceManager running already?", "")
	w.d.Stop()
	remove("application_x", "application_x", "")
	remove("application_1_0001", "application_1_0001 is not in the state store "+path, "")
	remove(gone.String(), "", gone.String()+" is removed from the state store "+path)
	remove(gone.String(), "is not in the state store", "")
	applications := func(want ...string) {
		t.Helper()
		store, err := bolt.Open(path, bolt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		snapshot, err := store.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range snapshot.Applications {
			got = append(got, snapshot.Applications[i].ID.String())
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q in the store, want %q", got, want)
		}
	}
	applications(kept.String())

	if err := os.Truncate(path, 5000); err != nil { // damaged
		t.Fatal(err)
	}
	format("", "the next start begins with an empty one")
	aside, err := filepath.Glob(path + ".formatted-*Z")
	if err != nil || len(aside) != 1 {
		t.Errorf("%q %v", aside, err)
	}
	format("", "there is no state store at "+path)
	remove(kept.String(), "no such file", "")
	applications()
	if err := os.Remove(path); err != nil { // its witness is there still
		t.Fatal(err)
	}
	if _, err := w.start(); err == nil {
		t.Error("started without the store that there was")
	}
	format("", "its file was gone already")
	applications()
}
