package engine

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// nodeStates are the states in which a node is brought, with the commands that do it. What the scheduler uses has a plus.
var nodeStates = []struct{ name, is, by string }{
	{"running", "RUNNING+", ""},
	{"ill", "UNHEALTHY", "beat h1 run=a1/1/2,a1/1/3 unhealthy=disk"},
	{"drains", "DECOMMISSIONING+", "drain h1"},
	{"ill, drains", "DECOMMISSIONING", "beat h1 run=a1/1/2,a1/1/3 unhealthy=disk; drain h1"},
	{"excluded", "DECOMMISSIONED", "exclude h1"},
	{"lost", "LOST", "expire h1"},
	{"rebooted", "REBOOTED", "beat h1 id=7"},
	{"left", "SHUTDOWN", "leave h1"},
}

// beforeStates has a master on h2 with two containers that run on h1.
const beforeStates = `node h2 4096x4; submit a1 ann default 1024x1; beat h2; launched a1/1; register a1/1; node h1 4096x4;
	allocate a1/1 ask=1:1024x1:2; beat h1; allocate a1/1; beat h1 run=a1/1/2,a1/1/3`

// Cells of the table below.
const (
	run = "RUNNING+"
	ill = "UNHEALTHY"
	ing = "DECOMMISSIONING+"
	iin = "DECOMMISSIONING" // was ill before, so the scheduler does not use it
	dec = "DECOMMISSIONED"
	los = "LOST"
	reb = "REBOOTED"
	shu = "SHUTDOWN"
)

