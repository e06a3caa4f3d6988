package yarn

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Identifiers print as every Hadoop tool prints them, and are read back.
func TestIDs(t *testing.T) {
	app := ApplicationID{1700000000000, 7}
	long := ApplicationID{1, 123456}
	attempt := AttemptID{app, 1}
	for text, id := range map[string]ApplicationID{"application_1700000000000_0007": app, "application_1_123456": long, "application_0_2147483647": {0, math.MaxInt32}} {
		if got, err := ParseApplicationID(text); err != nil || got != id || id.String() != text {
			t.Errorf("%s: %v, %s (%v)", text, got, id, err)
		}
	}
	for text, id := range map[string]AttemptID{"appattempt_1700000000000_0007_000001": attempt, "appattempt_1_123456_1234567": {long, 1234567}} {
		if got, err := ParseAttemptID(text); err != nil || got != id || id.String() != text {
			t.Errorf("%s: %v, %s (%v)", text, got, id, err)
		}
	}
	for text, id := range map[string]ContainerID{
		"container_1700000000000_0007_01_000002":      {attempt, 2},
		"container_e03_1700000000000_0007_01_000002":  {attempt, 3<<EpochShift | 2},
		"container_e123_1700000000000_0007_01_000002": {attempt, 123<<EpochShift | 2},
		"container_1_123456_100_1099511627775":        {AttemptID{long, 100}, 1<<EpochShift - 1},
	} {
		if got, err := ParseContainerID(text); err != nil || got != id || id.String() != text {
			t.Errorf("%s: %v, %s (%v)", text, got, id, err)
		}
	}
	if got, err := ParseNodeID("host-1:8041"); err != nil || got != (NodeID{"host-1", 8041}) || got.String() != "host-1:8041" {
		t.Errorf("node: %v (%v)", got, err)
	}
}

// What is no identifier is refused with the text and what was wanted.
func TestBadIDs(t *testing.T) {
	parsers := map[string]func(string) error{
		"application": func(s string) error { _, err := ParseApplicationID(s); return err },
		"attempt":     func(s string) error { _, err := ParseAttemptID(s); return err },
		"container":   func(s string) error { _, err := ParseContainerID(s); return err },
		"node":        func(s string) error { _, err := ParseNodeID(s); return err },
	}
	for kind, texts := range map[string][]string{
		"application": {"", "application", "application_1", "application_1_2_3", "application_1_-2", "application_+1_2", "application_1_2147483648", "application_9223372036854775808_1", "job_1_2", "application_1_2 "},
		"attempt":     {"", "appattempt_1_2", "appattempt_1_2_x", "application_1_2_3", "appattempt_1_2_3_4"},
		"container":   {"", "container_1_2_3", "container_e_1_2_3_4", "container_e8388608_1_2_3_4", "container_1_2_3_1099511627776", "container_e1_1_2_3_4_5", "container_e-1_1_2_3_4"},
		"node":        {"", "host", ":1", "host:", "host:65536", "host:-1", "host:1:2", "::1:8041"},
	} {
		for _, s := range texts {
			if err := parsers[kind](s); err == nil {
				t.Errorf("%q is no %s", s, kind)
			} else if !strings.Contains(err.Error(), "invalid "+kind) && !strings.Contains(err.Error(), "invalid application attempt") && !strings.Contains(err.Error(), "invalid node") {
				t.Errorf("%q: %v", s, err)
			}
		}
	}
}

// Identifiers are ordered by their parts, the largest first.
func TestCompare(t *testing.T) {
	a := func(ts int64, n int32) ApplicationID { return ApplicationID{ts, n} }
	apps := []ApplicationID{a(1, 2), a(1, 10), a(2, 1), a(10, 1)}
	if !slices.IsSortedFunc(apps, ApplicationID.Compare) || apps[0].Compare(apps[0]) != 0 || apps[3].Compare(apps[0]) <= 0 {
		t.Error("applications")
	}
	containers := []ContainerID{{AttemptID{apps[0], 1}, 9}, {AttemptID{apps[0], 1}, 1 << EpochShift}, {AttemptID{apps[0], 2}, 1}, {AttemptID{apps[1], 1}, 1}}
	if !slices.IsSortedFunc(containers, ContainerID.Compare) {
		t.Error("containers")
	}
	nodes := []NodeID{{"a", 2}, {"a", 10}, {"b", 1}}
	if !slices.IsSortedFunc(nodes, NodeID.Compare) {
		t.Error("nodes")
	}
	if !(ApplicationID{}).IsZero() || a(0, 1).IsZero() || !(AttemptID{}).IsZero() || !(ContainerID{}).IsZero() || containers[0].IsZero() {
		t.Error("zero")
	}
}

