package compare

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Never is the time of what did not happen.
const Never = -1

// Outcome is what a workload came to under one configuration.
type Outcome struct {
	Name      string // of the side
	Scheduler string
	Apps      []*Result // as submitted
	Length    int64     // milliseconds that were simulated
}

// Result is what became of an application. Times are milliseconds since its submission, or Never.
type Result struct {
	Queue     string   `json:"queue"`             // full path, or what was asked for if it was refused
	State     string   `json:"state"`             // the ResourceManager's
	Refused   string   `json:"refused,omitempty"` // why it was not taken; empty: it was
	Master    int64    `json:"master"`            // its first master's container was granted
	First     int64    `json:"first"`             // its first other container was granted
	Last      int64    `json:"last"`              // its last one
	End       int64    `json:"end"`               // it ended
	Granted   int      `json:"granted"`           // containers, without masters
	Preempted int      `json:"preempted"`         // containers that were taken for others
	Waited    int64    `json:"waited"`            // sum over all granted containers of the milliseconds from the ask to the grant
	Pending   int      `json:"pending"`           // containers that it still waited for when the simulation ended
	Notes     []string `json:"notes,omitempty"`   // of the simulation, the first maxNotes
}

const maxNotes = 5

// client follows an application.
type client struct {
	app       *App
	id        yarn.ApplicationID
	at        int64 // of its submission
	out       *Result
	master    *box // container of its newest master
	running   bool // its newest attempt has its master
	ended     bool
	crashes   int   // masters that ended by themselves
	want      int64 // containers that the master does not have
	unfetched int64 // of those, how many are granted
	waiting   []wait
}

// wait is a number of containers that wait since the same time.
type wait struct{ since, count int64 }

// submit has the client of an application submit it.
func (p *player) submit(index int) {
	a := &client{app: p.work.Apps[index], at: p.now, out: &Result{Master: Never, First: Never, Last: Never, End: Never}}
	p.apps[index] = a
	sub := a.app.Sub
	sub.AMAsks = slices.Clone(sub.AMAsks) // the engine rounds them
	p.ask(func(t engine.Ticket) engine.Command { return engine.NewApplication{Ticket: t} }, func(v any, _ *engine.Error) {
		a.id = v.(engine.NewApplicationReply).ID
		sub.ID, p.byID[a.id] = a.id, a
		p.ask(func(t engine.Ticket) engine.Command { return engine.Submit{Ticket: t, Application: sub} }, func(_ any, err *engine.Error) {
			if err != nil {
				a.ended, a.out.Refused, a.out.State, a.out.Queue = true, err.Error(), "REFUSED", sub.Queue
			}
		})
	})
}

func (a *client) note(text string) {
	if len(a.out.Notes) < maxNotes && !slices.Contains(a.out.Notes, text) {
		a.out.Notes = append(a.out.Notes, text)
	}
}

// transition follows the state of an application.
func (p *player) transition(t *engine.Transition) {
	a := p.byID[t.Application]
	if a == nil {
		return
	}
	p.stir = p.now
	if a.out.State = t.To; t.To == yarn.AppFinished.String() || t.To == yarn.AppFailed.String() || t.To == yarn.AppKilled.String() {
		a.wants(p.now, 0)
		a.ended, a.out.End = true, p.now-a.at
	}
}

// level has as many containers wait as the master wants and is not granted. More of them wait from now on; the latest wait no longer
// if they are less.
func (a *client) level(now int64) {
	n := max(a.want-a.unfetched, 0)
	for _, w := range a.waiting {
		n -= w.count
	}
	if n > 0 {
		a.waiting = append(a.waiting, wait{now, n})
	}
	for n < 0 {
		last := &a.waiting[len(a.waiting)-1]
		less := min(-n, last.count)
		last.count -= less
		n += less
		if last.count == 0 {
			a.waiting = a.waiting[:len(a.waiting)-1]
		}
	}
}

// wants notes how many containers the master does not have.
func (a *client) wants(now, n int64) {
	a.want = n
	a.level(now)
}

// granted notes a container that the master has to fetch. The one that has waited longest counts as served.
func (a *client) granted(now int64) {
	a.unfetched++
	if len(a.waiting) > 0 {
		first := &a.waiting[0]
		a.out.Waited += now - first.since
		if first.count--; first.count == 0 {
			a.waiting = a.waiting[1:]
		}
	}
	a.level(now)
	a.out.Granted++
	if a.out.First == Never {
		a.out.First = now - a.at
	}
	a.out.Last = now - a.at
}

// fetched notes that the master has a container, or that it is gone, and how many it wants less for that.
func (a *client) fetched(now, less int64) {
	a.unfetched = max(a.unfetched-1, 0)
	a.want -= less
	a.level(now)
}

// started notes that a master has its container; none if it runs outside of the cluster.
func (a *client) started(now int64, b *box) {
	a.master, a.running = b, true
	if a.out.Master == Never {
		a.out.Master = now - a.at
	}
}

func (a *client) masterEnded(now int64) {
	a.running, a.unfetched = false, 0
	a.wants(now, 0)
}

// waits tells whether it waits for something that a scheduler may still give.
func (a *client) waits() bool { return !a.ended && (!a.running || a.want > a.unfetched) }

// outcome is what all came to.
func (p *player) outcome(name string) *Outcome {
	seen := seeker{p: p}
	p.eng.Publish(p.clock(), &seen)
	o := &Outcome{Name: name, Scheduler: policyName(p.cfg), Length: p.now}
	for i, a := range p.apps {
		if a == nil {
			a = &client{app: p.work.Apps[i], out: &Result{Master: Never, First: Never, Last: Never, End: Never}}
		}
		for _, w := range a.waiting {
			a.out.Pending += int(w.count)
		}
		o.Apps = append(o.Apps, a.out)
	}
	return o
}

// seeker takes queues and diagnostics of applications from the views.
type seeker struct{ p *player }

func (s *seeker) Application(v *view.Application) {
	a := s.p.byID[v.ID]
	if a == nil {
		return
	}
	if a.out.Queue = v.Queue; v.State == yarn.AppFailed && a.out.Master == Never {
		a.out.Refused = v.Diagnostics
	}
}
func (*seeker) Containers(*view.AppContainers)       {}
func (*seeker) ForgetApplication(yarn.ApplicationID) {}
func (*seeker) Node(*view.Node)                      {}
func (*seeker) ForgetNode(yarn.NodeID)               {}
func (*seeker) Labels(*view.Labels)                  {}
func (*seeker) Counts(view.Metrics)                  {}
func (*seeker) Queues(*queue.Snapshot)               {}
