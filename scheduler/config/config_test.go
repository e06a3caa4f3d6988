package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

func parse(lines string) (*Config, error) {
	var props []Property
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		props = append(props, Property{Name: Prefix + k, Value: v, Origin: fmt.Sprintf("test:%d", i+1)})
	}
	c, _, err := Parse(props, Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 4), MaxPriority: 10})
	return c, err
}

// What is refused names the property, its value, where it was written and the
// rule that it breaks.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, lines, want string }{
		{"no queues", "queues=a", `yarn.scheduler.capacity.root.queues=: names no queues`},
		{"not a number", "root.queues=a\nroot.a.capacity=much", `test:2: yarn.scheduler.capacity.root.a.capacity=much: must be a number`},
		{"too much", "root.queues=a\nroot.a.capacity=100.1", `test:2: yarn.scheduler.capacity.root.a.capacity=100.1: must be from 0 to 100 percent`},
		{"weight", "root.queues=a\nroot.a.capacity=10001w", `test:2: yarn.scheduler.capacity.root.a.capacity=10001w: a weight must be from 0 to 10000, or -1`},
		{"state", "root.queues=a\nroot.a.state=DRAINING", `test:2: yarn.scheduler.capacity.root.a.state=DRAINING: must be RUNNING or STOPPED`},
		{"order", "root.queues=a\nroot.a.ordering-policy=lifo", `test:2: yarn.scheduler.capacity.root.a.ordering-policy=lifo: must be fifo, fair, fifo-with-partitions or fifo-for-pending-apps`},
		{"order of queues", "root.queues=a\nroot.ordering-policy=fifo", `test:2: yarn.scheduler.capacity.root.ordering-policy=fifo: must be utilization or priority-utilization`},
		{"labels", "root.queues=a\nroot.a.accessible-node-labels=x\nroot.a.queues=b\nroot.a.b.accessible-node-labels=x,y", `test:4: yarn.scheduler.capacity.root.a.b.accessible-node-labels=x,y: must be a part of the parent's labels [x]`},
		{"allocation", "root.queues=a\nroot.a.maximum-allocation-mb=9000", `test:2: yarn.scheduler.capacity.root.a.maximum-allocation-mb=9000: 9000 memory-mb is more than the cluster's maximum allocation of 8192`},
		{"lifetime", "root.queues=a\nroot.a.maximum-application-lifetime=10\nroot.a.default-application-lifetime=20", `test:3: yarn.scheduler.capacity.root.a.default-application-lifetime=20: default lifetime 20 is more than the maximum of 10`},
		{"user weight", "root.queues=a\nroot.a.user-settings.ann.weight=3\nroot.a.minimum-user-limit-percent=50", `test:2: yarn.scheduler.capacity.root.a.user-settings.ann.weight=3: weight 3 of user ann in root.a must be from 0 to 2 (100 / minimum-user-limit-percent)`},
		{"reservable", "root.queues=a\nroot.a.queues=b\nroot.a.reservable=true", `test:3: yarn.scheduler.capacity.root.a.reservable=true: only a leaf can be reserved, no queue that has queues or creates them`},
		{"agent", "root.queues=a\nroot.a.reservable=true\nroot.a.reservation-agent=Mine", `test:3: yarn.scheduler.capacity.root.a.reservation-agent=Mine: is none of the classes that there are: planning.AlignedPlannerWithGreedy, planning.GreedyReservationAgent, in package org.apache.hadoop.yarn.server.resourcemanager.reservation`},
		{"twice", "root.queues=a,a", `test:1: yarn.scheduler.capacity.root.queues=a,a: queue "a" is listed twice`},
		{"calculator", "root.queues=a\nresource-calculator=Mine", `test:2: yarn.scheduler.capacity.resource-calculator=Mine: must be DefaultResourceCalculator or DominantResourceCalculator of org.apache.hadoop.yarn.util.resource`},
	} {
		_, err := parse(c.lines)
		var refused *Error
		if !errors.As(err, &refused) {
			t.Errorf("%s: not refused: %v", c.name, err)
		} else if got := refused.Finding.String(); got != c.want {
			t.Errorf("%s:\nwant %s\ngot  %s", c.name, c.want, got)
		}
	}
}

func TestTree(t *testing.T) {
	all, err := parse("root.queues=a, b\nroot.a.capacity=12.5\nroot.b.capacity=3w\nroot.b.queues=c\nroot.b.c.capacity=[memory=2048,vcores=2]\nroot.maximum-application-lifetime=60\nroot.b.c.ordering-policy=fair")
	if err != nil {
		t.Fatal(err)
	}
	a, b := all.Capacity.Root.Children[0], all.Capacity.Root.Children[1]
	if a.Amount("").Capacity != 0.125 || a.Kind != Leaf {
		t.Fatalf("%+v", a)
	}
	leaf := b.Children[0]
	if x := leaf.Amount(""); !x.Absolute || x.Min != yarn.NewResource(2048, 2) || leaf.Ordering != FairOrder || leaf.MaxLifetime != 60 {
		t.Errorf("%+v", leaf)
	}
	if b.Amount("").Weight != 3 || b.Kind != Parent {
		t.Errorf("%+v", b)
	}
	for path, want := range map[string]string{"root": "root", "root.b.c": "root.b.c", "root.b.d.e": "root.b", "elsewhere": "root"} {
		if way := all.Way(path); way[0].Path != "root" || way[len(way)-1].Path != want {
			t.Errorf("the way to %s ends at %s", path, way[len(way)-1].Path)
		}
	}
}

