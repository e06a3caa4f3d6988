// Package setup makes the inputs of the scheduler and the engine from the
// configuration: the cluster and queues for the one, the settings for the other. It
// does no I/O, so that the simulator and the replayer start them as the daemon does.
package setup

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/opportunistic"
	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/yarn"
)

// Cluster is what the scheduler needs besides its queue file. site has core-site.xml
// and yarn-site.xml, types has resource-types.xml (both may be the same), labels are
// the known node labels.
func Cluster(site, types *conf.Properties, labels []config.Label) (config.Cluster, error) {
	s, err := conf.ReadResourceManager(site)
	if err != nil {
		return config.Cluster{}, err
	}
	r := conf.NewReader(site)
	const rm = "yarn.resourcemanager."
	c := config.Cluster{
		Policy:        policies[s.Allocation.Scheduler],
		MinAllocation: yarn.NewResource(s.Allocation.MinimumMB, int64(s.Allocation.MinimumVCores)),
		MaxAllocation: yarn.NewResource(s.Allocation.MaximumMB, int64(s.Allocation.MaximumVCores)),
		MaxPriority:   s.Applications.MaxPriority,
		ACLEnabled:    s.Security.ACLs,
		Admins:        r.String("yarn.admin.acl", "*"),
		LabelsEnabled: s.Labels.Enabled,
		Labels:        labels,
		AMLabel:       r.String(rm+"node-labels.am.default-node-label-expression", ""),
		Enforced:      strings.FieldsFunc(r.String("yarn.node-labels.exclusive-enforced-partitions", ""), func(c rune) bool { return c == ',' }),
		AMSharing:     r.Bool(rm+"node-labels.am.allow-non-exclusive-allocation", false),
		PortInName:    s.Allocation.PortInNodeName,
		Monitors:      r.Bool(rm+"scheduler.monitor.enable", false),
		Preempts:      s.Monitors.Preempt,
	}
	c.Opportunistic = s.Opportunistic.Enabled
	if s.Recovery.Enabled && s.Recovery.WorkPreserving {
		c.StartWait = s.Recovery.SchedulingWait.Milliseconds()
	}
	if err := r.Err(); err != nil {
		return config.Cluster{}, err
	}
	return c, addTypes(&c, types)
}

// policies are the schedulers by the names that package conf accepts.
var policies = map[string]config.Policy{"capacity": config.CapacityPolicy, "fair": config.FairPolicy, "fifo": config.FifoPolicy}

// addTypes enters the resource types and the smallest and largest amounts of
// those that are not memory and vcores.
func addTypes(c *config.Cluster, p *conf.Properties) error {
	const prefix = "yarn.resource-types"
	r := conf.NewReader(p)
	c.Types = yarn.BasicResourceTypes()
	for _, name := range r.Strings(prefix) {
		if c.Types.Index(name) >= 0 {
			continue // memory-mb and vcores may be listed; other properties have their minimum and maximum
		}
		i := len(c.Types)
		if i == yarn.MaxResourceTypes {
			return fmt.Errorf("%s: more than %d resource types, with memory and vcores; leave some out", prefix, yarn.MaxResourceTypes)
		}
		if strings.ContainsAny(name, " \t\n") {
			return fmt.Errorf("%s: %q is not a name of a resource type", prefix, name)
		}
		k := prefix + "." + name + "."
		c.Types = append(c.Types, yarn.ResourceType{Name: name, Units: r.String(k+"units", "")})
		c.MinAllocation[i] = r.Int64(k+"minimum-allocation", 0, conf.NotBelow(0))
		c.MaxAllocation[i] = r.Int64(k+"maximum-allocation", math.MaxInt64, conf.NotBelow(0))
	}
	return r.Err()
}

// placementRules is the prefix of placement properties that are older than the
// CapacityScheduler's.
const placementRules = "yarn.scheduler.queue-placement-rules"

