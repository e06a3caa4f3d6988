// Package placement decides which queue an application lands in: the queue
// mappings of the CapacityScheduler, in both formats. It is pure; groups,
// queues and the text of the rules come in as values.
//
// Parse reads the properties (yarn.scheduler.capacity.queue-mappings,
// mapping-rule-json and their relatives) into Rules, which never change.
// Rules.Validate checks them against a tree of queues, as is done at start and
// on refresh; Rules.Place answers for one application. Apache's counterpart is
// CSMappingPlacementRule.
package placement

import "github.com/heddle-project/heddle/yarn"

// Queues is what placement asks of the queue tree.
type Queues interface {
	// Lookup finds a queue by its full path, or by its short name while no
	// other queue has the same. "root" is always the root. Names are case
	// sensitive.
	Lookup(name string) (Queue, Presence)
}

// Presence tells what a queue's name stands for.
type Presence uint8

// The answers of Queues.Lookup.
const (
	Absent    Presence = iota // no queue
	Present                   // exactly one
	Ambiguous                 // a short name that several queues have
)

// Queue is what placement has to know about one queue.
type Queue struct {
	Path string // full path, from "root"
	Leaf bool   // applications can be submitted to it

	// Managed is set on a parent whose leaves are created on demand, directly
	// below it (auto-create-child-queue.enabled).
	Managed bool

	// Flexible is set on a parent below which leaves, and parents for them, are
	// created on demand (auto-queue-creation-v2.enabled, and every parent that
	// came to be that way). The limit on depth is checked when the queue is
	// created, not here.
	Flexible bool
}

// Request is one application looking for a queue.
type Request struct {
	User        string
	Groups      []string // all groups, primary first; empty when none are known
	Queue       string   // as submitted; NoQueue when the client named none
	Application string   // the application's name
	Recovering  bool     // the application was loaded from the store
}

// NoQueue is the queue of a submission that names none (the protocol's default).
// Who wants the queue of that name while rules apply writes root.default.
const NoQueue = "default"

// Placement is where an application goes.
type Placement struct {
	Queue  string // full path if a rule decided, else what was submitted
	Create bool   // the queue does not exist and is to be created first
	Rule   int    // index of the rule that decided, NoRule when none did
}

// NoRule is the Placement.Rule of an application that goes where it was submitted.
const NoRule = -1

// Decided tells whether a rule chose the queue.
func (p Placement) Decided() bool { return p.Rule != NoRule }

// The reasons for which placement refuses an application or finds fault with a rule.
const (
	Rejected      yarn.Code = "PLACEMENT_REJECTED"       // by a rule that says so, or by a rule's fallback
	NoPlacement   yarn.Code = "PLACEMENT_NONE"           // the submitted queue is empty
	NoDefault     yarn.Code = "PLACEMENT_NO_DEFAULT"     // the fallback is the default queue, which cannot be used
	EmptyPath     yarn.Code = "PLACEMENT_EMPTY_PATH"     // the path or a part of it is empty
	AbsentQueue   yarn.Code = "PLACEMENT_QUEUE_ABSENT"   // no such queue, and no parent that could create it
	AbsentRoot    yarn.Code = "PLACEMENT_ROOT_ABSENT"    // the first part of the path names no queue
	AmbiguousName yarn.Code = "PLACEMENT_AMBIGUOUS"      // a short name that several queues have
	NotLeaf       yarn.Code = "PLACEMENT_NOT_LEAF"       // the path is that of a parent
	BelowLeaf     yarn.Code = "PLACEMENT_BELOW_LEAF"     // the path goes on below a leaf
	NoDynamic     yarn.Code = "PLACEMENT_NOT_CREATABLE"  // no such queue, and its parent creates none
	NoCreate      yarn.Code = "PLACEMENT_CREATE_REFUSED" // the queue could be created, but the rule says no
	BadRule       yarn.Code = "PLACEMENT_BAD_RULE"       // the text of the rule cannot be read
	TooLarge      yarn.Code = "PLACEMENT_TOO_LARGE"      // more rules or more text than the limits allow

	Unreachable     yarn.Code = "PLACEMENT_UNREACHABLE"      // an earlier rule decides for everyone that this one matches
	NeverMatches    yarn.Code = "PLACEMENT_NEVER_MATCHES"    // nobody can match the rule
	NeverPlaces     yarn.Code = "PLACEMENT_NEVER_PLACES"     // the rule matches, but always fails
	NoEffect        yarn.Code = "PLACEMENT_NO_EFFECT"        // the rule changes nothing
	UnknownVariable yarn.Code = "PLACEMENT_UNKNOWN_VARIABLE" // looks like a variable, but stays as it is
	UnknownField    yarn.Code = "PLACEMENT_UNKNOWN_FIELD"    // a field that no rule has, or that this policy ignores
)

// Finding is something wrong with the configuration of placement.
type Finding struct {
	Rule     int    // index of the rule, NoRule if it is about none
	Property string // full name of the property that it stands in
	Text     string // the rule as configured
	Reason   yarn.Reason
}

func (f Finding) String() string { return f.Property + ": " + f.Complaint() }

// Complaint is what is wrong, and with which rule.
func (f Finding) Complaint() string {
	if f.Text == "" {
		return f.Reason.Detail
	}
	return f.Text + ": " + f.Reason.Detail
}
