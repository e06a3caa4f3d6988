package config

import (
	"math"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Kind is what a queue may have below it.
type Kind uint8

// The kinds of queues.
const (
	Leaf       Kind = iota // applications
	Parent                 // queues
	Managed                // leaves that are created on demand only (auto-create-child-queue.enabled)
	Reservable             // leaves for reservations, and one for those who have none (reservable)
)

// Ordering is the order in which a leaf serves its applications.
type Ordering uint8

// The orderings of applications.
const (
	FifoOrder Ordering = iota
	FairOrder
	FifoWithPartitions
	FifoForPending
)

func (o Ordering) String() string {
	return [...]string{"fifo", "fair", "fifo-with-partitions", "fifo-for-pending-apps"}[o]
}

// Amount is what a queue is given in one partition.
type Amount struct {
	Capacity, MaxCapacity float32 // fractions; 0 and 1 for those written otherwise
	Weight                float32 // -1 is not set
	Absolute              bool    // written as amounts
	Min, Max              yarn.Resource
	MaxAM                 float32
	Vector, MaxVector     Vector // MaxVector may be empty
}

// StateSetting is the state that the configuration names.
type StateSetting uint8

// The settings of a state.
const (
	StateUnset StateSetting = iota
	StateRunning
	StateStopped
)

// Rules are what every decision reads of the settings of a leaf.
type Rules struct {
	UserLimit  float32 // percent
	UserFactor float32
	Ordering   Ordering
}

// Queue is the configuration of one queue, with all that it inherits.
type Queue struct {
	queue.Settings
	Rules
	Priority    int32
	ByPriority  bool
	SizeWeight  bool
	Enforced    []string // partitions with lists of their own
	UserWeights map[string]float32

	Parent   *Queue
	Children []*Queue
	Kind     Kind
	Flexible bool // creates queues on demand (auto-queue-creation-v2.enabled)

	Configured   []string // partitions with settings of their own, "" first
	Amounts      map[string]Amount
	State        StateSetting
	StateIsExact bool   // written in upper case; only that allows its deletion
	Order        string // of the children of a parent
	MaxApps      int32  // -1 is not set
	MaxParallel  int32

	defaultLifetimeSet      bool
	AllowZeroSum            bool
	PreemptionDisabled      bool
	intraDisabled           bool
	IntraPreemptionDisabled bool
	MinimumRuntime          int64 // heddle.minimum-runtime-ms: how long a container is safe from preemption

	MaxChildren      int32 // created on demand
	AutoRemove       bool
	MaxDepth         int32
	FailOnExceeding  bool    // managed: the sum of leaves may not pass the parent
	Template         *Amount // managed: of a leaf in the default partition
	TemplateByLabel  map[string]Amount
	templateSettings map[string]Property
	Templates        *queue.Templates // all that are configured, whether queues may be created or not; nil: none

	Plan     Plan   // of a reservable queue
	planLeaf *Queue // what the queues below it have, but for their names
}

// Amount is what the queue is given in the partition; nothing if it has no
// setting there.
func (q *Queue) Amount(label string) Amount {
	if a, ok := q.Amounts[label]; ok {
		return a
	}
	return Amount{Weight: -1}
}

// Weight is that of a user, 1 where none is set.
func (q *Queue) Weight(user string) float32 {
	if w, ok := q.UserWeights[user]; ok {
		return w
	}
	return 1
}

func key(path string) string { return Prefix + path + "." }

func labelKey(path, label string) string {
	if label == "" {
		return key(path)
	}
	return key(path) + "accessible-node-labels." + label + "."
}

// readQueue reads one queue below its parent, and all that are listed under it.
func (s *settings) readQueue(parent *Queue, name string, depth int) *Queue {
	path := name
	if parent != nil {
		path = parent.Path + "." + name
	}
	if depth > MaxDepth {
		s.fail(key(path)+"queues", "queues may not be nested deeper than %d", MaxDepth)
		return nil
	}
	q := &Queue{Settings: queue.Settings{Path: path, Name: name}, Parent: parent}
	s.structure(q)
	s.readSettings(q)
	text, _ := s.text(key(path) + "queues")
	seen := map[string]bool{}
	for _, child := range list(text) {
		if seen[child] {
			s.fail(key(path)+"queues", "queue %q is listed twice", child)
		}
		seen[child] = true
		if c := s.readQueue(q, child, depth+1); c != nil {
			q.Children = append(q.Children, c)
		}
	}
	if q.Kind == Managed && len(q.Children) > 0 {
		s.fail(key(path)+"auto-create-child-queue.enabled", "a parent of automatically created leaves may not have configured ones")
	}
	return q
}

// MaxDepth bounds how deep queues may be nested.
const MaxDepth = 64

func (s *settings) structure(q *Queue) {
	k := key(q.Path)
	text, _ := s.text(k + "queues")
	managed := s.flag(k+"auto-create-child-queue.enabled", false)
	q.Flexible = s.flag(k+"auto-queue-creation-v2.enabled", false)
	switch {
	case managed:
		q.Kind = Managed
	case len(list(text)) > 0 || q.Flexible:
		q.Kind = Parent
	}
	if s.flag(k+"reservable", false) {
		if q.Parent == nil || q.Kind != Leaf {
			s.fail(k+"reservable", "only a leaf can be reserved, no queue that has queues or creates them")
		}
		q.Kind = Reservable
	}
	if q.Parent == nil && q.Kind == Leaf {
		s.fail(k+"queues", "names no queues")
	}
}

// readSettings fills in everything but the structure.
func (s *settings) readSettings(q *Queue) {
	s.labels(q)
	q.Amounts = map[string]Amount{}
	for _, label := range q.Configured {
		q.Amounts[label] = s.amount(q, label)
	}
	s.state(q)
	s.ordering(q)
	s.limits(q)
	s.maxAllocation(q)
	s.lifetimes(q)
	s.access(q)
	s.preemption(q)
	s.creation(q)
	if q.Kind == Reservable {
		s.plan(q)
	}
}

func (s *settings) labels(q *Queue) {
	k := key(q.Path)
	text, ok := s.text(k + "accessible-node-labels")
	switch {
	case q.Parent == nil:
		q.Accessible = []string{"*"}
	case !ok:
		q.Accessible = q.Parent.Accessible
	default:
		q.Accessible = list(text)
		slices.Sort(q.Accessible)
		q.Accessible = slices.Compact(q.Accessible)
		if slices.Contains(q.Accessible, "*") {
			q.Accessible = []string{"*"}
		}
	}
	if p := q.Parent; p != nil && !p.AllLabels() && !contains(p.Accessible, q.Accessible) {
		s.fail(k+"accessible-node-labels", "must be a part of the parent's labels [%s]", strings.Join(p.Accessible, ","))
	}
	q.DefaultLabel, q.DefaultSet = s.trimmed(k + "default-node-label-expression")
	if p := q.Parent; p != nil && !q.DefaultSet && contains(q.Accessible, p.Accessible) {
		q.DefaultLabel, q.DefaultSet = p.DefaultLabel, p.DefaultSet
	}
	if q.Kind == Leaf && q.DefaultSet && !expressionAccessible(q, q.DefaultLabel) {
		s.fail(k+"default-node-label-expression", "label %q is not accessible to the queue", q.DefaultLabel)
	}
	q.Configured = s.configuredLabels(q)
}

func expressionAccessible(q *Queue, expression string) bool {
	for part := range strings.SplitSeq(expression, "&&") {
		if part = strings.TrimSpace(part); part != "" && !q.MayUse(part) {
			return false
		}
	}
	return true
}

func contains(all, part []string) bool {
	for _, p := range part {
		if !slices.Contains(all, p) {
			return false
		}
	}
	return true
}

// configuredLabels are "" and the labels under which the queue has settings;
// the root has those of all queues.
func (s *settings) configuredLabels(q *Queue) []string {
	const infix = ".accessible-node-labels."
	labels := []string{""}
	note := func(rest string) {
		if label, _, ok := strings.Cut(rest, "."); ok {
			labels = append(labels, label)
		}
	}
	if q.Parent != nil {
		for _, rest := range s.under(Prefix + q.Path + infix) {
			note(rest)
		}
	} else {
		for _, rest := range s.under(Prefix) {
			if _, after, ok := strings.Cut(rest, infix); ok {
				note(after)
			}
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

func (s *settings) amount(q *Queue, label string) Amount {
	k := labelKey(q.Path, label)
	a := Amount{
		Capacity:    s.capacity(q, label) / 100,
		MaxCapacity: s.maxCapacity(q, label) / 100,
		Weight:      s.weight(k + "capacity"),
		Absolute:    s.isAbsolute(k + "capacity"),
		Min:         s.amounts(k + "capacity"),
		Max:         s.amounts(k + "maximum-capacity"),
		MaxVector:   s.vector(k + "maximum-capacity"),
		Vector:      s.vector(k + "capacity"),
	}
	if q.Parent == nil {
		a.Vector = s.cl.uniform(100, Percent)
		a.MaxVector = s.cl.uniform(100, Percent)
	}
	am := s.float(key(q.Path)+"maximum-am-resource-percent", s.float(Prefix+"maximum-am-resource-percent", 0.1))
	a.MaxAM = s.float(k+"maximum-am-resource-percent", am)
	if w, ok := a.Vector.OnlyWeight(); ok {
		a.Weight = w
	}
	if !s.legacy() && slices.Contains(a.MaxVector.Unit[:], Weight) {
		s.fail(k+"maximum-capacity", "a maximum is a percentage or an amount, not a weight")
	}
	return a
}

// otherForm tells whether the capacity is not a percentage.
func (s *settings) otherForm(k string) bool {
	text, ok := s.text(k)
	return ok && (absolutePattern.MatchString(text) || strings.HasSuffix(text, "w") ||
		vectorPattern.MatchString(strings.ReplaceAll(text, " ", "")))
}

func (s *settings) capacity(q *Queue, label string) float32 {
	k := labelKey(q.Path, label) + "capacity"
	if q.Parent == nil {
		return 100
	}
	if s.otherForm(k) {
		return 0
	}
	return s.percent(k, 0)
}

func (s *settings) percent(k string, otherwise float32) float32 {
	p := s.float(k, otherwise)
	if !(p >= 0 && p <= 100) {
		s.fail(k, "must be from 0 to 100 percent")
		return otherwise
	}
	return p
}

func (s *settings) maxCapacity(q *Queue, label string) float32 {
	k := labelKey(q.Path, label) + "maximum-capacity"
	text, ok := s.text(k)
	if ok && (absolutePattern.MatchString(text) || vectorPattern.MatchString(strings.ReplaceAll(text, " ", ""))) {
		return 100
	}
	if label != "" {
		if q.Parent == nil || s.otherForm(k) {
			return 100
		}
		return s.percent(k, 100)
	}
	// compat: the maximum of the default partition is not checked.
	if p := s.float(k, 100); p != -1 {
		return p
	}
	return 100
}

func (s *settings) weight(k string) float32 {
	text, _ := s.text(k)
	if !strings.HasSuffix(text, "w") {
		return -1
	}
	number, _, _ := strings.Cut(text, "w")
	w, ok := parseFloat(number)
	if !ok || w < -1e-6 && math.Abs(float64(w)+1) > 1e-6 || w > 10000 {
		s.fail(k, "a weight must be from 0 to 10000, or -1")
		return -1
	}
	return w
}

func (s *settings) state(q *Queue) {
	k := key(q.Path) + "state"
	text, ok := s.text(k)
	if !ok {
		return
	}
	q.StateIsExact = text == "STOPPED"
	switch strings.ToUpper(text) {
	case "RUNNING":
		q.State = StateRunning
	case "STOPPED":
		q.State = StateStopped
	default:
		s.fail(k, "must be RUNNING or STOPPED")
	}
}

// StoppedInSettings tells whether the configuration stops a queue that it does
// not list any more: only then may the queue vanish while it runs.
func (c *Capacity) StoppedInSettings(path string) bool {
	return c.settings.values[key(path)+"state"].Value == "STOPPED"
}