// nodeEvents are what happens to a node in each of the states: what it is afterwards, "=" if that is what it was, and what is said by the
// commands in some of the states. Comments say where Apache's ResourceManager does something else.
var nodeEvents = []struct {
	by    string
	then  [8]string
	shows map[string]string // by the state's name
}{
	// Healthy heartbeats. Who has left registers anew, unless the lists do not admit it.
	//                                     running ill  drains ill, drains excluded lost rebooted left
	{"beat h1 run=a1/1/2,a1/1/3", [8]string{"=", run, "=", "=", "=", "=", "=", "="}, map[string]string{
		"ill": "clean up a1/1/2 a1/1/3", "drains": "has 2048x2", "excluded": "shut down: Disallowed", "lost": "resync", "rebooted": "resync", "left": "resync"}},
	// A draining node stays for an application that ran there, and lasts.
	{"beat h1 done=a1/1/2:0,a1/1/3:0", [8]string{"=", run, "=", "=", "=", "=", "=", "="}, map[string]string{"drains": "has 0x0"}},
	// It leaves when that has ended. Apache: one that was ill before stays until its timeout, for its heartbeat fails.
	{"kill a1; beat h1 done=a1/1/2:143,a1/1/3:143", [8]string{"=", run, dec, dec, "=", "=", "=", "="}, map[string]string{
		"drains": "shut down: DECOMMISSIONING h1:1 is ready", "ill, drains": "shut down: DECOMMISSIONING h1:1 is ready"}},

	// Unhealthy heartbeats. Apache: a draining node's report of containers is passed over.
	{"beat h1 run=a1/1/3 done=a1/1/2:0 unhealthy=disk", [8]string{ill, "=", "=", "=", "=", "=", "=", "="}, map[string]string{
		"running": "a1/1/2 ended, exit -100", "drains": "a1/1/2 ended, exit 0"}},
	{"kill a1; beat h1 done=a1/1/2:143,a1/1/3:143 unhealthy=disk", [8]string{ill, "=", dec, dec, "=", "=", "=", "="}, nil},

	// Decommission: who has left already stays as it is.
	{"exclude h1", [8]string{dec, dec, dec, dec, "=", "=", "=", "="}, map[string]string{"running": "a1/1/2 ended, exit -100", "drains": "a1/1/2 ended, exit -100"}},
	{"exclude untracked=h1", [8]string{shu, shu, shu, shu, "=", "=", "=", "="}, nil},
	{"force", [8]string{"=", "=", dec, dec, "=", "=", "=", "="}, nil},

	// Graceful; of one that drains only the timeout changes.
	{"drain h1", [8]string{ing, iin, "=", "=", "=", "=", "=", "="}, nil},
	{"drain h1:60", [8]string{ing, iin, "=", "=", "=", "=", "=", "="}, map[string]string{"drains": "until 1060000", "ill, drains": "until 1060000"}},
	{"drain h1:60; after 9000; beat h1 run=a1/1/2,a1/1/3; beat h2; after 9000; beat h1 run=a1/1/2,a1/1/3; beat h2; after 9000; beat h1 run=a1/1/2,a1/1/3; beat h2;" +
		"after 9000; beat h1 run=a1/1/2,a1/1/3; beat h2; after 9000; beat h1 run=a1/1/2,a1/1/3; beat h2; after 9000; beat h1 run=a1/1/2,a1/1/3; beat h2; after 6000; tick",
		[8]string{dec, dec, dec, dec, "=", "=", "=", "="}, nil},

	// Recommission. Apache: one that was ill before is RUNNING, and the scheduler never uses it.
	{"exclude", [8]string{"=", "=", run, ill, "=", "=", "=", "="}, nil},
	{"exclude; beat h1 run=a1/1/2,a1/1/3", [8]string{"=", run, run, run, "=", "=", "=", "="}, map[string]string{
		"drains": "has 4096x4", "excluded": "resync"}},

	// Silence.
	{"expire h1", [8]string{los, los, los, los, "=", "=", "=", "="}, nil},
	{"after 9000; beat h2; after 1000; tick", [8]string{los, los, los, los, "=", "=", "=", "="}, nil},

	// A wrong response id.
	{"beat h1 id=7", [8]string{reb, reb, reb, reb, "=", "=", "=", "="}, map[string]string{"running": "resync: Too far behind", "drains": "resync: Too far behind", "excluded": "shut down"}},

	// Unregistering.
	{"leave h1", [8]string{shu, shu, shu, shu, "=", "=", "=", "="}, nil},

	// Registering again without containers: what it had is lost, and who drains has nothing to wait for. Apache: one that is ill stays so
	// until its next heartbeat.
	{"node h1 4096x4", [8]string{"=", run, dec, dec, run, run, run, run}, map[string]string{
		"running": "a1/1/2 ended, exit -100", "drains": "shut down: DECOMMISSIONING h1:1 is ready", "ill, drains": "shut down: DECOMMISSIONING h1:1 is ready"}},
	{"node h1 4096x4 unhealthy=disk", [8]string{"=", "=", dec, dec, ill, ill, ill, ill}, nil},
	// Apache: with another web port it is RUNNING, though it is excluded.
	{"node h1 4096x4 http=9042 excluded=so", [8]string{"=", "=", dec, dec, "=", "=", "=", "="}, map[string]string{
		"running": "shut down: so", "drains": "shut down: DECOMMISSIONING h1:1 is ready", "left": "shut down: so"}},

	// With containers: who was there keeps them. One that drains and was ill comes back to the scheduler, which gives it nothing.
	{"node h1 4096x4 run=a1/1/2,a1/1/3 apps=a1; show h1", [8]string{"=", run, "=", ing, run, run, run, run}, map[string]string{
		"running": "2048x2 of 4096x4 used, 2 containers", "drains": "2048x2 of 4096x4 used, 2 containers", "lost": "0x0 of 4096x4 used, 0 containers"}},
	{"node h1 4096x4 run=a1/1/2 apps=a1 http=9042 excluded=so", [8]string{"=", "=", "=", ing, "=", "=", "=", "="}, map[string]string{
		"running": "shut down: so", "drains": "joined", "ill, drains": "joined", "excluded": "shut down: so"}},

	// Another size. Of a draining node it is kept until it is taken back; Apache: until its next heartbeat. Who has left has none to change.
	{"resize h1 2048x2; show h1", [8]string{"=", "=", "=", "=", "=", "=", "=", "="}, map[string]string{
		"running": "of 2048x2 used", "ill": "of 2048x2 used", "drains": "of 4096x4 used", "excluded": "refused", "lost": "refused", "rebooted": "refused", "left": "refused"}},
	{"resize h1 2048x2; exclude; beat h1 run=a1/1/2,a1/1/3; show h1", [8]string{"=", run, run, run, "=", "=", "=", "="}, map[string]string{
		"running": "of 2048x2 used", "ill": "of 2048x2 used", "drains": "of 2048x2 used", "ill, drains": "of 2048x2 used"}},

	// A signal reaches a draining node, too. Apache: it is lost. Elsewhere the container is no longer there.
	{"signal a1/1/2; beat h1 run=a1/1/2,a1/1/3", [8]string{"=", run, "=", "=", "=", "=", "=", "="}, map[string]string{
		"running": "signal a1/1/2 2", "ill": "refused", "drains": "signal a1/1/2 2", "ill, drains": "refused", "lost": "refused"}},

	// So does another size of a container. Apache: it is lost. There is no room for a larger one while the node drains.
	{"allocate a1/1 shrink=a1/1/2:512x1; beat h1 run=a1/1/2,a1/1/3", [8]string{"=", run, "=", "=", "=", "=", "=", "="}, map[string]string{
		"running": "resize a1/1/2 to 512x1", "ill": "cannot change", "drains": "resize a1/1/2 to 512x1", "ill, drains": "cannot change", "rebooted": "cannot change"}},
	{"allocate a1/1 grow=a1/1/2:2048x1; beat h1 run=a1/1/2,a1/1/3; allocate a1/1; show h1", [8]string{"=", run, "=", "=", "=", "=", "=", "="}, map[string]string{
		"running": "a1/1/2 is 2048x1 now", "drains": "2048x2 of 2048x2 used"}},
}

