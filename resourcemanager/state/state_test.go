package state

import (
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

func app(n int32) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: 1700000000000, Sequence: n}
}

func attempt(n, k int32) yarn.AttemptID { return yarn.AttemptID{Application: app(n), Attempt: k} }

func TestKeys(t *testing.T) {
	seen := map[Table]bool{}
	for want, r := range map[string]Record{
		"application/application_1700000000000_0007":      Application{ID: app(7)},
		"attempt/appattempt_1700000000000_0007_000002":    Attempt{ID: attempt(7, 2)},
		"amrm-keys/current":                               MasterKeys{},
		"delegation-key/12":                               DelegationKey{ID: 12},
		"delegation-token/13":                             DelegationToken{Sequence: 13},
		"delegation-sequence/current":                     DelegationSequence{Last: 3},
		"node-deadline/n1:8041":                           NodeDeadline{Node: yarn.NodeID{Host: "n1", Port: 8041}},
		"configuration/current":                           ConfigVersion{Version: 8},
		"labels/current":                                  Labels{},
		"reservation/reservation_1700000000000_0004":      Reservation{ID: yarn.ReservationID{ClusterTimestamp: 1700000000000, Number: 4}},
		"application/application_1700000000000_123456789": Application{ID: app(123456789)},
	} {
		if got := r.Key().String(); got != want {
			t.Errorf("key %s, want %s", got, want)
		}
		seen[r.Key().Table] = true
	}
	if len(Tables()) != len(seen) {
		t.Errorf("Tables() has %d of %d tables", len(Tables()), len(seen))
	}
	for _, table := range Tables() {
		if !seen[table] {
			t.Errorf("table %s has no record", table)
		}
	}
}

func TestAttemptPrefix(t *testing.T) {
	for _, c := range []struct {
		of, attempt int32
		want        bool
	}{{1, 1, true}, {1, 10, false}, {10, 1, false}, {1000, 10000, false}, {10000, 10000, true}} {
		name := Attempt{ID: attempt(c.attempt, 1234567)}.Key().Name
		if got := strings.HasPrefix(name, AttemptPrefix(app(c.of))); got != c.want {
			t.Errorf("%s has prefix %s: %v", name, AttemptPrefix(app(c.of)), got)
		}
	}
}

func TestCheck(t *testing.T) {
	for want, op := range map[string]Op{
		"":                         Put(Application{}),
		"change of unknown kind 0": {Record: Application{}},
		"change without a record":  Remove(nil),
		"change of a *state.MasterKeys: records are given by value": Put(&MasterKeys{}),
	} {
		if err := op.Check(); (want == "") != (err == nil) || err != nil && err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if got := RemoveAttempt(attempt(7, 1)).String(); got != "remove attempt/appattempt_1700000000000_0007_000001" {
		t.Error(got)
	}
}

func TestFinish(t *testing.T) {
	var s Snapshot
	for _, r := range []Record{Attempt{ID: attempt(2, 2)}, Attempt{ID: attempt(10, 1)}, Application{ID: app(10)}, Attempt{ID: attempt(3, 1)},
		Attempt{ID: attempt(2, 1)}, Application{ID: app(2)}, DelegationSequence{Last: 4}, DelegationToken{Sequence: 10},
		DelegationToken{Sequence: 9}, DelegationKey{ID: 2}, DelegationKey{ID: 1},
		NodeDeadline{Node: yarn.NodeID{Host: "b"}}, NodeDeadline{Node: yarn.NodeID{Host: "a", Port: 9}},
		Labels{Known: []NodeLabel{{Name: "x"}}}} {
		s.Add(r)
	}
	s.Quarantine(Key{Applications, "application_1_0001"}, "broken")
	s.Finish()
	want := Snapshot{
		Applications:       []*Application{{ID: app(2)}, {ID: app(10)}},
		Attempts:           []Attempt{{ID: attempt(2, 1)}, {ID: attempt(2, 2)}, {ID: attempt(10, 1)}},
		DelegationKeys:     []DelegationKey{{ID: 1}, {ID: 2}},
		DelegationTokens:   []DelegationToken{{Sequence: 9}, {Sequence: 10}},
		DelegationSequence: 10, // never below a token that exists
		NodeDeadlines:      []NodeDeadline{{Node: yarn.NodeID{Host: "a", Port: 9}}, {Node: yarn.NodeID{Host: "b"}}},
		Labels:             Labels{Known: []NodeLabel{{Name: "x"}}},
		Quarantined: []Quarantined{{Key{Applications, "application_1_0001"}, "broken"},
			{Key{Attempts, "appattempt_1700000000000_0003_000001"}, "its application application_1700000000000_0003 is missing or quarantined"}},
	}
	if !reflect.DeepEqual(s, want) {
		t.Fatalf("got  %+v\nwant %+v", s, want)
	}
}

func TestEpochs(t *testing.T) {
	for _, c := range []struct {
		e          Epochs
		from, want int64
		valid      bool
	}{
		{Epochs{}, 0, 1, true},
		{Epochs{}, EpochLimit - 1, 0, true},
		{Epochs{Base: 10, Range: 3}, 12, 10, true},
		{Epochs{Base: 10, Range: 3}, 11, 12, true},
		{Epochs{Base: 10}, EpochLimit - 1, 10, true},
		{Epochs{Base: 10}, 9, 10, false},
		{Epochs{}, EpochLimit, 1, false},
	} {
		if got := c.e.Next(c.from); got != c.want || c.e.Valid(c.from) != c.valid {
			t.Errorf("%+v: after %d comes %d, want %d; valid %v", c.e, c.from, got, c.want, !c.valid)
		}
	}
	last := yarn.ContainerID{Attempt: attempt(1, 1), Number: (EpochLimit-1)<<yarn.EpochShift | 1}
	if last.Number < 0 || last.Number>>yarn.EpochShift != EpochLimit-1 {
		t.Errorf("the last epoch does not fit into %d", last.Number)
	}
}

// Finish keeps what was made of an application at the index of the application.
func TestFinishKeepsMade(t *testing.T) {
	var s Snapshot
	for _, n := range []int32{3, 10001, 1, 2} {
		s.Applications = append(s.Applications, &Application{ID: yarn.ApplicationID{ClusterTimestamp: 7, Sequence: n}})
		s.Made = append(s.Made, n)
	}
	s.Finish()
	for i, a := range s.Applications {
		if want := []int32{1, 2, 3, 10001}[i]; a.ID.Sequence != want || s.Made[i] != want {
			t.Errorf("place %d has application %d and what was made of %v, want %d", i, a.ID.Sequence, s.Made[i], want)
		}
	}
}
