package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// FairPrefix heads the properties of the FairScheduler.
const FairPrefix = "yarn.scheduler.fair."

// Properties of the FairScheduler with other names.
const (
	incrementMB       = "yarn.scheduler.increment-allocation-mb"
	incrementVCores   = "yarn.scheduler.increment-allocation-vcores"
	incrementMultiple = "yarn.scheduler.reservation-threshold.increment-multiple"
	typePrefix        = "yarn.resource-types."
	typeIncrement     = ".increment-allocation"
)

// AllocationFile is a fair-scheduler.xml as it was read.
type AllocationFile struct{ Name, Text string }

// Fair is what the FairScheduler reads: its properties, and its allocation file.
type Fair struct {
	*Common
	*allocation.Allocation
	Rules []allocation.PlacementRule
	Plans []FairPlan

	Preemption     bool
	Utilization    float32 // preemption.cluster-utilization-threshold: of the cluster, above which containers are preempted
	KillWait       int64   // waitTimeBeforeKill: milliseconds from the notice to the end
	StarvationWait int64   // waitTimeBeforeNextStarvationCheck: milliseconds
	keepMasters    bool    // am.preemption is false
	masters        map[string]bool

	Multiple      bool  // assignmultiple
	HalfOfNode    bool  // dynamic.max.assign: a heartbeat may fill half of what is free on its node
	MaxAssign     int32 // otherwise: containers of a heartbeat; 0 or less: as many as fit
	SizeWeight    bool  // sizebasedweight
	NodeThreshold float64
	RackThreshold float64

	UpdateInterval int64         // milliseconds between two computations of shares; 0: never
	Reservable     float32       // reservable-nodes: of the nodes that one application may reserve
	Increment      yarn.Resource // sizes of containers are multiples of it
	Threshold      yarn.Resource // the smallest container that a node is reserved for
}

// PreemptMasters tells whether masters in that queue may be preempted.
func (c *Fair) PreemptMasters(path string) bool {
	if may, ok := c.masters[path]; ok {
		return may
	}
	return !c.keepMasters
}

// forFair reads the part of the FairScheduler.
func (s *settings) forFair(common *Common) *Fair {
	f := func(name string) string { return FairPrefix + name }
	c := &Fair{Common: common,
		Preemption:     s.flag(f("preemption"), false),
		Utilization:    s.float(f("preemption.cluster-utilization-threshold"), 0.8),
		KillWait:       s.number(f("waitTimeBeforeKill"), 15000),
		StarvationWait: s.number(f("waitTimeBeforeNextStarvationCheck"), 10000),
		keepMasters:    !s.flag(f("am.preemption"), true),
		masters:        map[string]bool{},
		Multiple:       s.flag(f("assignmultiple"), false),
		HalfOfNode:     s.flag(f("dynamic.max.assign"), true),
		MaxAssign:      s.int32(f("max.assign"), -1),
		SizeWeight:     s.flag(f("sizebasedweight"), false),
		NodeThreshold:  float64(s.float(f("locality.threshold.node"), -1)),
		RackThreshold:  float64(s.float(f("locality.threshold.rack"), -1)),
		UpdateInterval: s.number(f("update-interval-ms"), 500),
		Reservable:     s.float(f("reservable-nodes"), 0.05),
	}
	for _, path := range s.under(f("am.preemption.")) {
		c.masters[path] = s.flag(f("am.preemption."+path), true)
	}
	if c.UpdateInterval < 0 {
		s.warn(f("update-interval-ms"), "must not be negative; 500 is used")
		c.UpdateInterval = 500
	}
	if s.flag(f("continuous-scheduling-enabled"), false) {
		s.warn(f("continuous-scheduling-enabled"), "is not supported: nodes are offered by their heartbeats alone; "+FairPrefix+"assignmultiple has one heartbeat fill a node")
	}
	s.increments(c)
	s.allocationFile(c)
	return c
}

// increments reads the steps of sizes, and the threshold of reservations that follows from them.
func (s *settings) increments(c *Fair) {
	for i, t := range s.cl.Types {
		c.Increment[i] = s.increment(i, t)
	}
	multiple := s.float(incrementMultiple, 2)
	for i := range s.cl.Types {
		c.Threshold[i] = int64(float64(c.Increment[i]) * float64(multiple))
	}
}

