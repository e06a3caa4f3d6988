// Package config turns properties into one immutable value that says what the
// queues are and how they share. It is pure: properties come in as name, value
// and origin, and every complaint names all three and the rule that was broken.
package config

import (
	"fmt"
	"maps"
	"slices"

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
	Policy        Policy // yarn.resourcemanager.scheduler.class
	Types         yarn.ResourceTypes
	MinAllocation yarn.Resource // also the step to which asks are rounded
	MaxAllocation yarn.Resource
	MaxPriority   int32 // yarn.cluster.max-application-priority
	ACLEnabled    bool  // yarn.acl.enable
	Admins        string
	LabelsEnabled bool            // yarn.node-labels.enabled
	Labels        []Label         // those known at the start
	AMLabel       string          // yarn.resourcemanager.node-labels.am.default-node-label-expression
	Enforced      []string        // yarn.node-labels.exclusive-enforced-partitions
	AMSharing     bool            // yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation
	PortInName    bool            // yarn.scheduler.include-port-in-node-name
	Monitors      bool            // yarn.resourcemanager.scheduler.monitor.enable
	Preempts      bool            // and the monitor that preempts is among them
	MappingFile   string          // content of the file that mapping-rule-json-file names
	Allocations   *AllocationFile // of the FairScheduler; nil: there is none
	StartWait     int64           // milliseconds; work-preserving-recovery.scheduling-wait-ms
	Opportunistic bool            // yarn.resourcemanager.opportunistic-container-allocation.enabled: containers are promoted and demoted
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

// Policy is who decides: one of Apache's schedulers.
type Policy uint8

// The policies.
const (
	CapacityPolicy Policy = iota
	FifoPolicy
	FairPolicy
)

// Common is what every policy reads.
type Common struct {
	Cluster      Cluster
	Dominant     bool // resources are measured by dominant share
	Asynchronous bool // nodes are offered between heartbeats, too
	settings     *settings
}

// Config is a whole configuration, checked as far as possible without the
// nodes: what every policy reads, and the part of the one that decides. The
// others are nil. It never changes.
type Config struct {
	*Common
	Capacity *Capacity
	Fifo     *Fifo
	Fair     *Fair
}

// Property is one setting as it was given.
func (c *Common) Property(name string) (Property, bool) {
	p, ok := c.settings.values[name]
	return p, ok
}

// Properties are all settings as they were given, by name. With Cluster they make
// the same configuration again.
func (c *Common) Properties() []Property {
	names := slices.Sorted(maps.Keys(c.settings.values))
	out := make([]Property, len(names))
	for i, name := range names {
		out[i] = c.settings.values[name]
	}
	return out
}

// Origin is where the property was written. One that is not set belongs to the
// list of queues above it.
func (c *Common) Origin(name string) string { return c.settings.origin(name) }

// Governing is the property that decides what the one of that name is: itself or, where it is not set, the queue's for all partitions or that for all queues.
// False: its default does.
func (c *Common) Governing(name string) (Property, bool) { return c.settings.governing(name) }

// Way is the settings of the configured queues on the way to that path, the root first.
// It ends early at one that is not configured.
func (c *Config) Way(path string) []*queue.Settings {
	switch {
	case c.Fifo != nil:
		return c.Fifo.way(path)
	case c.Fair != nil:
		return c.Fair.way(path)
	}
	return c.Capacity.way(path)
}

// Parse reads the properties of the queue file. On an error the configuration
// is nil; findings always holds everything else that was noticed.
func Parse(properties []Property, cluster Cluster) (*Config, []Finding, error) {
	c := &Config{Common: &Common{Cluster: cluster}}
	if len(c.Cluster.Types) == 0 {
		c.Cluster.Types = yarn.BasicResourceTypes()
	}
	s := &settings{values: make(map[string]Property, len(properties)), cl: &c.Cluster}
	for _, p := range properties {
		s.values[p.Name] = p
	}
	c.settings = s
	s.sorted()
	s.allocations()
	switch cluster.Policy {
	case FifoPolicy:
		c.Fifo = s.forFifo(c.Common)
	case FairPolicy:
		c.Fair = s.forFair(c.Common)
	default:
		c.Capacity = s.forCapacity(c.Common)
	}
	if s.err != nil {
		return nil, s.notes, s.err
	}
	return c, s.notes, nil
}

// allocations checks the allocations that the cluster is configured with.
func (s *settings) allocations() {
	lo, hi := s.cl.MinAllocation, s.cl.MaxAllocation
	names := [...]string{"yarn.scheduler.minimum-allocation-mb", "yarn.scheduler.minimum-allocation-vcores"}
	for i, name := range names {
		above := int64(0)
		if s.cl.Policy == FairPolicy {
			above = -1 // sizes are multiples of the increment there
		}
		if lo[i] <= above || lo[i] > hi[i] {
			s.values[name] = Property{Name: name, Value: fmt.Sprint(lo[i])}
			s.fail(name, "must be above %d and at most the maximum allocation of %d", above, hi[i])
		}
	}
	if len(s.cl.Types) > yarn.MaxResourceTypes {
		s.fail("yarn.resource-types", "%d resource types, at most %d are supported", len(s.cl.Types), yarn.MaxResourceTypes)
	}
}
