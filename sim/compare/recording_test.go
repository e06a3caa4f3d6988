package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/sim"
	"github.com/heddle-project/heddle/yarn"
)

// recordings are those of the lives of a simulated ResourceManager.
func recordings(t *testing.T, seed uint64) (files []string) {
	t.Helper()
	var queues []config.Property
	for _, line := range []string{"root.queues a,b,c", "root.a.capacity 50", "root.b.capacity 30", "root.c.capacity 20", "maximum-am-resource-percent 0.5"} {
		name, value, _ := strings.Cut(line, " ")
		queues = append(queues, config.Property{Name: config.Prefix + name, Value: value})
	}
	dir := t.TempDir()
	c, err := sim.New(sim.Options{Seed: seed, Nodes: 6, Applications: 12, Events: seed%2 == 0, Queues: &sim.Queues{Properties: queues}, Recorded: func(s *blackbox.Snapshot) {
		file, err := s.Save(dir)
		if err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(dir, fmt.Sprint("life", len(files)))
		if err := os.Rename(file, kept); err != nil {
			t.Fatal(err)
		}
		files = append(files, kept)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if wrong := c.Run(); wrong != "" {
		t.Fatal(wrong)
	}
	return files
}

func command(args ...string) (code int, out, bad string) {
	var stdout, stderr bytes.Buffer
	code = Main(args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// Recordings of clusters in which everything goes wrong are played, and come to the same twice.
func TestRecordings(t *testing.T) {
	for seed := range uint64(4) {
		for _, file := range recordings(t, seed) {
			if code, out, bad := command(file, "--scheduler", Recorded, "--scheduler", Recorded); code != codeSame || !strings.Contains(out, "no difference in ") {
				t.Fatalf("seed %d, %s: the same configuration twice: %d\n%s%s", seed, file, code, out, bad)
			}
			code, out, bad := command(file, "--scheduler", Fifo, "--all")
			again, same, _ := command(file, "--scheduler", Fifo, "--all")
			if code == codeUsage || code != again || out != same {
				t.Fatalf("seed %d, %s: %d, again %d\n%s%s%s", seed, file, code, again, out, same, bad)
			}
		}
	}
}

// jobs is a cluster of two nodes whose applications come in stages, wait for each other, fail and are killed.
func jobs(t *testing.T, properties string) *Workload {
	t.Helper()
	cfg, site, err := (&Side{Name: "queues.xml", Data: []byte(properties)}).parse(&Workload{Begun: blackbox.Header{Queues: blackbox.Queues{Cluster: config.Cluster{
		Types: yarn.BasicResourceTypes(), MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8)}}}})
	if err != nil {
		t.Fatal(err)
	}
	rm, err := conf.ReadResourceManager(site)
	if err != nil {
		t.Fatal(err)
	}
	start := yarn.Now{Wall: 1_700_000_000_000, Mono: 5000}
	set, err := setup.Settings(rm, cfg, time.UnixMilli(start.Wall), 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &Workload{Name: "jobs", Start: start, Length: 400_000, Begun: blackbox.Header{Settings: set, Queues: blackbox.QueuesOf(cfg)},
		Nodes: []yarn.NodeID{{Host: "h1", Port: 1}, {Host: "h2", Port: 1}}}
	for i, id := range w.Nodes {
		w.Events = append(w.Events, Event{Kind: Join, Index: int32(i), Command: engine.RegisterNode{Node: id, HTTPPort: 8042, Rack: "/r", Total: yarn.NewResource(8192, 8),
			Health: engine.Health{Healthy: true}}})
	}
	row := func(priority int32, where string, count int32) yarn.Ask {
		return yarn.Ask{Priority: priority, AllocationRequestID: -1, Where: where, Capability: yarn.NewResource(1024, 1), Count: count, RelaxLocality: true}
	}
	many := func(priority int32, n int, ms int64) (out []Run) {
		for i := range n {
			out = append(out, Run{Kin{priority, -1}, ms + int64(i)*1000})
		}
		return out
	}
	stages := &Plan{Boot: 2500, Every: 1000, Runs: slices.Concat(many(20, 12, 20_000), many(10, 2, 30_000)), Steps: []Step{
		{Delay: 500, Asks: []yarn.Ask{row(20, "*", 12), row(20, "/r", 12), row(20, "h1", 6), row(20, "h2", 9)}},
		{After: 8, Delay: 1000, Asks: []yarn.Ask{row(10, "*", 2)}},
		{After: 14, Delay: 2000, Finish: true, Final: yarn.FinalSucceeded}}}
	crash := &Plan{Boot: 2000, Every: 1000, Runs: many(1, 2, 5000), Steps: []Step{{Asks: []yarn.Ask{row(1, "*", 2)}}, {After: 2, Delay: 500, Crash: true, Exit: 1}}}
	for i := range 6 {
		a := &App{Name: fmt.Sprint(i), At: int64(i) * 15_000, Plans: []*Plan{stages}, Sub: engine.Submission{User: "ann", Name: "job", Type: "MAPREDUCE",
			Queue: []string{"a", "b"}[i%2], AMAsks: []yarn.Ask{row(0, "*", 1)}}}
		if i == 3 {
			a.Plans = []*Plan{crash, stages}
		}
		w.Apps = append(w.Apps, a)
		w.Events = append(w.Events, Event{At: a.At, Kind: Submit, Index: int32(i)})
	}
	w.Events = append(w.Events, Event{At: 100_000, Kind: Change, Index: 5, Command: engine.Kill{}})
	for at := int64(1000); at <= w.Length; at += 1000 {
		for i := range w.Nodes {
			w.Events = append(w.Events, Event{At: at + int64(i)*300, Kind: Beat, Index: int32(i)})
		}
	}
	slices.SortStableFunc(w.Events, func(x, y Event) int { return cmp.Compare(x.At, y.At) })
	return w
}

// near tells whether two times of some minutes are at most 4 s apart. What a recording cannot tell is when, between two calls, a container
// ended and a master learned of it.
func near(a, b int64) bool { return a == b || a != Never && b != Never && max(a-b, b-a) <= 4000 }

// A recording of a ResourceManager whose masters do as the model has them do comes to nearly the same, application by application.
func TestRecording(t *testing.T) {
	work := jobs(t, shared("50", "50", "50"))
	p, err := newPlayer(work, &Side{Name: Recorded})
	if err != nil {
		t.Fatal(err)
	}
	p.box = blackbox.NewRecorder(p.begun, blackbox.Options{})
	p.run()
	was := p.outcome(Recorded)
	p.box.Add(p.clock(), blackbox.Digest{})
	file, err := p.box.Snapshot(blackbox.End{At: p.clock().Wall, Looked: true, State: p.eng.Digest()}).Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	is, err := Play(read, &Side{Name: Recorded})
	if err != nil {
		t.Fatal(err)
	}
	for i := range was.Apps {
		a, b := *was.Apps[i], *is.Apps[i]
		if a.State == "" || a.State != b.State || a.Queue != b.Queue || a.Granted != b.Granted || a.Pending != b.Pending || !near(a.Master, b.Master) ||
			!near(a.First, b.First) || !near(a.Last, b.Last) || !near(a.End, b.End) || !near(a.Waited/20, b.Waited/20) {
			t.Errorf("application %d: recorded %+v, model %+v", i, a, b)
		}
	}
	if len(was.Apps) != 6 || was.Apps[0].Granted != 14 || was.Apps[0].State != "FINISHED" || was.Apps[5].State != "KILLED" || was.Apps[3].State != "FINISHED" || was.Apps[2].Waited == 0 {
		t.Errorf("the cluster does not do what it shall: %+v %+v %+v", *was.Apps[0], *was.Apps[3], *was.Apps[5])
	}
	if c := check(read, is); c.Masters != 6 || c.Near < 5 {
		t.Errorf("check: %+v", c)
	}
	// More of the cluster for one queue, and less for the other.
	dir := t.TempDir()
	r := reportsOf(t, codeDiffers, file, "--scheduler", write(t, dir, "more.xml", shared("75", "75", "25")))[0]
	if len(r.Queues) != 2 || r.Queues[0].B.Waited >= r.Queues[0].A.Waited || r.Queues[0].B.EndMedian >= r.Queues[0].A.EndMedian {
		t.Errorf("%+v", r.Queues)
	}
	r = reportsOf(t, codeDiffers, file, "--scheduler", write(t, dir, "fair.xml", fairFile))[0]
	if r.B.Scheduler != "FairScheduler" || r.Queues[0].B.Ended != 3 || r.Queues[1].B.Ended != 3 {
		t.Errorf("%+v %+v", r.B, r.Queues)
	}
}
