package queue

import "testing"

func TestNames(t *testing.T) {
	n := NewNames(0)
	for i, path := range []string{"root", "root.a", "root.a.x", "root.b", "root.b.x", "root.b.y"} {
		n.Add(path, int32(i))
	}
	for name, want := range map[string]int32{"root": 0, "a": 1, "root.a.x": 2, "x": -1, "y": 5, "b.y": -1, "": -1} {
		if got := n.Find(name); got != want {
			t.Errorf("Find(%q) = %d, want %d", name, got, want)
		}
	}
	if !n.Ambiguous("x") || n.Ambiguous("y") || n.Ambiguous("nowhere") {
		t.Error("x alone is ambiguous")
	}
	n.Remove("root.a.x")
	if n.Find("x") != 4 || n.ByPath("root.a.x") != -1 {
		t.Error("x is that of root.b now")
	}
}

func TestSnapshotFindsQueues(t *testing.T) {
	s := NewSnapshot([]Info{{Path: "root"}, {Path: "root.a"}})
	if q, ok := s.ByPath("root.a"); !ok || q.Path != "root.a" {
		t.Error("root.a is not found")
	}
	if _, ok := s.ByPath("root.b"); ok {
		t.Error("root.b is found")
	}
}
