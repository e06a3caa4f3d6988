package store

import (
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store/record"
	"github.com/heddle-project/heddle/yarn"
)

// A part has the memory of an earlier one that was freed, if that is large enough, and nothing else of it.
func TestFreedPartsAreUsedAgain(t *testing.T) {
	read := func(a *state.Application) any { return a.User }
	r, s := Options{Read: read}.WithDefaults().Reader(0), NewStream()
	fill := func(p *Part, user string, n int) {
		for i := range n {
			r.ReadApplication([]byte("application_1_0001"), []byte("no record"), p)
			a := state.Application{ID: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(i + 1)}, User: user, Queue: "root.default", Context: []byte(user)}
			value, err := record.Codec{}.Encode(a)
			if err != nil {
				t.Fatal(err)
			}
			r.ReadApplication([]byte(a.ID.String()), value, p)
		}
		if len(p.Applications) != n || len(p.Made) != n || len(p.Quarantined) != n {
			t.Fatalf("%d applications, %d made of them and %d quarantined, want %d each", len(p.Applications), len(p.Made), len(p.Quarantined), n)
		}
		for i, a := range p.Applications {
			if p.Made[i] != any(user) || a.ID.Sequence != int32(i+1) || a.User != user || string(a.Context) != user {
				t.Fatalf("application %d of %d is %+v", i, len(p.Applications), a)
			}
		}
	}
	first := s.NewPart(3)
	fill(&first, "ada", 3)
	taken, at := *first.Applications[0], first.Applications[0]
	s.Free(first)
	larger := s.NewPart(4)
	if fill(&larger, "bob", 5); larger.Applications[0] == at {
		t.Error("a part has less memory than was asked for")
	}
	second := s.NewPart(2)
	if fill(&second, "carol", 2); second.Applications[0] != at {
		t.Error("the memory of a freed part is not used again")
	}
	if taken.User != "ada" || string(taken.Context) != "ada" {
		t.Errorf("what was taken out of a part is now %+v", taken)
	}
	s.End(nil)
	s.Free(larger)
	if third := s.NewPart(1); third.memory == larger.memory {
		t.Error("memory is kept after the end")
	}
}
