package confstore_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/confstore/confstoretest"
)

func openFS(dir string, versions int) (confstore.Store, error) {
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		return nil, err
	}
	url, err := filesystem.ParseURL("file://" + dir)
	if err != nil {
		return nil, err
	}
	return confstore.OpenFS(context.Background(), confstore.FSOptions{Systems: systems, URL: url, User: "yarn", Versions: versions,
		Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) }})
}

func TestFS(t *testing.T) {
	confstoretest.Run(t, confstoretest.Kind{Place: func(rt *rapid.T) func() (confstore.Store, error) {
		dir := filepath.Join(place(t, rt), "schedconf")
		return func() (confstore.Store, error) { return openFS(dir, 3) }
	}})
}

// TestFSCrash: a commit that ends after any of its files has happened or has not.
func TestFSCrash(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := openFS(dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		before := filesOf(t, dir)
		next := now.Clone()
		next.Accept(map[string]string{"n": strings.Repeat("x", i+1)}, confstore.Version{User: "alice"})
		if err := s.Commit(ctx, now.Version, next); err != nil {
			t.Fatal(err)
		}
		after := filesOf(t, dir)
		for _, order := range orders(before, after) {
			half := t.TempDir()
			for name, text := range order {
				if err := os.WriteFile(filepath.Join(half, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			again, err := openFS(half, 2)
			if err != nil {
				t.Fatal(err)
			}
			found, err := again.Load(ctx)
			if err != nil {
				t.Fatal(err)
			}
			want := now
			if found.Version == next.Version {
				want = next
			}
			if found.Version != want.Version || len(confstore.Diff(found.Values, want.Values)) > 0 || len(found.History) != len(want.History) {
				t.Fatalf("after a crash with %v: version %d %v, %d changes", names(order), found.Version, found.Values, len(found.History))
			}
		}
		now = next
	}
	var kept []string
	for name := range filesOf(t, dir) {
		if strings.HasPrefix(name, "capacity-scheduler.xml.") {
			kept = append(kept, name)
		}
	}
	if len(kept) != 3 { // one more than configured, as in Apache
		t.Errorf("%v are kept", kept)
	}
}

// orders are the directories that a commit passes through: its own history, then the configuration, then the version, then what it removes.
func orders(before, after map[string]string) (out []map[string]string) {
	now := map[string]string{}
	for k, v := range before {
		now[k] = v
	}
	add := func(match string) {
		for k, v := range after {
			if strings.HasPrefix(k, match) && before[k] != v {
				now[k] = v
			}
		}
		c := map[string]string{"capacity-scheduler.xml.9999999999999.tmp": "<conf"}
		for k, v := range now {
			c[k] = v
		}
		out = append(out, c)
	}
	add("heddle-history.")
	add("capacity-scheduler.xml.")
	add("ConfigVersion")
	return out
}

func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range list {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name()] = string(text)
	}
	return out
}

func names(files map[string]string) (out []string) {
	for name := range files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// TestFSOfApache: a directory that Hadoop's ResourceManager has written, with its sums of bytes.
func TestFSOfApache(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"capacity-scheduler.xml.1795691643805": `<?xml version="1.0" encoding="UTF-8" standalone="no"?><configuration>` + "\n" +
			`<property><name>a</name><value>1</value><final>false</final><source>programmatically</source></property>` + "\n</configuration>\n",
		"capacity-scheduler.xml.1795691690345": `<?xml version="1.0" encoding="UTF-8" standalone="no"?><configuration>` + "\n" +
			`<property><name>a</name><value> 2 </value><final>false</final><source>programmatically</source></property>` + "\n</configuration>\n",
		"ConfigVersion":      "\x00\x00\x00\x00\x00\x00\x00\x1e",
		".ConfigVersion.crc": "crc",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := openFS(dir, 100)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Load(t.Context())
	if err != nil || found.Version != 30 || found.Values["a"] != " 2 " {
		t.Fatalf("%+v %v", found, err)
	}
	next := found.Clone()
	next.Accept(map[string]string{"a": "3"}, confstore.Version{User: "alice"})
	if err := s.Commit(t.Context(), 30, next); err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, dir)
	if files["ConfigVersion"] != "\x00\x00\x00\x00\x00\x00\x00\x1f" || files[".ConfigVersion.crc"] != "" {
		t.Errorf("the version is %x, with sums %q", files["ConfigVersion"], files[".ConfigVersion.crc"])
	}
	if back, err := s.Load(t.Context()); err != nil || back.Version != 31 || back.Values["a"] != "3" || len(back.History) != 2 {
		t.Errorf("%+v %v", back, err)
	}
}
