package convert

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/lint"
	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/yarn"
)

// refusals is why a ResourceManager does not start with a result.
func refusals(r *Result) []string {
	in := lint.Input{File: "capacity-scheduler.xml", Properties: append(slices.Clone(r.Site), r.Queues...),
		Cluster: config.Cluster{Types: yarn.BasicResourceTypes(), MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 4), Monitors: true}}
	var out []string
	for _, f := range lint.Check(in) {
		if f.Severity == lint.Error && !slices.Contains(Delays(), f.Key) {
			out = append(out, f.String())
		}
	}
	return out
}

// writer makes random allocation files.
type writer struct {
	*rand.Rand
	strings.Builder
	parents []string // full names
}

func (w *writer) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w *writer) sometimes(element string, values ...string) {
	if w.IntN(4) == 0 {
		fmt.Fprintf(w, "<%s>%s</%s>", element, w.pick(values...), element)
	}
}

func (w *writer) queue(path string, depth int, drf bool) {
	name := fmt.Sprintf("q%d", w.IntN(1000))
	if w.IntN(20) == 0 {
		name = w.pick("a b", "é", "Default", "root", "x-y_z", "capacity", "queues", "$x", "q:1") + name
	}
	path += "." + name
	children := 0
	if depth > 0 && w.IntN(3) == 0 {
		children = w.IntN(4)
	}
	kind := ""
	if children == 0 && w.IntN(8) == 0 {
		kind = ` type="parent"`
	}
	fmt.Fprintf(w, `<queue name="%s"%s>`, name, kind)
	w.sometimes("weight", "0.5", "1.5", "3", "10", "10000", "0.1", "0.33", "12.345678", "1e-3", "2.0")
	w.sometimes("maxResources", "1024 mb, 4 vcores", "50%", "vcores=3")
	w.sometimes("minResources", "1024 mb, 4 vcores", "10%")
	w.sometimes("maxContainerAllocation", "2048 mb, 2 vcores", "vcores=3", "10%")
	w.sometimes("maxRunningApps", "0", "5", "2147483647")
	w.sometimes("aclSubmitApps", "*", " ", "al,bo g", " g")
	w.sometimes("allowPreemptionFrom", "true", "false")
	below := drf
	switch {
	case children == 0 && kind == "" && w.IntN(3) == 0:
		w.WriteString("<schedulingPolicy>fifo</schedulingPolicy>")
	case drf && w.IntN(4) == 0:
		w.WriteString("<schedulingPolicy>fair</schedulingPolicy>")
		below = false
	case drf:
		w.WriteString("<schedulingPolicy>drf</schedulingPolicy>")
	case kind != "" && w.IntN(2) == 0:
		w.WriteString("<schedulingPolicy>fifo</schedulingPolicy>")
	}
	if children == 0 && kind == "" {
		w.sometimes("maxAMShare", "0", "0.1", "-1", "1", "0.5")
		if w.IntN(10) == 0 {
			w.WriteString("<reservation/>")
		}
	} else {
		w.parents = append(w.parents, path)
	}
	for range children {
		w.queue(path, depth-1, below)
	}
	w.WriteString("</queue>")
}

func (w *writer) file() string {
	drf := w.IntN(2) == 0
	w.WriteString(`<allocations><queue name="root">`)
	if drf {
		w.WriteString("<schedulingPolicy>drf</schedulingPolicy>")
	}
	w.WriteString(`<queue name="first"/>`)
	for range w.IntN(12) {
		w.queue("root", 3, drf)
	}
	w.WriteString("</queue>")
	w.sometimes("queueMaxAppsDefault", "1", "50")
	w.sometimes("userMaxAppsDefault", "1", "50")
	w.sometimes("queueMaxAMShareDefault", "-1", "0.2", "1")
	w.sometimes("queueMaxResourcesDefault", "10%")
	if w.IntN(2) == 0 {
		w.WriteString(`<user name="d.d"><maxRunningApps>3</maxRunningApps></user>`)
	}
	if w.IntN(2) == 0 {
		fmt.Fprintf(w, policy, w.pick(`<rule name="specified"/>`, `<rule name="user" create="false"/>`, `<rule name="nestedUserQueue" create="false"><rule name="primaryGroup"/></rule>`)+
			w.pick(`<rule name="default"/>`, `<rule name="reject"/>`, `<rule name="primaryGroup"/>`, `<rule name="user"/>`))
	}
	w.WriteString("</allocations>")
	return w.String()
}