func (s *settings) increment(i int, t yarn.ResourceType) int64 {
	key, n := typePrefix+t.Name+typeIncrement, int64(0)
	switch i {
	case yarn.Memory:
		n = s.number(incrementMB, 1024)
	case yarn.VCores:
		n = s.number(incrementVCores, 1)
	}
	used := map[int]string{yarn.Memory: incrementMB, yarn.VCores: incrementVCores}[i]
	if text, ok := s.trimmed(key); ok {
		unit := strings.TrimLeft(text, "0123456789")
		v, err := strconv.ParseInt(strings.TrimSuffix(text, unit), 10, 64)
		unit = strings.TrimSpace(unit)
		if err != nil || !knownUnit(unit) {
			s.fail(key, "must be a whole number, with or without a unit such as Mi")
			return 1
		}
		n, used = inUnits(v, unit, t.Units), key
	}
	if n <= 0 && i <= yarn.VCores {
		s.fail(used, "must be above 0")
		return 1
	}
	return n
}

// inUnits converts an amount from a unit to another; without a unit it is left as it is.
func inUnits(n int64, unit, to string) int64 {
	if unit == "" || unit == to {
		return n
	}
	from, into := unitScale[unit], unitScale[to]
	return int64(float64(n) * float64(from[0]) / float64(from[1]) * float64(into[1]) / float64(into[0]))
}

// allocationFile reads the queues and the rules of placement.
func (s *settings) allocationFile(c *Fair) {
	file := s.cl.Allocations
	text := "<" + allocation.Root + "/>"
	if file != nil {
		text = file.Text
	}
	a, findings, err := allocation.Parse([]byte(text), s.cl.Types)
	for _, f := range findings {
		if f.Severity == allocation.Warning {
			s.notes = append(s.notes, Finding{Key: f.Key, Value: f.Value, Rule: f.What, Origin: lineOf(file, f), Warning: true})
		}
	}
	if err != nil {
		s.refuseFile(file, err)
		return
	}
	c.Allocation, c.Rules = a, a.Rules
	if c.Rules == nil {
		c.Rules = allocation.DefaultRules(s.flag(FairPrefix+"allow-undeclared-pools", true), s.flag(FairPrefix+"user-as-default-queue", true))
	}
	c.Plans = s.fairPlans(c, file)
}

// refuseFile makes an error of the first thing that is wrong with an allocation file, if there is no error yet.
func (s *settings) refuseFile(file *AllocationFile, err error) {
	var list allocation.Errors
	if s.err != nil || !errors.As(err, &list) {
		return
	}
	f, rule := list[0], list[0].What
	if f.Fix != "" {
		rule += "; " + f.Fix
	}
	if n := len(list) - 1; n > 0 {
		rule += fmt.Sprintf(" (and %d more; yarn queue -lint shows all)", n)
	}
	s.err = &Error{Finding{Key: f.Key, Value: f.Value, Rule: rule, Origin: lineOf(file, f)}}
}

// lineOf is the file of a finding, and its line if it has one.
func lineOf(file *AllocationFile, f allocation.Finding) string {
	if f.Line == 0 {
		return file.Name
	}
	return fmt.Sprintf("%s:%d", file.Name, f.Line)
}

// warn notes that the value of a property is not used as it is.
func (s *settings) warn(key, rule string) {
	p := s.values[key]
	s.notes = append(s.notes, Finding{Key: key, Value: p.Value, Rule: rule, Origin: p.Origin, Warning: true})
}

// way is the settings of the queues from the root down to path, as far as the file names them.
func (c *Fair) way(path string) []*queue.Settings {
	out := []*queue.Settings{c.Settings(c.Root)}
	for i := len(c.Root.Path) + 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '.' {
			continue
		}
		q := c.Queue(path[:i])
		if q == nil {
			break
		}
		out = append(out, c.Settings(q))
	}
	return out
}

// Settings are what every policy reads of a queue that the file names.
func (c *Fair) Settings(q *allocation.Queue) *queue.Settings {
	return &queue.Settings{Path: q.Path, Name: q.Name, MaxAllocation: q.MaxContainer, Submit: q.Submit, Admin: q.Administer,
		MaxLifetime: -1, DefaultLifetime: -1}
}

// Unnamed is a queue that the file does not name, below another: what its own settings would be.
func (c *Fair) Unnamed(path string, above *allocation.Queue) *allocation.Queue {
	q := &allocation.Queue{Name: queue.Short(path), Path: path, Weight: 1, Max: c.Defaults.QueueMax, MaxContainer: above.MaxContainer,
		MaxApps: c.Defaults.QueueMaxApps, MaxAMShare: c.Defaults.QueueMaxAMShare, Policy: c.Defaults.Policy,
		MinShareTimeout: above.MinShareTimeout, FairShareTimeout: above.FairShareTimeout, FairShareThreshold: above.FairShareThreshold,
		Preemptable: above.Preemptable}
	if above.MaxChild != nil {
		q.Max = *above.MaxChild
	}
	return q
}