// A template of the parent gives way to one for all paths only where it is silent.
func TestDynamicQueuesFollowTemplates(t *testing.T) {
	c, err := parse("root.queues=a\nroot.a.capacity=1w\nroot.a.auto-queue-creation-v2.enabled=true\nroot.a.auto-queue-creation-v2.template.capacity=4w\n" +
		"root.a.auto-queue-creation-v2.leaf-template.maximum-applications=7\nroot.*.auto-queue-creation-v2.template.capacity=9w\nroot.*.auto-queue-creation-v2.template.priority=3")
	if err != nil {
		t.Fatal(err)
	}
	q, err := c.Capacity.Dynamic(c.Capacity.Root.Children[0], "ann", Leaf)
	if err != nil {
		t.Fatal(err)
	}
	if q.Amount("").Weight != 4 || q.MaxApps != 7 || q.Priority != 3 || q.UserFactor != -1 || q.Amount("").MaxAM != 1 {
		t.Errorf("%+v", q)
	}
	if q.Submit.Allows("ann", "", nil) {
		t.Error("nobody may submit where no template says so")
	}
}

// The nearest template counts; one of a queue that creates none is told all the same.
func TestTemplatesAreTold(t *testing.T) {
	cfg, err := parse("root.queues=flex,one\nroot.flex.capacity=50\nroot.one.capacity=50\nroot.flex.auto-queue-creation-v2.enabled=true\n" +
		"root.flex.auto-queue-creation-v2.template.capacity=2w\nroot.*.auto-queue-creation-v2.template.capacity=7w\nroot.*.auto-queue-creation-v2.parent-template.capacity=5w\n" +
		"root.flex.auto-queue-creation-v2.leaf-template.user-limit-factor=3\nroot.one.leaf-queue-template.capacity=10\nroot.one.auto-queue-creation-v2.template.state=STOPPED")
	if err != nil {
		t.Fatal(err)
	}
	one := func(name, value string) []queue.Property { return []queue.Property{{Name: name, Value: value}} }
	want := []*queue.Templates{{Created: one("capacity", "2w"), Leaves: one("user-limit-factor", "3"), Parents: one("capacity", "5w")}, {LegacyLeaves: one("capacity", "10")}}
	for i, q := range cfg.Capacity.Root.Children {
		if !reflect.DeepEqual(q.Templates, want[i]) {
			t.Errorf("%s: %+v", q.Path, q.Templates)
		}
	}
	if cfg.Capacity.Root.Templates != nil {
		t.Errorf("the root has %+v", cfg.Capacity.Root.Templates)
	}
}

// The FifoScheduler does not look at the queues of another one.
func TestFifo(t *testing.T) {
	cluster := Cluster{Policy: FifoPolicy, MinAllocation: yarn.NewResource(1, 1), MaxAllocation: yarn.NewResource(8, 8)}
	c, _, err := Parse([]Property{{Name: Prefix + "root.queues", Value: "a"}, {Name: Prefix + "root.a.capacity", Value: "wrong"}}, cluster)
	if err != nil || c.Capacity != nil || c.Fifo == nil || c.Dominant || c.Asynchronous {
		t.Fatalf("%+v, %v", c, err)
	}
	if way := c.Way("default"); len(way) != 1 || way[0].Path != FifoQueue || !way[0].Submit.Allows("ann", "", nil) || !way[0].Admin.Allows("ann", "", nil) {
		t.Errorf("%+v", way)
	}
	cluster.MinAllocation = yarn.NewResource(9, 1)
	if _, _, err := Parse(nil, cluster); err == nil {
		t.Error("a minimum above the maximum is accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("root.queues", "a,b", "root.a.capacity", "[memory=10%,vcores=2w]")
	f.Add("root.queues", "a", "root.a.accessible-node-labels.x.capacity", "1e99")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		c, err := parse(k1 + "=" + v1 + "\n" + k2 + "=" + v2 + "\nroot.queues=a")
		if (c == nil) == (err == nil) {
			t.Fatalf("configuration %v with error %v", c, err)
		}
	})
}

