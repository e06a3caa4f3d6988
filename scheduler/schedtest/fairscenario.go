package schedtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// allocationFile takes the allocation file, which begins with the first line that is an element, off the lines of a command.
func (r *runner) allocationFile(lines []string) (rest []string) {
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "<") })
	if at < 0 {
		return lines
	}
	r.cl.Allocations = &config.AllocationFile{Name: "fair-scheduler.xml", Text: strings.Join(lines[at:], "\n")}
	return lines[:at]
}

// fairCommand plays the commands of which most are for policy=fair.
func (r *runner) fairCommand(words []string) ([]string, bool) {
	switch words[0] {
	case "update":
		r.s.Recompute(r.now())
		return nil, true
	case "preempt":
		return r.preempt(), true
	case "attempt":
		r.attempt(r.apps[words[1]], false)
		return nil, true
	case "avoid":
		a := r.apps[words[1]]
		r.s.Blacklist(a.ref, words[2:], nil)
		r.s.AllocateDone(a.ref)
		return nil, true
	case "recover":
		return r.recoverApp(words[1:]), true
	}
	return nil, false
}

// preempt ends the containers whose time under notice is over, and gives others notice.
func (r *runner) preempt() (out []string) {
	for _, due := range r.s.Due(r.now(), nil) {
		c := due.Ref
		out = append(out, r.containerName(c, r.s.Container(c).App)+" is preempted")
		r.s.Finish(c, scheduler.Preempted)
		r.s.Vacate(c)
	}
	for _, noticed := range r.s.Preempt(r.now(), nil) {
		out = append(out, r.containerName(noticed.Ref, r.s.Container(noticed.Ref).App)+" is given notice")
	}
	return out
}

// recover NAME user= queue= [on=HOST]: an application of before a restart, with its master on that host
func (r *runner) recoverApp(words []string) []string {
	o := options(words)
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(len(r.order) + 1)}
	master := []yarn.Ask{{Where: yarn.AnyHost, Capability: resource("1024x1"), Count: 1, RelaxLocality: true}}
	ref, why := r.s.AddApplication(scheduler.Application{ID: id, User: o["user"], Queue: o["queue"], Name: words[0], AM: master[0].Capability, Recovering: true}, o["queue"])
	if !why.OK() {
		return r.reason(why)
	}
	a := &runApp{ref: ref, id: id, name: words[0], master: master}
	r.apps[a.name], r.order = a, append(r.order, a)
	r.attempt(a, o["on"] != "")
	if host := o["on"]; host != "" {
		c := r.s.RecoverContainer(scheduler.Recovered{ID: yarn.ContainerID{Attempt: yarn.AttemptID{Application: id, Attempt: 1}, Number: 1}, App: ref,
			Node: r.nodes[host], Resource: master[0].Capability, Execution: yarn.Guaranteed, AM: true, CreatedWall: r.clock})
		a.containers = append(a.containers, c)
	}
	return []string{"recovered in " + r.s.QueueOf(ref)}
}

// shares are the queues of policy=fair.
func (r *runner) shares() (out []string) {
	for _, q := range r.s.Queues().Queues {
		f, kind := q.Fair, "parent"
		if q.Leaf {
			kind = "leaf"
		}
		if q.Dynamic {
			kind = "dynamic " + kind
		}
		line := fmt.Sprintf("%s %s, %s, used %s demand %s share %s steady %s", q.Path, kind, strings.ToLower(f.Policy), r.size(q.Default.Used.Sub(q.Default.Reserved)), r.size(f.Demand),
			r.size(f.FairShare), r.size(f.SteadyShare))
		if f.Runnable > 0 || f.NonRunnable > 0 {
			line += fmt.Sprintf(", %d run, %d wait", f.Runnable, f.NonRunnable)
		}
		if !q.Default.Reserved.IsZero() {
			line += ", reserved " + r.size(q.Default.Reserved)
		}
		if !f.AMUsed.IsZero() || !f.AMLimit.IsZero() {
			line += fmt.Sprintf(", masters %s of %s", r.size(f.AMUsed), r.size(f.AMLimit))
		}
		out = append(out, line)
	}
	return out
}
