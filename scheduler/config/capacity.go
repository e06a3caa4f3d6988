package config

import (
	"math"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// Capacity is what the CapacityScheduler reads.
type Capacity struct {
	*Common
	Root *Queue

	Legacy              bool // legacy-queue-mode.enabled
	MaxSystemApps       int32
	MaxQueueApps        int32 // global-queue-max-application, -1 when unset
	ContinueLooking     bool  // reservations-continue-look-all-nodes
	NodeDelay           int32 // missed opportunities before a rack will do
	RackExtraDelay      int32 // and on top of them before any node will do; -1: by ratio
	RackFullReset       bool
	MultipleAssignments bool
	UserMetrics         bool  // metrics tell of users, too
	MaxAssignments      int32 // per heartbeat, -1 unlimited
	MaxOffSwitch        int32 // per heartbeat, at least 1
	ExpirySeconds       int64 // of empty dynamic queues
	RefreshInterval     int64 // milliseconds between two looks at the queue file, if it is followed

	userParallel        map[string]int32
	userParallelDefault int32
	Workflows           []Workflow
	WorkflowsOverride   bool
	Rules               *placement.Rules

	Preemption Preemption
}

// Workflow gives applications of a workflow in a queue their priority.
type Workflow struct {
	Name, Path string
	Priority   int32
}

// UserParallel is how many applications of the user may run at a time.
func (c *Capacity) UserParallel(user string) int32 {
	if n, ok := c.userParallel[user]; ok {
		return n
	}
	return c.userParallelDefault
}

const resourcePackage = "org.apache.hadoop.yarn.util.resource."

// forCapacity reads the part of the CapacityScheduler.
func (s *settings) forCapacity(common *Common) *Capacity {
	c := &Capacity{Common: common}
	s.calculator(c)
	c.global(s)
	c.placement(s)
	if s.err == nil {
		c.Root = s.readQueue(nil, queue.Root, 1)
	}
	if s.err == nil {
		s.err = c.checkTemplates(c.Root)
	}
	return c
}

func (s *settings) calculator(c *Capacity) {
	k := Prefix + "resource-calculator"
	switch text, ok := s.trimmed(k); {
	case !ok || text == resourcePackage+"DefaultResourceCalculator":
		if len(s.cl.Types) > 2 {
			s.fail(k, "DefaultResourceCalculator counts memory only; use DominantResourceCalculator with further resource types")
		}
	case text == resourcePackage+"DominantResourceCalculator":
		c.Dominant = true
	default:
		s.fail(k, "must be DefaultResourceCalculator or DominantResourceCalculator of %s", strings.TrimSuffix(resourcePackage, "."))
	}
}

func (c *Capacity) global(s *settings) {
	c.Legacy = s.legacy()
	c.Asynchronous = s.flag(Prefix+"schedule-asynchronously.enable", true)
	c.MaxSystemApps = s.int32(Prefix+"maximum-applications", 10000)
	c.MaxQueueApps = s.int32(Prefix+"global-queue-max-application", -1)
	c.ContinueLooking = s.flag(Prefix+"reservations-continue-look-all-nodes", true)
	c.NodeDelay = s.int32(Prefix+"node-locality-delay", 40)
	c.RackExtraDelay = s.int32(Prefix+"rack-locality-additional-delay", -1)
	c.RackFullReset = s.flag(Prefix+"rack-locality-full-reset", true)
	c.UserMetrics = s.flag(Prefix+"user-metrics.enable", false)
	c.MultipleAssignments = s.flag(Prefix+"per-node-heartbeat.multiple-assignments-enabled", true)
	c.MaxAssignments = s.int32(Prefix+"per-node-heartbeat.maximum-container-assignments", 100)
	c.MaxOffSwitch = max(1, s.int32(Prefix+"per-node-heartbeat.maximum-offswitch-assignments", 1))
	c.ExpirySeconds = s.number(Prefix+"auto-queue-creation-v2.queue-expiration-time", 300)
	c.RefreshInterval = s.milliseconds(Prefix+"queue.auto.refresh.monitoring-interval", 5000)
	c.parallel(s)
	c.workflows(s)
	c.Preemption.read(s)
	if k := Prefix + "multi-node-placement-enabled"; s.flag(k, false) {
		s.fail(k, "is not supported")
	}
}

func (c *Capacity) parallel(s *settings) {
	c.userParallel = map[string]int32{}
	c.userParallelDefault = s.int32(Prefix+"user.max-parallel-apps", math.MaxInt32)
	for _, rest := range s.under(Prefix + "user.") {
		if user, ok := strings.CutSuffix(rest, ".max-parallel-apps"); ok && user != "" {
			c.userParallel[user] = s.int32(Prefix+"user."+rest, c.userParallelDefault)
		}
	}
}

func (c *Capacity) workflows(s *settings) {
	k := Prefix + "workflow-priority-mappings"
	c.WorkflowsOverride = s.flag(k+"-override.enable", false)
	text, _ := s.text(k)
	for _, m := range list(text) {
		parts := strings.Split(m, ":")
		n, err := int64(0), error(nil)
		if len(parts) == 3 {
			n, err = strconv.ParseInt(strings.TrimSpace(parts[2]), 10, 32)
		}
		if len(parts) != 3 || err != nil {
			s.fail(k, "%q is not workflow:queue:priority", m)
			return
		}
		c.Workflows = append(c.Workflows, Workflow{strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]), int32(n)})
	}
}

func (c *Capacity) placement(s *settings) {
	text := func(name string) string {
		v, _ := s.text(name)
		return v
	}
	rules, findings := placement.Parse(placement.Settings{
		Override: s.flag(placement.PropOverride, false), Format: text(placement.PropFormat),
		Mappings: text(placement.PropMappings), AppMappings: text(placement.PropAppMappings),
		JSON: text(placement.PropJSON), JSONFile: s.cl.MappingFile, Placements: text(placement.PropPlacements),
	})
	for _, f := range findings {
		s.fail(f.Property, "%s", f.Complaint())
	}
	c.Rules = rules
}
