package engine

import (
	"slices"
	"testing"

	"github.com/heddle-project/heddle/nodemanager/state"
)

// Records may fit together as no daemon has written them: what still runs is followed all the same, and its directories stay.
func TestRecoverEnding(t *testing.T) {
	s := newScript(t)
	s.run([]string{"disks", "/d1", "/l1"})
	app := s.app("1")
	waits, runs := s.spec([]string{"1/1/1"}), s.spec([]string{"1/1/2"})
	r := Recover{Applications: []state.Application{{ID: app, User: "ann", Finished: true}}, Containers: []Recovered{
		{Kept: state.Container{ID: waits.ID, Killed: KilledAfterCompletion}, Spec: waits},
		{Kept: state.Container{ID: runs.ID, Tries: 1, WorkDir: "/d1/w"}, Spec: runs}}}
	cleared := func(fx []Effect) bool {
		return slices.ContainsFunc(fx, func(x Effect) bool { _, ok := x.(Clear); return ok })
	}
	if cleared(s.apply(r)) {
		t.Error("directories are deleted under a container")
	}
	if bad := recount(s.engine); bad != "" {
		t.Error(bad)
	}
	if !cleared(s.apply(Exited{runs.ID, 143, ""})) {
		t.Error("and never afterwards")
	}
}

// Of two records of one resource the later counts, and the other's copy is deleted.
func TestRecoverTwins(t *testing.T) {
	s := newScript(t)
	s.run([]string{"disks", "/d1", "/l1"})
	fx := s.apply(Recover{Resources: []state.Resource{{Number: 1, Key: "a", Dir: "/d1/filecache/10", Place: 10}, {Number: 2, Key: "a", Dir: "/d1/filecache/11", Place: 11}}})
	if len(fx) != 2 || describe(fx[0]) != "keep state.DropResource" || describe(fx[1]) != "remove /d1/filecache/10 debug=false" {
		t.Errorf("%v", fx)
	}
	if bad := recount(s.engine); bad != "" || len(s.engine.cache.byNumber) != 1 {
		t.Errorf("%v, %s", s.engine.cache.byNumber, bad)
	}
}
