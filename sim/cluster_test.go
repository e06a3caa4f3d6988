package sim

import (
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-project/heddle/scheduler/config"
)

// TestMain has garbage collected only when there is much of it: there is little else in memory.
func TestMain(m *testing.M) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(200 << 20)
	os.Exit(m.Run())
}

// number is an environment variable's value, or a default.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q is not a number", name, text)
	}
	return n
}

func queues(more ...config.Property) *Queues {
	const p = config.Prefix
	return &Queues{Properties: append([]config.Property{
		{Name: p + "root.queues", Value: "a,b,c"},
		{Name: p + "root.a.capacity", Value: "50"}, {Name: p + "root.b.capacity", Value: "30"}, {Name: p + "root.c.capacity", Value: "20"},
		{Name: p + "root.a.user-limit-factor", Value: "3"}, {Name: p + "root.c.maximum-capacity", Value: "40"},
		{Name: p + "maximum-am-resource-percent", Value: "0.5"},
		{Name: p + "root.accessible-node-labels.x.capacity", Value: "100"}, {Name: p + "root.accessible-node-labels.y.capacity", Value: "100"},
		{Name: p + "root.a.accessible-node-labels", Value: "x,y"}, {Name: p + "root.b.accessible-node-labels", Value: "x"},
		{Name: p + "root.a.accessible-node-labels.x.capacity", Value: "70"}, {Name: p + "root.b.accessible-node-labels.x.capacity", Value: "30"},
		{Name: p + "root.a.accessible-node-labels.y.capacity", Value: "100"},
	}, more...)}
}

// with returns a copy of properties with more appended.
func with(properties []config.Property, more ...config.Property) []config.Property {
	return append(slices.Clone(properties), more...)
}

// others are settings for refreshes, some of which are refused.
func others(more ...config.Property) []*Queues {
	const p = config.Prefix
	return []*Queues{
		queues(with(more, config.Property{Name: p + "root.a.capacity", Value: "20"}, config.Property{Name: p + "root.c.capacity", Value: "50"},
			config.Property{Name: p + "root.c.maximum-capacity", Value: "100"}, config.Property{Name: p + "root.a.ordering-policy", Value: "fair"})...),
		queues(with(more, config.Property{Name: p + "reservations-continue-look-all-nodes", Value: "false"},
			config.Property{Name: p + "root.b.maximum-capacity", Value: "50"})...),
		queues(with(more, config.Property{Name: p + "root.a.capacity", Value: "99"})...),
		queues(with(more, config.Property{Name: p + "root.queues", Value: "a,b"})...),
	}
}

// TestCluster plays clusters from HEDDLE_SIM_SEED on, HEDDLE_SIM_RUNS of them, each of HEDDLE_SIM_APPLICATIONS, until HEDDLE_SIM_VIOLATIONS were found.
func TestCluster(t *testing.T) {
	seed, runs, applications := number(t, "HEDDLE_SIM_SEED", 1), number(t, "HEDDLE_SIM_RUNS", 20), number(t, "HEDDLE_SIM_APPLICATIONS", 25)
	violations := number(t, "HEDDLE_SIM_VIOLATIONS", 1)
	crashes, done, m := 0, map[string]int{}, begin()
	for i := range runs {
		c, err := New(drawn(seed+i, int(applications)))
		if err != nil {
			t.Fatal(err)
		}
		wrong := play(c)
		if wrong == "" && c.Granted < int(applications) {
			wrong = fmt.Sprintf("only %d containers were granted; the run tested nothing", c.Granted)
		}
		if wrong != "" {
			t.Errorf("seed %d, step %d: %s", seed+i, c.Steps, wrong)
			if violations--; violations == 0 {
				return
			}
		}
		m.steps += c.Steps
		crashes += c.Crashes
		for what, n := range c.Done {
			done[what] += n
		}
		if (i+1)%500 == 0 {
			t.Logf("%d seeds, %s", i+1, m)
		}
	}
	var table []string
	for _, what := range slices.Sorted(maps.Keys(done)) {
		table = append(table, fmt.Sprintf("%s %d", what, done[what]))
	}
	t.Logf("%d crashes, %s", crashes, strings.Join(table, ", "))
	t.Logf("%d seeds from %d, %s", runs, seed, m)
	for what, least := range rare {
		if n := done[what]; n < least*int(runs/200) || n == 0 && runs >= 20 && least >= 100 {
			t.Errorf("%s: %d times in %d runs", what, n, runs)
		}
	}
	if runs >= 20 && crashes == 0 {
		t.Error("the ResourceManager never crashed")
	}
}

