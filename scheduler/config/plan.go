package config

import (
	"maps"
	"strings"

	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Plan is how a reservable queue promises its capacity in time. A comment begins with the name of the property, below the queue's path.
type Plan struct {
	Greedy       bool    // reservation-agent is GreedyReservationAgent, not AlignedPlannerWithGreedy
	NoOverCommit bool    // reservation-policy is NoOverCommitPolicy, not CapacityOverTimePolicy
	Window       int64   // reservation-window: over which a user's average is taken, milliseconds
	Average      float32 // average-capacity: of a user over the window, percent of the plan
	Peak         float32 // instantaneous-max-capacity: of a user at any time, percent of the plan
	Enforcement  int64   // reservation-enforcement-window: how far ahead replanning looks, milliseconds
	MoveOnExpiry bool    // reservation-move-on-expiry: applications go on in the plan's default queue; otherwise they are killed
	ShowQueues   bool    // show-reservations-as-queues: pages show the queues of reservations

	Submit, Administer, List yarn.ACL // acl_submit_reservations and so on
}

const reservationPackage = "org.apache.hadoop.yarn.server.resourcemanager.reservation."

func (s *settings) plan(q *Queue) {
	k := key(q.Path)
	q.Plan = Plan{
		Greedy:       s.class(k+"reservation-agent", "planning.AlignedPlannerWithGreedy", "planning.GreedyReservationAgent") == 1,
		NoOverCommit: s.class(k+"reservation-policy", "CapacityOverTimePolicy", "NoOverCommitPolicy") == 1,
		Window:       s.number(k+"reservation-window", 86_400_000),
		Average:      s.float(k+"average-capacity", 100),
		Peak:         s.float(k+"instantaneous-max-capacity", 100),
		Enforcement:  s.number(k+"reservation-enforcement-window", 3_600_000),
		MoveOnExpiry: s.flag(k+"reservation-move-on-expiry", true),
		ShowQueues:   s.flag(k+"show-reservations-as-queues", false),
		Submit:       s.acl(k+"acl_submit_reservations", "*"),
		Administer:   s.acl(k+"acl_administer_reservations", "*"),
		List:         s.acl(k+"acl_list_reservations", "*"),
	}
	s.class(k+"reservation-planner", "planning.SimpleCapacityReplanner")
	q.planLeaf = &Queue{Settings: queue.Settings{Path: q.Path + "." + PlanDefault(q), Name: PlanDefault(q)}, Parent: q}
	s.readSettings(q.planLeaf)
	q.planLeaf.UserLimit, q.planLeaf.UserFactor = q.UserLimit, q.UserFactor
}

// class is which of the classes of Apache's reservation system the property names; the first one if it is not set.
func (s *settings) class(k string, names ...string) int {
	text, ok := s.trimmed(k)
	if !ok {
		return 0
	}
	for i, name := range names {
		if text == reservationPackage+name {
			return i
		}
	}
	s.fail(k, "is none of the classes that there are: %s, in package %s", strings.Join(names, ", "), strings.TrimSuffix(reservationPackage, "."))
	return 0
}

// PlanDefault is the name of the queue below a reservable one where applications go that have no reservation.
func PlanDefault(plan *Queue) string { return plan.Name + "-default" }

// PlanLeaf is the configuration of a queue below a reservable one, for a reservation or for those that have none. It has the plan's limits of
// users; there are no properties of its own.
func (q *Queue) PlanLeaf(name string) *Queue {
	leaf := *q.planLeaf
	leaf.Path, leaf.Name, leaf.Amounts = q.Path+"."+name, name, maps.Clone(leaf.Amounts)
	return &leaf
}
