// Package convert makes a CapacityScheduler's configuration of a FairScheduler's: properties of the queue file, properties
// of yarn-site.xml and mapping rules, and a finding for everything that has no equal there. It is pure: an allocation file
// that was read and settings come in, values go out. yarn fs2cs reads and writes the files.
//
// Names and values are those that Apache's yarn fs2cs 3.5.0 writes for the same input, as recorded of it.
package convert

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/config"
)

// Settings are the FairScheduler's own properties in yarn-site.xml, as far as anything becomes of them. Names without a
// prefix begin with yarn.scheduler.fair.
type Settings struct {
	Preemption         bool
	WaitBeforeKill     int32 // waitTimeBeforeKill, milliseconds
	CheckInterval      int32 // waitTimeBeforeNextStarvationCheck, milliseconds
	AssignMultiple     bool
	MaxAssign          int32   // NoMaxAssign for no limit
	Continuous         bool    // continuous-scheduling-enabled
	ContinuousSleep    int32   // continuous-scheduling-sleep-ms
	NodeThreshold      float32 // locality.threshold.node; NoThreshold if there is none
	RackThreshold      float32 // locality.threshold.rack; NoThreshold if there is none
	SizeBasedWeight    bool
	UserAsDefaultQueue bool
	AllowUndeclared    bool // allow-undeclared-pools
	ReservationSystem  bool // yarn.resourcemanager.reservation-system.enable
}

const (
	// NoMaxAssign leaves the number of containers that one heartbeat assigns open.
	NoMaxAssign int32 = -1
	// NoThreshold is a locality threshold that lets nobody wait.
	NoThreshold float32 = -1
)

// DefaultSettings are those of a yarn-site.xml that says nothing.
func DefaultSettings() Settings {
	return Settings{WaitBeforeKill: 15000, CheckInterval: 10000, MaxAssign: NoMaxAssign, ContinuousSleep: 5,
		NodeThreshold: NoThreshold, RackThreshold: NoThreshold, UserAsDefaultQueue: true, AllowUndeclared: true}
}

// Options say how to convert.
type Options struct {
	Percentages  bool // capacities are percentages; else they are weights, and parents create queues
	Asynchronous bool // nodes are offered between heartbeats
	ObserveOnly  bool // preemption only observes
	RulesToFile  bool // the mapping rules are in no property
	SkipRules    bool // there are no mapping rules
	Actions      Actions
}

// Result is a CapacityScheduler's configuration.
type Result struct {
	Site         []config.Property // for yarn-site.xml; sorted by name, without origins
	Queues       []config.Property // for capacity-scheduler.xml; the same
	MappingRules string            // JSON; "" with Options.SkipRules
}

// Severity tells what a finding does to the conversion.
type Severity uint8

// The severities.
const (
	Warning Severity = iota // something is left out, or becomes something else
	Abort                   // the same, and the conversion rules want it to end the conversion
)

// Finding is one thing that has no equal in a CapacityScheduler's configuration.
type Finding struct {
	Severity Severity
	Text     string // the same for all places that have it
	Line     int    // of the allocation file; 0 if it is not about a line there
	Queue    string // full name; "" if it is about none
}

// Error is an allocation file for which there is no configuration at all.
type Error struct {
	Line int // of the allocation file, 0 if it is about none
	Text string
}

func (e *Error) Error() string { return e.Text }

// Convert makes a configuration. Findings are in the order of the queues, then of the placement rules. An error is an *Error;
// there is no result then. Whether the configuration is one that a ResourceManager starts with is for others to check:
// what was wrong may still be wrong.
func Convert(a *allocation.Allocation, s Settings, o Options) (*Result, []Finding, error) {
	c := &conversion{from: a, settings: s, options: o, queues: map[string]string{}, site: map[string]string{}, drf: usesDRF(a)}
	c.siteProperties()
	c.globals()
	c.queue(a.Root, nil)
	rules := c.placement()
	if c.err != nil {
		return nil, c.findings, c.err
	}
	return &Result{Site: sorted(c.site), Queues: sorted(c.queues), MappingRules: rules}, c.findings, nil
}

// conversion gathers what becomes of an allocation file.
type conversion struct {
	from     *allocation.Allocation
	settings Settings
	options  Options
	drf      bool // some queue shares by dominant resource
	site     map[string]string
	queues   map[string]string
	findings []Finding
	err      error // *Error: the first
}

func usesDRF(a *allocation.Allocation) bool {
	return a.Defaults.Policy == allocation.DRF ||
		slices.ContainsFunc(a.All(), func(q *allocation.Queue) bool { return q.Policy == allocation.DRF })
}

func sorted(values map[string]string) []config.Property {
	out := make([]config.Property, 0, len(values))
	for name, value := range values { //tidy:unordered they are sorted next
		out = append(out, config.Property{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b config.Property) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// set writes a property of the CapacityScheduler into the queue file.
func (c *conversion) set(name, value string) { c.queues[config.Prefix+name] = value }

func (c *conversion) fail(line int, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{line, fmt.Sprintf(format, args...)}
	}
}

// note adds a warning that no rule turns into something else.
func (c *conversion) note(line int, queue, format string, args ...any) {
	c.findings = append(c.findings, Finding{Warning, fmt.Sprintf(format, args...), line, queue})
}

// judge adds a finding of a kind that the conversion rules decide about. A warning has more after the text.
func (c *conversion) judge(rule Rule, line int, queue, text, more string) {
	f := Finding{Warning, text + more, line, queue}
	if c.options.Actions.abort[rule] {
		f.Severity, f.Text = Abort, text
	}
	c.findings = append(c.findings, f)
}
