package engine

import (
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// Gates are the reasons why the application gets nothing now of what it asks for, be it for its master or for other containers, in the order in which an
// offer comes to them. There are none where it asks for nothing.
func (e *Engine) Gates(id yarn.ApplicationID) (out []view.Gate) {
	a := e.apps[id]
	if a == nil || a.ref == scheduler.NoApp || e.sched.AppUsage(a.ref).PendingCount == 0 {
		return nil
	}
	w := waiting{amount: e.amount, queue: e.sched.LeafOf(a.ref), master: e.sched.Admission(a.ref).AM}
	if len(a.sub.AMAsks) > 0 {
		w.label = a.sub.AMAsks[0].Label
	}
	for _, why := range e.sched.Explain(a.ref, explainNodes) {
		w.Reason = why
		r := e.sched.Remedy(a.ref, why)
		g := view.Gate{Code: why.Code, Setting: w.key(), Needed: why.Needed, Limit: why.Limit, Free: r.Free, Room: r.Room, Never: r.Never}
		if say := whys[why.Code]; say != nil {
			g.Text = say(&w)
		} else {
			g.Text = describe(why)
		}
		for _, s := range r.Settings {
			g.Change = append(g.Change, view.Setting(s))
		}
		out = append(out, g)
	}
	return out
}