// Whatever is converted of a file within the CapacityScheduler's own limits, a ResourceManager starts with it.
func TestResultsAreAccepted(t *testing.T) {
	read, twice := 0, 0
	for seed := range uint64(1500) {
		w := &writer{Rand: rand.New(rand.NewPCG(seed, 1))}
		text := w.file()
		a, _, err := allocation.Parse([]byte(text), yarn.BasicResourceTypes())
		if err != nil {
			continue // two queues of a name, of which one is a parent
		}
		read++
		s := DefaultSettings()
		s.Preemption, s.Continuous, s.SizeBasedWeight, s.AssignMultiple = w.IntN(2) == 0, w.IntN(2) == 0, w.IntN(2) == 0, w.IntN(2) == 0
		s.UserAsDefaultQueue, s.AllowUndeclared, s.ReservationSystem = w.IntN(2) == 0, w.IntN(2) == 0, w.IntN(4) == 0
		if w.IntN(2) == 0 {
			s.MaxAssign, s.NodeThreshold = 5, 0.5
		}
		for _, o := range []Options{{}, {Percentages: true}, {Asynchronous: true, ObserveOnly: true, RulesToFile: true}, {SkipRules: true}} {
			r, findings, err := Convert(a, s, o)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			if again, said, _ := Convert(a, s, o); !reflect.DeepEqual(r, again) || !reflect.DeepEqual(findings, said) {
				t.Fatalf("seed %d: the second time it is another", seed)
			}
			if o.Percentages && emptyShare(r) {
				twice++
				continue // the one thing that percentages cannot say
			}
			if why := refusals(r); len(why) > 0 {
				t.Fatalf("seed %d, %+v:\n%s\n%s", seed, o, strings.Join(why, "\n"), text)
			}
			if (r.MappingRules == "") != o.SkipRules {
				t.Fatalf("seed %d: rules %q", seed, r.MappingRules)
			}
		}
	}
	if read < 1000 || twice > read/4 {
		t.Errorf("%d files were read, of %d the percentages leave a parent nothing", read, twice)
	}
}

// emptyShare tells whether a parent has 0% and a queue below more, which no ResourceManager accepts.
func emptyShare(r *Result) bool {
	for _, p := range r.Queues {
		path, ok := strings.CutSuffix(p.Name, ".capacity")
		if ok && p.Value == "0.000" && value(r.Queues, strings.TrimPrefix(path, config.Prefix)+".queues") != "unset" &&
			value(r.Queues, strings.TrimPrefix(path, config.Prefix)+".allow-zero-capacity-sum") == "unset" {
			return true
		}
	}
	return false
}

// No text makes a conversion panic, and its rules can be read.
func FuzzConvert(f *testing.F) {
	for seed := range uint64(20) {
		w := &writer{Rand: rand.New(rand.NewPCG(seed, 2))}
		f.Add(w.file(), "maxResources.action=abort\nmaxChildQueue.limit=4", seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, text, rules string, percentages bool) {
		actions, _, err := ReadActions(rules)
		if err != nil {
			return
		}
		a, _, err := allocation.Parse([]byte(text), yarn.BasicResourceTypes())
		if err != nil {
			return
		}
		r, _, err := Convert(a, DefaultSettings(), Options{Percentages: percentages, Actions: actions})
		if err != nil {
			return
		}
		if _, wrong := placement.Parse(placement.Settings{Format: placement.FormatJSON, JSON: r.MappingRules}); len(wrong) > 0 {
			t.Errorf("%v\n%s", wrong, r.MappingRules)
		}
		_ = refusals(r)
	})
}