// Queues are the properties that the scheduler reads: those of the CapacityScheduler's
// queues, where p has the queue file over the site's files, which may have such properties,
// too; or those of the FairScheduler.
func Queues(p *conf.Properties, policy config.Policy) []config.Property {
	values := append(p.WithPrefix(config.Prefix), p.WithPrefix(placementRules)...)
	values = append(values, p.WithPrefix(config.PreemptionPrefix)...)
	if policy == config.FairPolicy {
		values = append(p.WithPrefix(config.FairPrefix), p.WithPrefix("yarn.scheduler.increment-allocation-")...)
		values = append(values, p.WithPrefix("yarn.scheduler.reservation-threshold.")...)
		values = append(values, p.WithPrefix("yarn.resource-types.")...)
	}
	out := make([]config.Property, len(values))
	for i, v := range conf.Plain(values) {
		out[i] = config.Property(v)
	}
	return out
}

// MappingFile is the file of mapping rules that the queue file names and uses;
// empty if it uses none (mapping-rule-json-file).
func MappingFile(queues *conf.Properties) string {
	if queues.Get(placement.PropJSON) != "" || queues.Get(placement.PropFormat) != placement.FormatJSON {
		return ""
	}
	return strings.TrimSpace(queues.Get(placement.PropJSONFile))
}

// Settings are the engine's settings, but for those of logs and pages, which the daemon
// adds. started is the cluster timestamp, epoch as in state.Snapshot.
func Settings(s *conf.ResourceManager, cfg *config.Config, started time.Time, epoch int64) (engine.Settings, error) {
	if cfg == nil {
		return engine.Settings{}, errors.New("settings of the engine: there is no scheduler configuration")
	}
	a := s.Applications
	return engine.Settings{
		ClusterTimestamp:  started.UnixMilli(),
		Epoch:             epoch,
		NodeExpiry:        s.Nodes.Expiry.Milliseconds(),
		MasterExpiry:      a.MasterExpiry.Milliseconds(),
		AllocationExpiry:  s.Allocation.ExpiryInterval.Milliseconds(),
		MaxAttempts:       int32(min(a.MaxAttempts, math.MaxInt32)),
		GlobalMaxAttempts: int32(min(a.GlobalMaxAttempts, math.MaxInt32)),
		MaxCompleted:      a.MaxCompleted,
		Sweeps:            cfg.Asynchronous,
		AutoUpdate:        s.Allocation.AutoUpdate,
		Fair:              cfg.Fair != nil,
		Correct:           s.Allocation.Correct,
		Labels:            cfg.Cluster.LabelsEnabled,
		LabelsByNodes:     s.Labels.ByNodes,
		Dominant:          cfg.Dominant,
		NodeMinimum:       yarn.NewResource(s.Allocation.MinimumMB, int64(s.Allocation.MinimumVCores)),
		ResourceTypes:     cfg.Cluster.Types,
		Reservations:      reservations(s, cfg),
		UntrackedTimeout:  s.Nodes.UntrackedTimeout.Milliseconds(),
		RemovedStates:     s.Nodes.RemovedStates,
		Opportunistic:     lending(&s.Opportunistic),
	}, nil
}

// comparators of nodes by their names.
var comparators = map[string]opportunistic.Comparator{"QUEUE_LENGTH": opportunistic.QueueLength, "QUEUE_WAIT_TIME": opportunistic.QueueWaitTime,
	"QUEUE_LENGTH_THEN_RESOURCES": opportunistic.QueueLengthThenResources}

func lending(o *conf.Opportunistic) opportunistic.Settings {
	return opportunistic.Settings{
		Enabled: o.Enabled, Nodes: o.Nodes, PerCall: max(o.PerHeartbeat, 0), Interval: o.Order.Milliseconds(), Comparator: comparators[o.Comparator],
		Deviations: o.Deviations, Lowest: o.Lowest, Highest: o.Highest,
	}
}

// reservations are the settings of the reservation system.
func reservations(s *conf.ResourceManager, cfg *config.Config) engine.Reservations {
	r := s.Reservations
	out := engine.Reservations{Enabled: r.Enabled, ACLs: r.ACLs, Step: max(1, r.Step.Milliseconds()), MaxPeriod: r.MaxPeriod, Early: r.Early, Smoothness: r.Smoothness,
		Calc: measure.Calculator{Dominant: cfg.Dominant, Types: len(cfg.Cluster.Types)}, Max: cfg.Cluster.MaxAllocation}
	if s.Recovery.Enabled { // a NodeManager may try to come back only every half minute; it counts as lost after its expiry
		out.Patience = max(cfg.Cluster.StartWait, s.Nodes.Expiry.Milliseconds())
	}
	return out
}