// Of queues that the allocation file does not name those above count that it names.
func TestFair(t *testing.T) {
	cluster := Cluster{Policy: FairPolicy, MaxAllocation: yarn.NewResource(8192, 4), Allocations: &AllocationFile{Name: "f.xml", Text: `<allocations>
  <queue name="a"><queue name="b"><aclSubmitApps>ann</aclSubmitApps></queue></queue>
</allocations>`}}
	cfg, _, err := Parse(nil, cluster)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"root": "root", "root.a": "root root.a", "root.a.b": "root root.a root.a.b", "root.a.c.d": "root root.a", "rooted.a": "root", "a": "root", "": "root"} {
		var got []string
		for _, q := range cfg.Way(path) {
			got = append(got, q.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the way to %q: %q, want %q", path, got, want)
		}
	}
	cluster.Allocations.Text = "<allocations>\n<queue name='a'><weight>x</weight></queue>\n<queue name='.'/></allocations>"
	if _, _, err := Parse(nil, cluster); err == nil || !strings.Contains(err.Error(), "f.xml:2") || !strings.Contains(err.Error(), "and 1 more") {
		t.Errorf("%v", err)
	}
}

// TestFairPlans: queues that can be reserved have the classes of the whole file, and their own lists; a list that is not there keeps nobody out.
func TestFairPlans(t *testing.T) {
	const none = `<queue name="a"/>`
	parse := func(file string) (*Config, error) {
		cfg, _, err := Parse(nil, Cluster{Policy: FairPolicy, MaxAllocation: yarn.NewResource(8192, 4), Allocations: &AllocationFile{Name: "f.xml", Text: "<allocations>" + file + "</allocations>"}})
		return cfg, err
	}
	cfg, err := parse(`<reservation-agent>` + reservationPackage + `planning.GreedyReservationAgent</reservation-agent><reservation-policy>` + reservationPackage +
		`NoOverCommitPolicy</reservation-policy><queue name="p"><reservation/><aclSubmitReservations>ann</aclSubmitReservations><aclListReservations> </aclListReservations></queue>` +
		`<queue name="a"><queue name="q"><reservation></reservation></queue></queue>`)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Fair.Plans) != 2 || cfg.Fair.Plans[0].Path != "root.p" || cfg.Fair.Plans[1].Path != "root.a.q" {
		t.Fatalf("%+v", cfg.Fair.Plans)
	}
	for i, who := range []string{"ann", "bob"} {
		for j, p := range cfg.Fair.Plans {
			c := p.Conf
			if got := c.Submit.Allows(who, "", nil); got != (i == 0 || j == 1) {
				t.Errorf("%s submits to %s: %v", who, p.Path, got)
			}
			if got := c.List.Allows(who, "", nil); got != (j == 1) {
				t.Errorf("%s lists %s: %v", who, p.Path, got)
			}
			if !c.Administer.Allows(who, "", nil) || !c.Greedy || !c.NoOverCommit || !c.MoveOnExpiry || c.ShowQueues || c.Window != 86_400_000 || c.Average != 100 ||
				c.Peak != 100 || c.Enforcement != 3_600_000 {
				t.Errorf("%s: %+v", p.Path, c)
			}
		}
	}
	for _, element := range []string{"reservation-agent", "reservation-policy", "reservation-planner"} {
		foreign := "<" + element + ">com.example.Mine</" + element + ">"
		if _, err := parse(foreign + none); err != nil {
			t.Errorf("nobody uses it: %v", err)
		}
		if _, err := parse(foreign + `<queue name="p"><reservation/></queue>`); err == nil || !strings.Contains(err.Error(), "f.xml: "+element+"=com.example.Mine: is none of the classes") {
			t.Errorf("%s: %v", element, err)
		}
	}
	if cfg, err := parse(none); err != nil || cfg.Fair.Plans != nil {
		t.Errorf("%v, %v", cfg, err)
	}
}

// TestPreemption: a wait that never ends does not overflow, and a percentage where a fraction is due is warned of.
func TestPreemption(t *testing.T) {
	props := []Property{{Name: Prefix + "root.queues", Value: "a"}, {Name: Prefix + "root.a.capacity", Value: "100"},
		{Name: PreemptionPrefix + "max_wait_before_kill", Value: "9223372036854775807"}, {Name: PreemptionPrefix + "monitoring_interval", Value: "9223372036854775807"},
		{Name: PreemptionPrefix + "total_preemption_per_round", Value: "10"}, {Name: PreemptionPrefix + "natural_termination_factor", Value: "NaN"}}
	c, warnings, err := Parse(props, Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 4)})
	if err != nil {
		t.Fatal(err)
	}
	p := &c.Capacity.Preemption
	if year := int64(365 * 86_400_000); p.Wait < year || 2*p.Wait < p.Wait || p.Interval < year || time.Duration(p.Interval)*time.Millisecond < 0 {
		t.Errorf("%+v", p)
	}
	said := fmt.Sprint(warnings)
	for _, key := range []string{"total_preemption_per_round", "natural_termination_factor"} {
		if !strings.Contains(said, PreemptionPrefix+key) {
			t.Errorf("no warning of %s in %s", key, said)
		}
	}
}

// A property without a name is refused: no store can keep it.
func TestMutationWithoutName(t *testing.T) {
	m := Mutation{Global: []Setting{{Key: "yarn.scheduler.capacity.maximum-applications", Value: "7"}, {Value: "v"}}}
	if got, err := m.Updates(nil); err == nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
