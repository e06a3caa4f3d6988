package replica_test

import (
	"errors"
	"testing"

	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/internal/replica/replicatest"
)

func put(key, value string) replica.Batch {
	return replica.Batch{Changes: []replica.Change{{Bucket: "data", Key: key, Value: []byte(value)}}}
}

// has waits until a member has a value.
func has(t testing.TB, m *replica.Member, key, value string) {
	t.Helper()
	replicatest.Until(t, key, func() bool {
		got := ""
		if err := m.View(func(r replica.Reader) error { got = string(r.Get("data", key)); return nil }); err != nil {
			t.Fatal(err)
		}
		return got == value
	})
}

func commit(t testing.TB, m *replica.Member, key, value string) {
	t.Helper()
	if err := m.Commit(t.Context(), put(key, value)); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

func TestLeaderEnds(t *testing.T) {
	g := replicatest.New(t, t.TempDir(), 3)
	g.Open(g.Names...)
	gone, first := g.Leader()
	commit(t, first, "a", "1")
	for _, m := range g.Members {
		has(t, m, "a", "1")
	}
	g.Close(gone)
	_, second := g.Leader()
	commit(t, second, "b", "2")
	g.Open(gone)
	has(t, g.Members[gone], "b", "2")
	if err := g.Members[gone].Commit(t.Context(), put("c", "3")); !errors.Is(err, replica.ErrNotLeader) {
		t.Fatalf("got %v", err)
	}
}