// TestNodeStates brings a node into each state and has each event happen to it there.
func TestNodeStates(t *testing.T) {
	for _, event := range nodeEvents {
		for i, state := range nodeStates {
			s := newScript(t)
			s.play(beforeStates)
			s.play(state.by)
			s.isNode("in state "+state.name, state.is)
			shown := strings.Join(s.play(event.by), " | ")
			want := event.then[i]
			if want == "=" {
				want = state.is
			}
			s.isNode(state.name+", "+event.by, want)
			if part := event.shows[state.name]; !strings.Contains(shown, part) {
				t.Errorf("%s, %s: %q is not among what is shown: %s", state.name, event.by, part, shown)
			}
		}
	}
}

// isNode compares h1 with a cell, and the gauges with it and with h2, which runs on.
func (s *script) isNode(when, want string) {
	s.t.Helper()
	n := s.rig.e.nodes[nodeID("h1")]
	got := n.state.String()
	if n.ref >= 0 {
		got += "+"
	}
	var gauges [yarn.NodeShutdown + 1]int
	for _, name := range []string{strings.TrimSuffix(want, "+"), "RUNNING"} {
		x, _ := yarn.ParseNodeState(name)
		gauges[x]++
	}
	if counted := s.rig.reader.metrics.NodesByState; got != want || counted != gauges {
		s.t.Errorf("%s: h1 is %s, want %s; counted are %v, want %v", when, got, want, counted, gauges)
	}
}

// TestShorterDiagnosticsAreShown: the end of an application is stored with a change that failed, and the store takes the record without
// that change only with shorter diagnostics: readers see those.
func TestShorterDiagnosticsAreShown(t *testing.T) {
	s := newScript(t)
	s.play("submit a1 ann default 1024x1 attempts=1; hold; fail a1/1; priority a1 5; stored; poison; stored")
	r, id := s.rig, s.app("a1")
	before := r.stored[state.Application{ID: id}.Key()].(state.Application)
	if before.Final != yarn.AppFailed || before.Priority != 5 || before.Diagnostics == "" || r.e.saves.entries()[0].what != savedTakenBack {
		t.Fatalf("stored is %+v", before)
	}
	shown := func() string {
		r.e.Publish(r.now, &r.reader)
		return r.reader.apps[id].Diagnostics
	}
	if got := shown(); got != before.Diagnostics {
		t.Errorf("shown is %q, stored %q", got, before.Diagnostics)
	}
	s.play("poison; stored")
	after := r.stored[state.Application{ID: id}.Key()].(state.Application)
	if got := shown(); got != after.Diagnostics || got == before.Diagnostics || after.Priority == 5 {
		t.Errorf("shown is %q, stored %q with priority %d, was %q", got, after.Diagnostics, after.Priority, before.Diagnostics)
	}
}
