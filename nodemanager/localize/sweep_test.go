package localize

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func plant(t *testing.T, root string, dirs ...string) {
	t.Helper()
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func relative(t *testing.T, root string, paths []string) (out []string) {
	t.Helper()
	for _, p := range paths {
		rel, err := filepath.Rel(root, p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rel)
	}
	slices.Sort(out)
	return out
}

func TestSweep(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "a/usercache/u", "a/filecache/10", "a/nmPrivate", "a/other", "a/filecache_DEL_5", "b/usercache", "b/nmPrivate_DELETED")
	doomed, err := Sweep([]string{filepath.Join(root, "a"), filepath.Join(root, "b"), filepath.Join(root, "missing")}, 77)
	want := []string{"a/filecache_DEL_5", "a/filecache_DEL_77", "a/nmPrivate_DEL_77", "a/usercache_DEL_77", "b/usercache_DEL_77"}
	if got := relative(t, root, doomed); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	entries, err := os.ReadDir(filepath.Join(root, "a"))
	if err != nil || len(entries) != 5 || !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "other" }) {
		t.Error(entries, err)
	}
	if _, err := os.Stat(filepath.Join(root, "a", "filecache_DEL_77", "10")); err != nil {
		t.Error(err)
	}
}

func TestSweepGoesOnAfterAFailure(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "usercache/u", "usercache_DEL_7/x", "nmPrivate")
	doomed, err := Sweep([]string{root}, 7)
	if err == nil || !strings.Contains(err.Error(), "set aside") {
		t.Error(err)
	}
	if got := relative(t, root, doomed); !slices.Equal(got, []string{"nmPrivate_DEL_7", "usercache_DEL_7"}) {
		t.Error(got)
	}
}

func TestLeftovers(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "filecache/10/x", "filecache/11/x", "filecache/12_tmp", "filecache/0/z/13/y", "filecache/0/z/14", "filecache/1/15_tmp", "filecache/notes", "filecache/010",
		"filecache/9", "usercache/u/filecache/10", "usercache/u/filecache/20_tmp", "usercache/u/appcache/application_1_1/filecache/10",
		"usercache/u/appcache/application_1_1/filecache/11", "usercache/u/appcache/application_1_1/container_1/99", "nmPrivate/10", "usercache_DEL_3/u")
	if err := os.Symlink(filepath.Join(root, "nmPrivate"), filepath.Join(root, "usercache", "v")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "nmPrivate"), filepath.Join(root, "filecache", "7")); err != nil {
		t.Fatal(err)
	}
	known := []string{filepath.Join(root, "filecache/10/x"), filepath.Join(root, "filecache/0/z/13/y"), filepath.Join(root, "usercache/u/appcache/application_1_1/filecache/11") + "/"}
	if err := os.MkdirAll(filepath.Join(root, "filecache_DEL_77.3"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := listing(t, root)
	doomed, err := Leftovers([]string{root, filepath.Join(root, "missing")}, known, 78)
	got := relative(t, root, doomed)
	if want := []string{"filecache_DEL_77.3", "filecache_DEL_78.1", "filecache_DEL_78.2", "filecache_DEL_78.3", "filecache_DEL_78.4", "filecache_DEL_78.5",
		"filecache_DEL_78.6", "filecache_DEL_78.7", "usercache_DEL_3"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	after := listing(t, root)
	for _, moved := range []string{"filecache/0/z/14", "filecache/1/15_tmp", "filecache/11", "filecache/12_tmp", "usercache/u/appcache/application_1_1/filecache/10",
		"usercache/u/filecache/10", "usercache/u/filecache/20_tmp"} {
		if _, there := after[moved]; there {
			t.Errorf("%s is where it was", moved)
		}
		maps.DeleteFunc(before, func(name, _ string) bool { return name == moved || strings.HasPrefix(name, moved+"/") })
	}
	maps.DeleteFunc(after, func(name, _ string) bool { return strings.HasPrefix(name, "filecache_DEL_78.") })
	if !maps.Equal(before, after) {
		t.Errorf("it holds %v\nwant %v", after, before)
	}
}

func TestPutAside(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "a/usercache/u/x", "a/nmPrivate/y", "ab/usercache/u/z", "a/usercache_DEL_7.2/q")
	a, ab := filepath.Join(root, "a"), filepath.Join(root, "ab")
	doomed, err := PutAside([]string{a, ab}, []string{a + "/usercache/u/x", a + "/nmPrivate/y", ab + "/usercache/u/z"}, 7)
	if err == nil || !strings.Contains(err.Error(), "set aside "+a+"/nmPrivate/y") {
		t.Error(err)
	}
	if got := relative(t, root, doomed); !slices.Equal(got, []string{"a/nmPrivate/y", "a/usercache_DEL_7.1", "ab/usercache_DEL_7.3"}) {
		t.Error(got)
	}
}
