package fair_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// scene is what stays the same while a play lasts, whatever its configurations are.
type scene struct {
	types yarn.ResourceTypes
	drf   bool // some queues may have DRF; then none has weight 0, because what is divided by it has no order
	props []config.Property
	eager bool   // nobody starves long
	file  string // as last drawn
}

func drawScene(t *rapid.T) *scene {
	sc := &scene{types: yarn.BasicResourceTypes()}
	if rapid.IntRange(0, 3).Draw(t, "gpus") == 3 {
		sc.types = append(sc.types, yarn.ResourceType{Name: "gpu"})
	}
	sc.drf = rapid.Bool().Draw(t, "drf")
	set := func(name string, values ...string) {
		if v := rapid.SampledFrom(values).Draw(t, name); v != "" {
			sc.props = append(sc.props, config.Property{Name: name, Value: v, Origin: "test"})
		}
	}
	set(config.FairPrefix+"assignmultiple", "", "true", "false")
	set(config.FairPrefix+"dynamic.max.assign", "", "false", "true")
	set(config.FairPrefix+"max.assign", "", "2", "3")
	set(config.FairPrefix+"sizebasedweight", "", "true")
	set(config.FairPrefix+"locality.threshold.node", "", "0.5", "1.5", "0")
	set(config.FairPrefix+"locality.threshold.rack", "", "0.7", "0.2")
	set(config.FairPrefix+"reservable-nodes", "", "0.5", "1")
	set("yarn.scheduler.increment-allocation-mb", "512", "")
	set("yarn.scheduler.reservation-threshold.increment-multiple", "", "1", "4")
	set(config.FairPrefix+"preemption", "true", "")
	set(config.FairPrefix+"preemption.cluster-utilization-threshold", "", "0.3", "0")
	set(config.FairPrefix+"waitTimeBeforeKill", "", "2000")
	set(config.FairPrefix+"waitTimeBeforeNextStarvationCheck", "", "3000")
	set(config.FairPrefix+"am.preemption", "", "false")
	return sc
}

// drawn is a queue of a file that is being drawn.
type drawn struct {
	b      strings.Builder
	t      *rapid.T
	sc     *scene
	indent string
}

func (d *drawn) line(format string, args ...any) {
	fmt.Fprintf(&d.b, "%s%s\n", d.indent, fmt.Sprintf(format, args...))
}

// some writes an element with one of the values, or none.
func (d *drawn) some(name string, values ...string) {
	if v := rapid.SampledFrom(values).Draw(d.t, name); v != "" {
		d.line("<%s>%s</%s>", name, v, name)
	}
}

// queue draws a queue and those below it. Below a queue with policy fair nobody has DRF.
func (d *drawn) queue(name string, depth int, mayDRF bool) {
	kind := rapid.SampledFrom([]string{"leaf", "parent", "absent", "bare"}).Draw(d.t, name)
	if kind == "absent" {
		return
	}
	if kind == "bare" && depth > 0 {
		d.line(`<queue name=%q type="parent"/>`, name)
		return
	}
	d.line("<queue name=%q>", name)
	d.indent += "  "
	defer func() {
		d.indent = d.indent[2:]
		d.line("</queue>")
	}()
	policies := []string{"", "fair", "fifo"}
	if mayDRF {
		policies = []string{"drf", "fair", "fifo"}
	}
	if kind == "parent" && depth > 0 {
		policies = policies[:2]
	}
	policy := rapid.SampledFrom(policies).Draw(d.t, "policy")
	if policy != "" {
		d.line("<schedulingPolicy>%s</schedulingPolicy>", policy)
	}
	weights := []string{"", "2", "0.5", "3", "0.7", "0"}
	if d.sc.drf {
		weights = weights[:5]
	}
	d.some("weight", weights...)
	d.some("minResources", "4096 mb, 2 vcores", "1024 mb, 1 vcores", "", "vcores=6, memory-mb=9000")
	d.some("maxResources", "", "", "50%", "12288 mb, 9 vcores", "vcores=7", "30% cpu, 80% memory", "4000 mb, 3 vcores")
	d.some("maxRunningApps", "", "", "1", "2", "3")
	d.some("maxContainerAllocation", "", "", "", "4096 mb, 3 vcores")
	d.some("minSharePreemptionTimeout", "", "", "0", "3", "10")
	d.some("fairSharePreemptionTimeout", "", "", "0", "3", "10")
	d.some("fairSharePreemptionThreshold", "", "", "1", "0.8")
	d.some("allowPreemptionFrom", "", "", "", "false")
	if kind != "parent" || depth == 0 {
		d.some("maxAMShare", "", "-1", "0.3", "1", "0.1")
		return
	}
	d.some("maxChildResources", "", "", "6000 mb, 5 vcores", "20%")
	d.below(depth-1, policy == "drf")
}

