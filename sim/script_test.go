package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// operations are what must not get lost, as script.name calls them.
var operations = []string{"submit", "launch", "finish", "kill", "move", "priority", "lifetime", "token", "configuration", "label", "drain deadline", "reservation"}

// toll has the process die before the at-th write of each load and of each commit: once for every commit, and not in two loads in a row.
type toll struct {
	at      int
	died    map[string]int // how often, by what was being written
	most    map[string]int // writes of it
	resumed bool           // nothing was committed since a load in which it died
	commits bool           // it dies in no load
}

func (x *toll) dies(what string, n int) bool {
	x.most[what] = max(x.most[what], n)
	dies := n == x.at
	if what == "load" {
		dies = dies && !x.resumed && !x.commits
		x.resumed = x.resumed || dies
	} else {
		x.resumed = false
		dies = dies && x.died[what] == 0
	}
	if dies {
		x.died[what]++
	}
	return dies
}

// scripted plays the script.
func scripted(t *testing.T, disk func(*writes) disk, batches bool, x *toll) *Cluster {
	t.Helper()
	reservable := []config.Property{{Name: config.Prefix + "root.queues", Value: "a,b,c,plan"}, {Name: config.Prefix + "root.a.capacity", Value: "20"},
		{Name: config.Prefix + "root.plan.capacity", Value: "30"}, {Name: config.Prefix + "root.plan.reservable", Value: "true"}}
	c, err := New(Options{Seed: 1, Nodes: 4, Applications: 3, Reserving: true, Queues: queues(reservable...)})
	must(t, err)
	c.reservations.Patience = 60_000
	w := &writes{dies: x.dies}
	c.quiet, c.script = true, &script{disk: disk(w), writes: w, batches: batches, epoch: -1, changes: map[uint64]string{}, seen: map[yarn.AttemptID]bool{}}
	defer func() {
		if c.owner != nil {
			_ = c.owner.store.Close()
		}
	}()
	for range quietSteps {
		wrong := c.Step()
		if wrong == "" && len(c.ids) == c.opt.Applications && c.script.next == len(acts(c)) && c.ended() {
			return c
		}
		if wrong != "" {
			t.Fatalf("death at write %d of %q, step %d: %s", x.at, w.what, c.Steps, wrong)
		}
	}
	t.Fatalf("death at write %d: %d acts done, last refusal %v, %s", x.at, c.script.next, c.script.refused, c.notEnded())
	return nil
}

// TestEveryWrite has the ResourceManager die before each write of each commit and load, and after the last one, when nobody knows of it yet, and go on
// with what each kind of store has then. Whoever was not answered asks again.
func TestEveryWrite(t *testing.T) {
	for name, disk := range disks(t) {
		for _, batches := range []bool{false, true} {
			if batches && strings.Contains(name, "power of all") { // to a log they are the same
				continue
			}
			t.Run(fmt.Sprintf("%s, batches %t", name, batches), func(t *testing.T) {
				deaths, most := map[string]int{}, map[string]int{}
				for at, all := 1, 1; at <= all; at++ {
					x := &toll{at: at, died: map[string]int{}, most: map[string]int{}}
					c := scripted(t, disk, batches, x)
					died := 0
					for what, n := range x.died {
						died += n
						for _, op := range operationsOf(what) {
							deaths[op] += n
						}
					}
					for what, n := range x.most {
						if all = max(all, n); n >= at && x.died[what] == 0 {
							t.Errorf("%s has %d writes, and the process did not die at the one with number %d", what, n, at)
						}
						for _, op := range operationsOf(what) {
							most[op] = max(most[op], n)
						}
					}
					if died != c.Crashes {
						t.Errorf("%d deaths, %d crashes", died, c.Crashes)
					}
				}
				for _, op := range operations {
					if most[op] < 2 || deaths[op] < most[op]-2 && !batches { // replicas do not always need the same number
						t.Errorf("%s: %d writes, %d deaths", op, most[op], deaths[op])
					}
				}
				var table []string
				for _, op := range slices.Sorted(maps.Keys(deaths)) {
					table = append(table, fmt.Sprintf("%s %d (%d)", op, deaths[op], most[op]))
				}
				t.Log("deaths, and the most writes: " + strings.Join(table, ", "))
			})
		}
	}
}

// operationsOf are the operations of a commit, each once.
func operationsOf(what string) []string {
	var out []string
	for part := range strings.SplitSeq(what, ", ") {
		op, _, _ := strings.Cut(part, " of ")
		if !slices.Contains(out, op) {
			out = append(out, op)
		}
	}
	return out
}