// Amounts are added, compared and printed type by type.
func TestResource(t *testing.T) {
	r, s := Resource{1024, 2, 0, 5}, NewResource(24, 1)
	if r.Add(s) != (Resource{1048, 3, 0, 5}) || r.Sub(s) != (Resource{1000, 1, 0, 5}) || r.MemoryMB() != 1024 || r.VCoreCount() != 2 {
		t.Errorf("%v %v", r.Add(s), r.Sub(s))
	}
	if !s.FitsIn(r) || r.FitsIn(s) || !r.FitsIn(r) || NewResource(1, 3).FitsIn(r) || !(Resource{}).IsZero() || r.IsZero() {
		t.Error("comparisons")
	}
	if r.String() != "<memory:1024, vCores:2, #3:5>" || s.String() != "<memory:24, vCores:1>" {
		t.Errorf("%s %s", r, s)
	}
	types := append(BasicResourceTypes(), ResourceType{Name: "yarn.io/gpu"})
	if got := types.Format(Resource{1, 2, 3}); got != "<memory:1, vCores:2, yarn.io/gpu: 3>" {
		t.Error(got)
	}
	if types.Index("yarn.io/gpu") != 2 || types.Index("vcores") != VCores || types.Index("memory-mb") != Memory || types.Index("x") != -1 {
		t.Error("positions of types")
	}
}

// States have Hadoop's names; unknown ones have none.
func TestStates(t *testing.T) {
	for _, s := range PublicStates() {
		if got, ok := ParsePublicState(s.String()); !ok || got != s {
			t.Errorf("%s", s)
		}
	}
	for _, s := range NodeStates() {
		if got, ok := ParseNodeState(s.String()); !ok || got != s || s.Usable() != (s == NodeRunning || s == NodeDecommissioning) {
			t.Errorf("%s", s)
		}
	}
	for s := FinalUndefined; s <= FinalEnded; s++ {
		if got, ok := ParseFinalStatus(s.String()); !ok || got != s {
			t.Errorf("%s", s)
		}
	}
	for _, bad := range []string{"", "running", "UNKNOWN"} {
		if _, ok := ParsePublicState(bad); ok {
			t.Errorf("%q is a state of applications", bad)
		}
		if _, ok := ParseNodeState(bad); ok {
			t.Errorf("%q is a state of nodes", bad)
		}
		if _, ok := ParseFinalStatus(bad); ok {
			t.Errorf("%q is a final status", bad)
		}
	}
	for _, s := range []string{ApplicationState(200).String(), AttemptState(200).String(), ContainerState(200).String(), NodeState(200).String(), PublicState(200).String(), FinalStatus(200).String()} {
		if s != "UNKNOWN" {
			t.Errorf("a state that does not exist is %q", s)
		}
	}
	if AppKilled.String() != "KILLED" || AttemptLaunchedUnmanagedSaving.String() != "LAUNCHED_UNMANAGED_SAVING" || ContainerKilled.String() != "KILLED" || NodeShutdown.String() != "SHUTDOWN" {
		t.Error("the last names of the lists")
	}
	for s := AppNew; s <= AppKilled; s++ {
		if s.Final() != (s >= AppFinished) {
			t.Errorf("application %s", s)
		}
	}
	for s := AttemptNew; s <= AttemptKilled; s++ {
		if s.Final() != (s >= AttemptFinished) {
			t.Errorf("attempt %s", s)
		}
	}
	if ContainerRunning.Final() || !ContainerCompleted.Final() {
		t.Error("ends of containers")
	}
	if Guaranteed.String() != "GUARANTEED" || Opportunistic.String() != "OPPORTUNISTIC" {
		t.Error("execution types")
	}
	if !(Reason{}).OK() || (Reason{Code: "x"}).OK() {
		t.Error("reasons")
	}
}

// FuzzParse reads texts as every kind of identifier: what is read prints as
// something that is read as the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"application_1_0002", "appattempt_1_0002_000003", "container_1_0002_03_000004", "container_e05_1_0002_03_000004", "host:1", "container_e00_01_2_3_4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseApplicationID(s); err == nil {
			if again, err := ParseApplicationID(id.String()); err != nil || again != id {
				t.Errorf("%q: %v (%v)", s, again, err)
			}
		}
		if id, err := ParseAttemptID(s); err == nil {
			if again, err := ParseAttemptID(id.String()); err != nil || again != id {
				t.Errorf("%q: %v (%v)", s, again, err)
			}
		}
		if id, err := ParseContainerID(s); err == nil {
			if again, err := ParseContainerID(id.String()); err != nil || again != id {
				t.Errorf("%q: %v (%v)", s, again, err)
			}
		}
		if id, err := ParseNodeID(s); err == nil {
			if again, err := ParseNodeID(id.String()); err != nil || again != id {
				t.Errorf("%q: %v (%v)", s, again, err)
			}
		}
	})
}

// An application's id is appended as it is written.
func TestAppendApplicationID(t *testing.T) {
	for _, n := range []int32{0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10000, 1<<31 - 1} {
		id := ApplicationID{ClusterTimestamp: 1700000000000, Sequence: n}
		if got := string(id.Append([]byte("x "))); got != "x "+id.String() {
			t.Errorf("%q, want %q", got, id.String())
		}
	}
}