// rare are faults, and situations without which an invariant could not break, with how often each must occur at least in 200 runs.
var rare = map[string]int{
	"moved": 500, "refreshed": 500, "not refreshed": 100, "labelled": 300, "reserved": 1000, "enlarged": 100, "shrunk": 1000, "promoted": 50, "demoted": 500,
	"given a priority": 500, "given a lifetime": 100, "killed": 200, "kills acknowledged": 50, "ends acknowledged": 500, "failed": 100, "ordered": 100, "order taken back": 15,
	"excluded": 200, "resized": 200, "acknowledged as stored engine.AddLabels": 50, "acknowledged as stored engine.RemoveLabels": 5, "acknowledged as stored engine.ReplaceLabels": 100,
	"acknowledged as stored engine.DrainNodes": 100, "acknowledged as stored engine.UndrainNodes": 100, "acknowledged as stored engine.Remember": 200, "tokens cancelled": 100,
	"refusals held against the state before": 150, "granted while an order to drain was in force": 1000, "nodes that left at their deadline": 20,

	"requests lost": 1000, "answers lost": 3000, "late requests": 1000, "late answers": 1000, "repeated requests": 1000, "launches lost": 100, "answers withheld": 300,
	"nodes answered again": 1000, "masters answered again": 1000, "nodes that have lost count": 500, "node RUNNING to LOST": 20, "node about to be lost": 30,
	"clock jumps of leader": 60, "clock set back to an earlier start": 10, "pauses of leader": 60, "cuts": 100, "terms ended": 100,
	"leader cut from: lock true store false nodes false": 5, "leader cut from: lock false store true nodes false": 5, "leader cut from: lock false store false nodes true": 5,

	"died after a command with effects": 100, "died after *engine.Heartbeat": 10, "died after *engine.Allocate": 10, "died after engine.Submit": 5, "died after engine.Stored": 30,
	"died after engine.FinishMaster": 5, "died after engine.RegisterNode": 10, "died after engine.RefreshQueues": 2,
	"store unavailable": 1000, "store silent": 200, "store slow": 200, "fenced": 20, "slow commits of who was replaced": 15, "slow commits of who has died": 15,
	"last commits that were made": 25, "last commits that came late": 4, "terms given up because of the store": 3,
	"poison state.Application": 30, "poison state.Attempt": 30, "poison state.Labels": 2, "poison state.NodeDeadline": 2, "poison state.DelegationSequence": 2,

	"recovered: runs": 1000, "recovered: ended": 500, "recovered: acknowledged": 1000, "recovered: a change was under way": 100, "recovered: tokens": 100, "recovered: labels": 100,
	"recovered: labelled nodes": 50, "recovered: orders": 100, "container of an earlier term reported": 100, "told to forget a container of a live master": 1000,
	"outlasts its application by 1 calls": 5,

	"notices of preemption": 500, "preempted": 100, "masters preempted": 10, "ended because nodes got smaller": 50,
	"reservation made": 40, "submitted to a reservation": 30, "acknowledged as stored engine.UpdateReservation": 5, "acknowledged as stored engine.DeleteReservation": 12,
	"recovered: reservations": 80, "reservations over": 20,
}

// play runs a cluster to its end. A panic is a violation, too.
func play(c *Cluster) (wrong string) {
	defer func() {
		if x := recover(); x != nil {
			wrong = fmt.Sprintf("panic: %v\n%s", x, debug.Stack())
		}
	}()
	return c.Run()
}

// meter compares the time that was simulated with that of the processor.
type meter struct {
	began time.Duration
	steps int
}

func begin() *meter { return &meter{began: processor()} }

func (m *meter) String() string {
	simulated, used := time.Duration(m.steps)*step*time.Millisecond, processor()-m.began
	return fmt.Sprintf("%.0f s simulated in %.1f s of processor time, %.0f times as fast", simulated.Seconds(), used.Seconds(), m.times())
}

// times is how much faster than time it went.
func (m *meter) times() float64 {
	return float64(m.steps) * step / 1000 / (processor() - m.began).Seconds()
}

// processor is the time that this process has used so far.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestFiftyNodes measures clusters of 50 nodes whose calls and those of masters come every second, as Hadoop's do unless they are told otherwise.
func TestFiftyNodes(t *testing.T) {
	m := begin()
	for seed := range uint64(2) {
		c, err := New(Options{Seed: 1 + seed, Daemons: 2, Nodes: 50, Applications: 100, Every: 1000 / step, Queues: queues(), Others: others()})
		if err != nil {
			t.Fatal(err)
		}
		if wrong := play(c); wrong != "" {
			t.Fatalf("seed %d, step %d: %s", seed, c.Steps, wrong)
		}
		m.steps += c.Steps
	}
	t.Log("50 nodes,", m)
}

// TestSameSeedSameRun: a failure can be found again.
func TestSameSeedSameRun(t *testing.T) {
	var digests [2]uint64
	for i := range digests {
		c, err := New(Options{Seed: 7, Daemons: 2, Nodes: 4, Applications: 20, Queues: queues(), Others: others()})
		if err != nil {
			t.Fatal(err)
		}
		if wrong := c.Run(); wrong != "" {
			t.Fatal(wrong)
		}
		digests[i] = c.Digest()
	}
	if digests[0] != digests[1] {
		t.Errorf("two runs of one seed differ: %x", digests)
	}
}
