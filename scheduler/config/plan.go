package config

import (
	"fmt"
	"maps"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Plan is how a reservable queue promises its capacity in time. A comment begins with the name of the property of capacity-scheduler.xml, below the
// queue's path. Under the FairScheduler the first two are elements of the allocation file, for all plans, the lists are elements of the queue
// (aclSubmitReservations and so on), and the others have their defaults.
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

// defaultPlan has Apache's defaults.
func defaultPlan() Plan {
	return Plan{Window: 86_400_000, Average: 100, Peak: 100, Enforcement: 3_600_000, MoveOnExpiry: true, Submit: yarn.Everybody(), Administer: yarn.Everybody(), List: yarn.Everybody()}
}

// maxWindow bounds the windows of a plan, in milliseconds.
const maxWindow = 10 * 365 * 86_400_000

const reservationPackage = "org.apache.hadoop.yarn.server.resourcemanager.reservation."

func (s *settings) plan(q *Queue) {
	k, unset := key(q.Path), defaultPlan()
	q.Plan = Plan{
		Greedy:       s.class(k+"reservation-agent", "planning.AlignedPlannerWithGreedy", "planning.GreedyReservationAgent") == 1,
		NoOverCommit: s.class(k+"reservation-policy", "CapacityOverTimePolicy", "NoOverCommitPolicy") == 1,
		Window:       s.number(k+"reservation-window", unset.Window),
		Average:      s.float(k+"average-capacity", unset.Average),
		Peak:         s.float(k+"instantaneous-max-capacity", unset.Peak),
		Enforcement:  s.number(k+"reservation-enforcement-window", unset.Enforcement),
		MoveOnExpiry: s.flag(k+"reservation-move-on-expiry", unset.MoveOnExpiry),
		ShowQueues:   s.flag(k+"show-reservations-as-queues", unset.ShowQueues),
		Submit:       s.acl(k+"acl_submit_reservations", "*"),
		Administer:   s.acl(k+"acl_administer_reservations", "*"),
		List:         s.acl(k+"acl_list_reservations", "*"),
	}
	for _, w := range []struct {
		name string
		ms   int64
	}{{"reservation-window", q.Plan.Window}, {"reservation-enforcement-window", q.Plan.Enforcement}} {
		if w.ms < 1 || w.ms > maxWindow {
			s.fail(k+w.name, "must be from 1 ms to %d ms, ten years", int64(maxWindow))
		}
	}
	for _, share := range []struct {
		name    string
		percent float32
	}{{"average-capacity", q.Plan.Average}, {"instantaneous-max-capacity", q.Plan.Peak}} {
		if !(share.percent >= 0 && share.percent <= 1_000_000) {
			s.fail(k+share.name, "must be from 0 to 1,000,000 percent")
		}
	}
	s.class(k+"reservation-planner", "planning.SimpleCapacityReplanner")
	q.planLeaf = &Queue{Settings: queue.Settings{Path: queue.PlanDefaultPath(q.Path), Name: queue.PlanDefault(q.Name)}, Parent: q}
	s.readSettings(q.planLeaf)
	q.planLeaf.UserLimit, q.planLeaf.UserFactor = q.UserLimit, q.UserFactor
}

// class is which of the classes of Apache's reservation system the property names; the first one if it is not set.
func (s *settings) class(k string, names ...string) int {
	text, ok := s.trimmed(k)
	if !ok {
		return 0
	}
	i, rule := reservationClass(text, names)
	if rule != "" {
		s.fail(k, "%s", rule)
	}
	return i
}

// reservationClass is which of the classes it is, or the rule that it breaks.
func reservationClass(text string, names []string) (int, string) {
	for i, name := range names {
		if text == reservationPackage+name {
			return i, ""
		}
	}
	return 0, fmt.Sprintf("is none of the classes that there are: %s, in package %s", strings.Join(names, ", "), strings.TrimSuffix(reservationPackage, "."))
}

// FairPlan is a queue of the allocation file that can be reserved.
type FairPlan struct {
	Path string
	Conf *Plan
}

// fairPlans are the queues of the allocation file that can be reserved, in its order. Classes are read only if there are any.
func (s *settings) fairPlans(c *Fair, file *AllocationFile) (out []FairPlan) {
	all := defaultPlan()
	class := func(element, text string, names ...string) bool {
		if text == "" {
			return false
		}
		i, rule := reservationClass(strings.TrimSpace(text), names)
		if rule != "" && s.err == nil {
			s.err = &Error{Finding{Key: element, Value: text, Rule: rule, Origin: file.Name}}
		}
		return i == 1
	}
	for _, q := range c.All() {
		if q.Kind != allocation.Plan {
			continue
		}
		if out == nil {
			set := &c.Reservation
			all.Greedy = class("reservation-agent", set.Agent, "planning.AlignedPlannerWithGreedy", "planning.GreedyReservationAgent")
			all.NoOverCommit = class("reservation-policy", set.Policy, "CapacityOverTimePolicy", "NoOverCommitPolicy")
			class("reservation-planner", set.Planner, "planning.SimpleCapacityReplanner")
		}
		p := all
		for _, list := range []struct{ own, of *yarn.ACL }{{q.Reservations.Submit, &p.Submit}, {q.Reservations.Administer, &p.Administer}, {q.Reservations.List, &p.List}} {
			if list.own != nil {
				*list.of = *list.own
			}
		}
		out = append(out, FairPlan{q.Path, &p})
	}
	return out
}

// PlanLeaf is the configuration of a queue below a reservable one, for a reservation or for those that have none. It has the plan's limits of
// users; there are no properties of its own.
func (q *Queue) PlanLeaf(name string) *Queue {
	leaf := *q.planLeaf
	leaf.Path, leaf.Name, leaf.Amounts = q.Path+"."+name, name, maps.Clone(leaf.Amounts)
	return &leaf
}
