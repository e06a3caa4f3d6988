package engine

import (
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// kinds are the names of refusals; their texts may change.
var kinds = map[Kind]string{Failed: "failed", UnknownApplication: "unknown application", UnknownAttempt: "unknown attempt",
	UnknownContainer: "unknown container", AccessDenied: "access denied", InvalidRequest: "invalid request", InvalidLabel: "invalid label",
	InvalidMaster: "invalid master's call", NotRegistered: "not registered", InvalidRelease: "invalid release",
	InvalidBlacklist: "invalid blacklist", InvalidConfig: "invalid configuration", NotStored: "not stored", IllegalArgument: "illegal argument"}

// answer prints a reply.
func (s *script) answer(x Reply) []string {
	if x.Err != nil {
		return []string{"refused: " + kinds[x.Err.Kind] + when(s.set.Labels && x.Err.Kind == Failed, ": "+headline(x.Err.Text))}
	}
	switch v := x.Value.(type) {
	case nil:
		return []string{"done"}
	case *AllocateReply:
		return s.allocated(v)
	case *HeartbeatReply:
		return s.beaten(v)
	case RegisterReply:
		return []string{fmt.Sprintf("registered in %s, up to %s%s", v.Queue, shortSize(v.Maximum), grants(", keeps", v.Previous))}
	case []view.Reservation:
		return listed(v)
	case []view.Preemption:
		var out []string
		for _, p := range v {
			out = append(out, fmt.Sprintf("  %d %s %s of %s for %s in %s: %s, age %d, lost %s", p.At, p.Event, shortContainer(p.Container), p.Queue, shortApp(p.ForApp), p.ForQueue,
				p.Rule, p.Age, shortSize(p.Lost())))
		}
		return out
	case RegisterNodeReply:
		return []string{[]string{"joined", "resync", "shut down"}[v.Action] + when(v.LabelsAccepted, ", labels accepted") + when(v.Diagnostics != "", ": "+headline(v.Diagnostics))}
	}
	return []string{fmt.Sprintf("answer %+v", x.Value)}
}

func grants(text string, list []Grant) string {
	if len(list) == 0 {
		return ""
	}
	for _, g := range list {
		text += " " + shortContainer(g.ID) + when(g.Execution == yarn.Opportunistic, "~"+g.Node.Host)
	}
	return text
}

func (s *script) allocated(v *AllocateReply) []string {
	if v.Duplicate {
		return []string{"the last answer again"}
	}
	text := fmt.Sprintf("answer %d: headroom %s, %d nodes", v.ResponseID, shortSize(v.Headroom), v.ClusterNodes)
	if n := v.Negotiable; n.Count > 0 {
		text += ", about to lose"
		for _, id := range n.Containers {
			text += " " + shortContainer(id)
		}
		text += fmt.Sprintf(" or %d of %s", n.Count, shortSize(n.Size))
	}
	if len(v.Preempt) > 0 {
		text += ", loses"
		for _, id := range v.Preempt {
			text += " " + shortContainer(id)
		}
	}
	out := []string{text + grants(", granted", v.Granted) + grants(", late", v.Previous)}
	for _, c := range v.Completed {
		out = append(out, fmt.Sprintf("  %s completed, exit %d", shortContainer(c.ID), c.ExitStatus))
	}
	for _, u := range v.Updated {
		out = append(out, fmt.Sprintf("  %s is %s now, version %d", shortContainer(u.Grant.ID), shortSize(u.Grant.Resource), u.Grant.Version)+turned(u))
	}
	for _, u := range v.UpdateErrors {
		out = append(out, fmt.Sprintf("  %s cannot change: %s", shortContainer(u.Update.Container), u.Reason))
	}
	for _, n := range v.Nodes {
		out = append(out, fmt.Sprintf("  %s is %s", n.ID.Host, n.State))
	}
	return out
}

func (s *script) beaten(v *HeartbeatReply) []string {
	if v.Duplicate {
		return []string{"the last answer again"}
	}
	if v.Action != NodeNormal {
		return []string{[]string{"", "resync: ", "shut down: "}[v.Action] + headline(v.Diagnostics)}
	}
	text := fmt.Sprintf("answer %d", v.ResponseID) + when(v.LabelsAccepted, ", labels accepted") + when(v.Diagnostics != "", ": "+headline(v.Diagnostics))
	for _, l := range []struct {
		name string
		ids  []yarn.ContainerID
	}{{"clean up", v.CleanupContainers}, {"may forget", v.RemoveContainers}} {
		for i, id := range l.ids {
			text += when(i == 0, ", "+l.name) + " " + shortContainer(id)
		}
	}
	for _, id := range v.CleanupApplications {
		text += ", " + shortApp(id) + " is over"
	}
	for _, x := range v.Signals {
		text += fmt.Sprintf(", signal %s %d", shortContainer(x.Container), x.Signal)
	}
	for _, u := range v.Updates {
		if why := turned(u); why != "" {
			text += ", " + shortContainer(u.Grant.ID) + " is" + why[1:]
			continue
		}
		text += fmt.Sprintf(", resize %s to %s", shortContainer(u.Grant.ID), shortSize(u.Grant.Resource))
	}
	if v.Total != nil {
		text += ", has " + shortSize(*v.Total)
	}
	if q := v.Queue; q != nil {
		text += fmt.Sprintf(", may queue %d, for %d ms", q.Length, q.WaitMillis)
	}
	return []string{text}
}

// turned says what an update of the execution type did.
func turned(u UpdatedContainer) string {
	if u.Type == yarn.PromoteExecutionType || u.Type == yarn.DemoteExecutionType {
		return ", " + strings.ToLower(u.Grant.Execution.String())
	}
	return ""
}

// headline is the beginning of a text.
func headline(text string) string {
	text = strings.ReplaceAll(text, "\n", " | ")
	if len(text) > 50 {
		return text[:50] + "…"
	}
	return text
}
