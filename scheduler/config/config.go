// Package config turns properties into one immutable value that says what the
// queues are and how they share. It is pure: properties come in as name, value
// and origin, and every complaint names all three and the rule that was broken.
package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Property is one setting. Origin is where it was written, such as
// "capacity-scheduler.xml:12"; it is only repeated in findings.
type Property struct{ Name, Value, Origin string }

// Label is a partition of the cluster. Idle room of one that is not exclusive
// is lent to asks without a label.
type Label struct {
	Name      string
	Exclusive bool
}

// Cluster holds the settings from outside of the queue file that decisions
// depend on.
type Cluster struct {
	Types         yarn.ResourceTypes
	MinAllocation yarn.Resource // also the step to which asks are rounded
	MaxAllocation yarn.Resource
	MaxPriority   int32 // yarn.cluster.max-application-priority
	ACLEnabled    bool  // yarn.acl.enable
	Admins        string
	LabelsEnabled bool     // yarn.node-labels.enabled
	Labels        []Label  // those known at the start
	AMLabel       string   // yarn.resourcemanager.node-labels.am.default-node-label-expression
	Enforced      []string // yarn.node-labels.exclusive-enforced-partitions
	AMSharing     bool     // yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation
	PortInName    bool     // yarn.scheduler.include-port-in-node-name
	Monitors      bool     // yarn.resourcemanager.scheduler.monitor.enable
	// IntraQueuePreemption is
	// yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled.
	IntraQueuePreemption bool
	MappingFile          string // content of the file that mapping-rule-json-file names
	StartWait            int64  // milliseconds; work-preserving-recovery.scheduling-wait-ms
}

// Finding is one complaint about a property.
type Finding struct {
	Key, Value, Rule, Origin string
	Warning                  bool // the configuration works without it
}

func (f Finding) String() string {
	s := fmt.Sprintf("%s=%s: %s", f.Key, f.Value, f.Rule)
	if f.Origin != "" {
		s = f.Origin + ": " + s
	}
	return s
}

// Error is a configuration that cannot be used, by the first rule it breaks.
type Error struct{ Finding Finding }

func (e *Error) Error() string { return "configuration refused: " + e.Finding.String() }

// Config is a whole configuration, checked as far as possible without the
// nodes. It never changes.
type Config struct {
	Cluster Cluster
	Root    *Queue

	Dominant            bool // resources are measured by dominant share
	Legacy              bool // legacy-queue-mode.enabled
	Asynchronous        bool // schedule-asynchronously.enable
	MaxSystemApps       int32
	MaxQueueApps        int32 // global-queue-max-application, -1 when unset
	ContinueLooking     bool  // reservations-continue-look-all-nodes
	NodeDelay           int32 // missed opportunities before a rack will do
	RackExtraDelay      int32 // and on top of them before any node will do; -1: by ratio
	RackFullReset       bool
	MultipleAssignments bool
	MaxAssignments      int32 // per heartbeat, -1 unlimited
	MaxOffSwitch        int32 // per heartbeat, at least 1
	ExpirySeconds       int64 // of empty dynamic queues

	userParallel        map[string]int32
	userParallelDefault int32
	Workflows           []Workflow
	WorkflowsOverride   bool
	Rules               *placement.Rules
	settings            *settings
}

// Workflow gives applications of a workflow in a queue their priority.
type Workflow struct {
	Name, Path string
	Priority   int32
}

// UserParallel is how many applications of the user may run at a time.
func (c *Config) UserParallel(user string) int32 {
	if n, ok := c.userParallel[user]; ok {
		return n
	}
	return c.userParallelDefault
}

// Property is one setting as it was given.
func (c *Config) Property(name string) (Property, bool) {
	p, ok := c.settings.values[name]
	return p, ok
}

// Properties are all settings as they were given, by name. With Cluster they make
// the same configuration again.
func (c *Config) Properties() []Property {
	names := slices.Sorted(maps.Keys(c.settings.values))
	out := make([]Property, len(names))
	for i, name := range names {
		out[i] = c.settings.values[name]
	}
	return out
}

