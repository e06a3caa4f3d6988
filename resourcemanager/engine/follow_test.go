package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

const (
	gangOfThree = "node h1 4096x8; submit a1 ann default 1024x1 tags=heddle.gang=3,timeout=4; beat h1; register a1/1; "
	lentThree   = "node h1 4096x4; submit a1 ann default 1024x1; beat h1; register a1/1; allocate a1/1 lend=1:1024x1:3; "
)

// followCases are how somebody comes to wait at a gate of gangs or of opportunistic containers. then carries out what want says, and gives the opportunity.
var followCases = []struct {
	name        string
	setup, then string
	app         int32
	code        yarn.Code
	want        string // the settings of the change, or what is done
	granted     int    // containers, in the last answer
}{
	{"a gang that gathers", gangOfThree + "submit a2 bob other 1024x1; beat h1 run=a1/1/1; allocate a1/1 ask=20:1024x1:3; beat h1 run=a1/1/1,a2/1/1",
		"node h2 1024x1; beat h2; allocate a1/1", 1, fit.GangGathers, "wait-for-gang 1", 3},
	{"what is in the way of the rest of a gang", gangOfThree + "submit a2 bob other 1024x1; beat h1 run=a1/1/1; allocate a1/1 ask=20:1024x1:3; beat h1 run=a1/1/1,a2/1/1",
		"kill a2; beat h1 run=a1/1/1 done=a2/1/1:143; beat h1 run=a1/1/1; allocate a1/1", 1, fit.NodeFull, "free 1024 of a1 a2", 3},
	{"a part of a gang", gangOfThree + "allocate a1/1 ask=20:1024x1:2; beat h1 run=a1/1/1",
		"allocate a1/1 ask=20:1024x1:3; beat h1 run=a1/1/1; allocate a1/1", 1, fit.GangSmall, "ask 1", 3},
	{"a gang that has given back", gangOfThree + "submit a2 bob other 1024x1; beat h1 run=a1/1/1; allocate a1/1 ask=20:1024x1:3; beat h1 run=a1/1/1,a2/1/1; after 4000; tick; kill a2; beat h1 run=a1/1/1 done=a2/1/1:143",
		"after 4000; tick; beat h1 run=a1/1/1; allocate a1/1", 1, fit.GangRests, "wait-for-turn 4", 3},
	{"a gang that waits for its turn", "node h1 12288x12; submit a1 ann default 1024x1 tags=heddle.gang=8,timeout=8; submit a2 bob other 1024x1 tags=heddle.gang=8,timeout=8; submit a3 bob default 1024x1; " +
		"beat h1; register a1/1; register a2/1; register a3/1; allocate a3/1 ask=1:1024x1:2; beat h1 run=a1/1/1,a2/1/1,a3/1/1; allocate a3/1; beat h1 run=a1/1/1,a2/1/1,a3/1/1,a3/1/2,a3/1/3; allocate a1/1 ask=20:1024x1:8; allocate a2/1 ask=20:1024x1:9; beat h1 run=a1/1/1,a2/1/1,a3/1/1,a3/1/2,a3/1/3; " +
		"after 4000; beat h1 run=a1/1/1,a2/1/1,a3/1/1,a3/1/2,a3/1/3; tick; beat h1 run=a1/1/1,a2/1/1,a3/1/1,a3/1/2,a3/1/3; after 4000; beat h1 run=a1/1/1,a2/1/1,a3/1/1,a3/1/2,a3/1/3; tick; allocate a1/1; allocate a2/1; after 7000; beat h1 run=a1/1/1,a2/1/1,a3/1/1,a3/1/2,a3/1/3; tick; after 1000; tick",
		"kill a2; beat h1 run=a1/1/1,a3/1/1,a3/1/2,a3/1/3 done=a2/1/1:143; tick; beat h1 run=a1/1/1,a3/1/1,a3/1/2,a3/1/3; allocate a1/1", 1, fit.GangInLine, "end-application a2", 8},
	{"a gang that is too large", "node h1 4096x8; submit a1 ann default 1024x1 tags=heddle.gang=6,timeout=4; beat h1; register a1/1; allocate a1/1 ask=20:1024x1:6; beat h1 run=a1/1/1",
		"node h2 3072x3; beat h2; beat h1 run=a1/1/1; allocate a1/1", 1, fit.GangNever, "add-node 3", 6},

	{"no node has a queue", "settings opportunistic=1; " + lentThree, "beat h1 run=a1/1/1 queue=0/3; after 1000; allocate a1/1", 1, fit.NoNodeQueue, nodeQueue + "=3", 3},
	{"no node tells how long its queue is", "settings opportunistic=2; " + lentThree + "beat h1 run=a1/1/1 queue=0/3/-1",
		"settings opportunistic=1; " + lentThree + "beat h1 run=a1/1/1 queue=0/3/-1; after 1000; allocate a1/1", 1, fit.NoNodeQueue, loadComparator + "=QUEUE_LENGTH", 3},
	{"the queues of nodes are full", "settings opportunistic=1; " + lentThree + "beat h1 run=a1/1/1 queue=2/2", "beat h1 run=a1/1/1 queue=1/2; after 1000; allocate a1/1", 1, fit.NodeQueuesFull, "wait-for-node-queue", 1},
	{"the master has to call", "settings opportunistic=1; " + lentThree + "beat h1 run=a1/1/1 queue=0/5", "after 1000; allocate a1/1", 1, fit.NextCall, "wait-for-master", 3},
}

// TestChangesThatGatesOfTheEngineName makes the change that is named for a gate, as it is named. Then the application gets what it waits for. See also
// TestChangesThatGatesName of schedtest.
func TestChangesThatGatesOfTheEngineName(t *testing.T) {
	for _, c := range followCases {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t)
			s.play(c.setup)
			g := s.rig.e.Gates(s.rig.now, appID(c.app))
			at := slices.IndexFunc(g.List, func(x view.Gate) bool { return x.Code == c.code })
			if at < 0 {
				t.Fatalf("it waits because of %+v", g)
			}
			if said := saidOf(&g.List[at]); said != c.want {
				t.Errorf("the change is %q, want %q: %+v", said, c.want, g.List[at])
			}
			if strings.HasPrefix(c.then, "settings") {
				s = newScript(t)
			}
			shown := s.play(c.then)
			_, granted, _ := strings.Cut(strings.Join(shown, "\n"), "granted ")
			granted, _, _ = strings.Cut(granted, "\n")
			if n := len(strings.Fields(granted)); n != c.granted {
				t.Errorf("%q brings %d of %d containers: %q; it waits because of %+v", c.then, n, c.granted, shown, s.rig.e.Gates(s.rig.now, appID(c.app)).List)
			}
		})
	}
}

// saidOf is the change of a gate in a few words.
func saidOf(g *view.Gate) string {
	var out []string
	for _, x := range g.Change {
		out = append(out, x.Name+"="+x.Value)
	}
	switch text := g.Act.Do; {
	case text != "":
		for _, word := range strings.Fields(g.Act.Text) {
			if _, err := fmt.Sscanf(word, "%d", new(int)); err == nil && text != "end-application" {
				text += " " + word
				break
			}
			if id, err := yarn.ParseApplicationID(word); err == nil {
				text += " " + shortApp(id)
				break
			}
		}
		out = append(out, text)
	case g.Room:
		text = fmt.Sprint("free ", g.Free.MemoryMB(), " of")
		for _, h := range g.Holders {
			text += " " + shortApp(h.App)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}
