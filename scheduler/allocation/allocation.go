package allocation

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// Allocation is what a file says, with its defaults filled in. It never changes.
type Allocation struct {
	Root     *Queue // always there, whether the file names it or not
	Defaults Defaults
	Users    map[string]int32 // the most applications of a user that run at once; for others it is Defaults.UserMaxApps
	// Rules place submissions, the first that finds a queue decides. Nil if the file has no rules: see DefaultRules.
	Rules       []PlacementRule
	Reservation Reservation

	all    []*Queue // as All gives them
	byPath map[string]*Queue
}

// Defaults are for what the file says nothing about: queues that it does not name, too, and users.
type Defaults struct {
	QueueMaxApps    int32
	QueueMaxAMShare float32
	QueueMax        Limit
	UserMaxApps     int32
	Policy          Policy
}

// Reservation has the Java classes of the reservation system as they are written; "" if they are not.
type Reservation struct{ Planner, Agent, Policy string }

// Kind is what a queue is for.
type Kind uint8

// The kinds of queues.
const (
	Leaf   Kind = iota // takes applications
	Parent             // has queues below, or may get some
	Plan               // a parent whose queues are reservations
)

func (k Kind) String() string { return [...]string{"leaf", "parent", "plan"}[k] }

// Policy is how a queue shares among its queues or applications.
type Policy uint8

// The policies.
const (
	Fair Policy = iota // by memory
	DRF                // by whatever each uses most of
	FIFO               // first come, first served; for leaves
)

func (p Policy) String() string { return [...]string{"fair", "drf", "fifo"}[p] }

// Queue is a queue that the file names, or root. What its parent decides as long as it says nothing itself is filled in.
type Queue struct {
	Name     string // the last part of Path
	Path     string // from root on: "root.training.daily"
	Line     int    // of the file; 0 if the file does not name it
	Kind     Kind
	Children []*Queue // in the order of the file

	Weight       float32
	Min          yarn.Resource
	Max          Limit
	MaxChild     *Limit        // of queues below that the file does not name, instead of Defaults.QueueMax; nil if not set
	MaxContainer yarn.Resource // from the nearest queue above that has one, else Unbounded
	MaxApps      int32         // applications that run at once
	MaxAMShare   float32       // of masters, of the fair share, at most 1; NoAMLimit for none
	Policy       Policy

	MinShareTimeout  int64 // milliseconds below the minimum until others are preempted; Never
	FairShareTimeout int64 // milliseconds below FairShareThreshold until others are preempted; Never
	// FairShareThreshold is the fraction of the fair share, from 0 to 1, below which a queue is starved.
	FairShareThreshold float32
	Preemptable        bool // containers may be preempted for others: the queue and all above allow it

	Submit, Administer yarn.ACL // whom a queue above allows is allowed, too
	Reservations       ReservationACLs
}

// ReservationACLs say who may do what with a queue's reservations. Nil is a list that is not there.
type ReservationACLs struct{ Administer, List, Submit *yarn.ACL }

const (
	// Never is a timeout that does not pass.
	Never int64 = math.MaxInt64
	// NoAMLimit as a share of masters lets them use everything.
	NoAMLimit float32 = -1
	// MaxVCores is the most vcores that a limit can name. compat: they have 32 bits, and shares are computed with it.
	MaxVCores int64 = math.MaxInt32
	// noAppLimit is the number of applications that nobody reaches.
	noAppLimit int32 = math.MaxInt32
)

// Unbounded is a maximum that nobody reaches, for the types of a cluster.
func Unbounded(types yarn.ResourceTypes) yarn.Resource {
	var r yarn.Resource
	for i := range types {
		r[i] = math.MaxInt64
	}
	r[yarn.VCores] = MaxVCores
	return r
}

// Limit is an amount, or a share of the cluster.
type Limit struct {
	Amount    yarn.Resource // unless OfCluster
	OfCluster bool
	Fractions [yarn.MaxResourceTypes]float64 // of each type, 1 is all; may be more
}

// Of is the limit in a cluster of that size, rounded down.
func (l Limit) Of(cluster yarn.Resource) yarn.Resource {
	if !l.OfCluster {
		return l.Amount
	}
	var r yarn.Resource
	for i := range r {
		r[i] = javanum.Scale(cluster[i], l.Fractions[i])
	}
	return r
}

// list makes the list of all queues, and finds them by their names.
func (a *Allocation) list() {
	a.all = []*Queue{a.Root}
	for i := 0; i < len(a.all); i++ {
		a.all = append(a.all, a.all[i].Children...)
	}
	a.byPath = make(map[string]*Queue, len(a.all))
	for _, q := range a.all {
		a.byPath[q.Path] = q
	}
}

// All lists the queues, each before those below it, in the order of the file. The list belongs to the allocation.
func (a *Allocation) All() []*Queue { return a.all }

// Queue is the queue with that full name; nil if the file does not name it.
func (a *Allocation) Queue(path string) *Queue { return a.byPath[path] }

// UserMaxApps is how many applications of a user may run at once.
func (a *Allocation) UserMaxApps(user string) int32 {
	if n, ok := a.Users[user]; ok {
		return n
	}
	return a.Defaults.UserMaxApps
}