// Origin is where the property was written. One that is not set belongs to the
// list of queues above it.
func (c *Config) Origin(name string) string { return c.settings.origin(name) }

const resourcePackage = "org.apache.hadoop.yarn.util.resource."

// Parse reads the properties of the queue file. On an error the configuration
// is nil; findings always holds everything else that was noticed.
func Parse(properties []Property, cluster Cluster) (*Config, []Finding, error) {
	c := &Config{Cluster: cluster}
	if len(c.Cluster.Types) == 0 {
		c.Cluster.Types = yarn.BasicResourceTypes()
	}
	s := &settings{values: make(map[string]Property, len(properties)), cl: &c.Cluster}
	for _, p := range properties {
		s.values[p.Name] = p
	}
	c.settings = s
	s.sorted()
	s.cluster(c)
	c.global(s)
	c.placement(s)
	if s.err == nil {
		c.Root = s.readQueue(nil, queue.Root, 1)
	}
	if s.err != nil {
		return nil, s.notes, s.err
	}
	if err := c.checkTemplates(c.Root); err != nil {
		return nil, s.notes, err
	}
	return c, s.notes, nil
}

// cluster checks the allocations that the cluster is configured with.
func (s *settings) cluster(c *Config) {
	lo, hi := s.cl.MinAllocation, s.cl.MaxAllocation
	names := [...]string{"yarn.scheduler.minimum-allocation-mb", "yarn.scheduler.minimum-allocation-vcores"}
	for i, name := range names {
		if lo[i] <= 0 || lo[i] > hi[i] {
			s.values[name] = Property{Name: name, Value: fmt.Sprint(lo[i])}
			s.fail(name, "must be above 0 and at most the maximum allocation of %d", hi[i])
		}
	}
	if len(s.cl.Types) > yarn.MaxResourceTypes {
		s.fail("yarn.resource-types", "%d resource types, at most %d are supported", len(s.cl.Types), yarn.MaxResourceTypes)
	}
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

func (c *Config) global(s *settings) {
	c.Legacy = s.legacy()
	c.Asynchronous = s.flag(Prefix+"schedule-asynchronously.enable", true)
	c.MaxSystemApps = s.int32(Prefix+"maximum-applications", 10000)
	c.MaxQueueApps = s.int32(Prefix+"global-queue-max-application", -1)
	c.ContinueLooking = s.flag(Prefix+"reservations-continue-look-all-nodes", true)
	c.NodeDelay = s.int32(Prefix+"node-locality-delay", 40)
	c.RackExtraDelay = s.int32(Prefix+"rack-locality-additional-delay", -1)
	c.RackFullReset = s.flag(Prefix+"rack-locality-full-reset", true)
	c.MultipleAssignments = s.flag(Prefix+"per-node-heartbeat.multiple-assignments-enabled", true)
	c.MaxAssignments = s.int32(Prefix+"per-node-heartbeat.maximum-container-assignments", 100)
	c.MaxOffSwitch = max(1, s.int32(Prefix+"per-node-heartbeat.maximum-offswitch-assignments", 1))
	c.ExpirySeconds = s.number(Prefix+"auto-queue-creation-v2.queue-expiration-time", 300)
	c.parallel(s)
	c.workflows(s)
	for _, k := range []string{"multi-node-placement-enabled", "lazy-preemption-enabled"} {
		if s.flag(Prefix+k, false) {
			s.fail(Prefix+k, "is not supported")
		}
	}
}

func (c *Config) parallel(s *settings) {
	c.userParallel = map[string]int32{}
	c.userParallelDefault = s.int32(Prefix+"user.max-parallel-apps", math.MaxInt32)
	for _, rest := range s.under(Prefix + "user.") {
		if user, ok := strings.CutSuffix(rest, ".max-parallel-apps"); ok && user != "" {
			c.userParallel[user] = s.int32(Prefix+"user."+rest, c.userParallelDefault)
		}
	}
}

func (c *Config) workflows(s *settings) {
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

func (c *Config) placement(s *settings) {
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