func (d *drawn) below(depth int, mayDRF bool) {
	for _, name := range []string{"a", "b", "c"} {
		d.queue(name, depth, mayDRF)
	}
}

// drawFile draws an allocation file.
func (sc *scene) drawFile(t *rapid.T) string {
	d := &drawn{t: t, sc: sc, indent: "  "}
	policies := []string{"", "fair"}
	if sc.drf {
		policies = []string{"drf", "", "fair"}
	}
	root := rapid.SampledFrom(policies).Draw(t, "root's policy")
	others := ""
	if root != "" {
		others = rapid.SampledFrom([]string{"", root}).Draw(t, "others' policy")
	}
	if others != "" {
		d.line("<defaultQueueSchedulingPolicy>%s</defaultQueueSchedulingPolicy>", others)
	}
	d.some("userMaxAppsDefault", "", "", "4", "2")
	d.some("queueMaxAppsDefault", "", "", "3", "1")
	d.some("queueMaxAMShareDefault", "", "0.8", "0.2", "-1")
	d.some("queueMaxResourcesDefault", "", "", "16384 mb, 10 vcores", "70%")
	d.some("defaultMinSharePreemptionTimeout", "", "5")
	if sc.eager {
		d.some("defaultFairSharePreemptionTimeout", "2", "0")
	} else {
		d.some("defaultFairSharePreemptionTimeout", "", "2", "8")
	}
	if rapid.Bool().Draw(t, "limit of bob") {
		d.line(`<user name="bob"><maxRunningApps>1</maxRunningApps></user>`)
	}
	d.line(`<queue name="root">`)
	d.indent = "    "
	if root != "" {
		d.line("<schedulingPolicy>%s</schedulingPolicy>", root)
	}
	d.some("maxRunningApps", "", "", "5", "3")
	d.some("maxResources", "", "", "", "80%")
	d.below(2, root == "drf")
	d.indent = "  "
	d.line("</queue>")
	return "<allocations>\n" + d.b.String() + "</allocations>\n"
}

// cluster is what a configuration with that file is parsed for.
func (sc *scene) cluster(file string) config.Cluster {
	cl := config.Cluster{Policy: config.FairPolicy, MinAllocation: yarn.NewResource(0, 1), MaxAllocation: yarn.NewResource(8192, 8), MaxPriority: 5,
		Types: sc.types, Allocations: &config.AllocationFile{Name: "fair-scheduler.xml", Text: file}}
	if len(sc.types) > 2 {
		cl.MaxAllocation[2] = 4
	}
	return cl
}

// draw draws a configuration; files that are refused are drawn again.
func (sc *scene) draw(t *rapid.T) *config.Config {
	for {
		file := sc.drawFile(t)
		cfg, _, err := config.Parse(sc.props, sc.cluster(file))
		if err == nil {
			sc.file = file
			return cfg
		}
		if !strings.Contains(err.Error(), "is not possible below") {
			t.Fatalf("%v\n%s", err, file)
		}
	}
}
