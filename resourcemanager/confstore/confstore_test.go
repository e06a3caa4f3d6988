package confstore_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/confstore/confstoretest"
)

func TestMemory(t *testing.T) {
	confstoretest.Run(t, confstoretest.Kind{Forgets: true, Place: func(*rapid.T) func() (confstore.Store, error) {
		return func() (confstore.Store, error) { return confstore.NewMemory(), nil }
	}})
}

// place is a new directory for each example of rapid.
func place(t *testing.T, rt *rapid.T) string {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		rt.Fatal(err)
	}
	return dir
}

func TestBolt(t *testing.T) {
	confstoretest.Run(t, confstoretest.Kind{Place: func(rt *rapid.T) func() (confstore.Store, error) {
		path := filepath.Join(place(t, rt), "confstore", "conf.db")
		return func() (confstore.Store, error) { return confstore.OpenBolt(path) }
	}})
}

// TestAt: every version that is kept can be had again.
func TestAt(t *testing.T) {
	s := &confstore.State{}
	var all []map[string]string
	for i := range confstore.MaxHistory + 20 {
		v := map[string]string{"n": string(rune('a' + i%26)), "k" + string(rune('a'+i%7)): "x"}
		s.Accept(v, confstore.Version{User: "u"})
		all = append(all, v)
	}
	if len(s.History) != confstore.MaxHistory {
		t.Fatalf("%d changes are kept", len(s.History))
	}
	for n := s.History[0].Number; n <= s.Version; n++ {
		got, err := s.At(n)
		if err != nil || !maps.Equal(got, all[n-1]) {
			t.Fatalf("version %d is %v (%v), want %v", n, got, err, all[n-1])
		}
	}
	for _, n := range []int64{0, s.History[0].Number - 1, s.Version + 1} {
		if _, err := s.At(n); err == nil {
			t.Errorf("version %d is there", n)
		}
	}
}

// TestBounds: only the latest attempts are kept.
func TestBounds(t *testing.T) {
	s := &confstore.State{}
	for i := range int64(10) {
		s.Note(confstore.Attempt{At: i}, 3)
	}
	if len(s.Attempts) != 3 || s.Attempts[0].At != 7 {
		t.Errorf("%+v", s.Attempts)
	}
	if s.Note(confstore.Attempt{}, -1); len(s.Attempts) != 0 {
		t.Errorf("%+v", s.Attempts)
	}
}
