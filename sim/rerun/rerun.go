// Package rerun plays a recording of a ResourceManager's black box again: the same
// commands at the same times on the same engine and scheduler, without a daemon.
// So it comes to the same state, and to the same panic.
package rerun

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Options say how to play.
type Options struct {
	Check bool // recount all books after every command
	List  io.Writer
	Watch func(yarn.Now, engine.Command) func(*engine.Effects) // sees each command before it is applied, and then its effects; may be nil
}

// Result is how playing a recording ended.
type Result struct {
	Build   string // the commit of the program that recorded
	End     *blackbox.End
	Counts  Counts
	State   uint64 // digest of the engine at the end
	Looked  bool   // State is known
	Panic   string // of the last command; empty: there was none
	Stack   string
	Differs string // what went differently than recorded; empty: nothing
	Wrong   string // what Check found; playing stopped there
}

// Counts are how much was played, and what came of it.
type Counts struct {
	Commands                                 uint64 // publications of views and looks at the state included
	Replies, Refusals, Saves, Launches, Ends int
	Granted                                  int
	First, Last                              yarn.Now
}

// errMissing is a recording without its beginning.
type errMissing struct{ first uint64 }

func (e errMissing) Error() string {
	return fmt.Sprintf("the first %d commands are missing, and what follows cannot be played without them; -list shows it. "+
		"yarn.resourcemanager.heddle.black-box.record=true has a ResourceManager record from its start", e.first)
}

// player is an engine that follows a recording.
type player struct {
	watch   func(yarn.Now, engine.Command) func(*engine.Effects)
	engine  *engine.Engine
	sched   *scheduler.Scheduler
	fx      engine.Effects
	basis   scheduler.Basis // as the last QueueBasis gave it
	showing engine.Publication
	sum     uint64
	res     Result
}

// Play plays a recording. An error means that it cannot be played; how playing ended,
// a panic included, is in the result.
func Play(r *blackbox.Reader, o Options) (*Result, error) {
	cfg, err := r.Header.Queues.Parse()
	if err != nil {
		return nil, fmt.Errorf("the recorded configuration: %w", err)
	}
	p := &player{watch: o.Watch, res: Result{Build: r.Build}}
	if p.sched, err = scheduler.New(cfg); err != nil {
		return nil, fmt.Errorf("the recorded configuration: %w", err)
	}
	p.engine = engine.New(r.Header.Settings, p.sched)
	for p.res.Differs == "" && p.res.Wrong == "" && p.res.Panic == "" {
		x, err := r.Next()
		if errors.Is(err, io.EOF) {
			p.finish(r.End)
			return &p.res, nil
		}
		if err != nil {
			return nil, err
		}
		if p.res.Counts.Commands == 0 && x.Number > 0 {
			return nil, errMissing{x.Number}
		}
		if o.List != nil {
			list(o.List, x)
		}
		p.step(x)
		if o.Check && p.res.Panic == "" {
			p.res.Wrong = p.check(x)
		}
	}
	p.toEnd(r)
	return &p.res, nil
}

// step plays one step.
func (p *player) step(x *blackbox.Recorded) {
	c := &p.res.Counts
	if c.Commands == 0 {
		c.First = x.Now
	}
	c.Commands++
	c.Last = x.Now
	defer func() {
		if cause := recover(); cause != nil {
			p.res.Panic, p.res.Stack = fmt.Sprint(cause), string(debug.Stack())
		}
	}()
	switch s := x.Step.(type) {
	case blackbox.Publish:
		if s.First {
			p.showing = engine.Publication{Parts: s.Parts}
		}
		p.engine.PublishSome(x.Now, nobody{}, &p.showing)
	case blackbox.Explain:
		p.engine.Why(s.Application)
	case blackbox.Digest:
		p.res.State, p.res.Looked = p.engine.Digest(), true
	case engine.RefreshQueues:
		if x.Prepared {
			s.Prepared = scheduler.Prepare(s.Config, p.basis)
		}
		p.apply(x.Now, s)
	case engine.Command:
		p.apply(x.Now, s)
	}
	if x.HasSum && x.Sum != p.sum {
		p.res.Differs = fmt.Sprintf("the consequences are others than recorded: the first that differ are those of one of the commands up to %d", x.Number)
	}
}

func (p *player) apply(now yarn.Now, c engine.Command) {
	p.fx.Reset()
	if p.watch != nil {
		seen := p.watch(now, c)
		defer func() { seen(&p.fx) }()
	}
	p.engine.Apply(now, c, &p.fx)
	p.sum = blackbox.Sum(p.sum, &p.fx)
	n := &p.res.Counts
	n.Saves += len(p.fx.Saves)
	n.Launches += len(p.fx.Launches)
	for i := range p.fx.Replies {
		r := &p.fx.Replies[i]
		if n.Replies++; r.Err != nil {
			n.Refusals++
		}
		if b, ok := r.Value.(scheduler.Basis); ok {
			p.basis = b
		}
	}
	for i := range p.fx.Containers {
		if p.fx.Containers[i].Born {
			n.Granted++
		} else {
			n.Ends++
		}
	}
}

// check recounts the books.
func (p *player) check(x *blackbox.Recorded) (wrong string) {
	defer func() {
		if cause := recover(); cause != nil {
			wrong = fmt.Sprintf("after command %d (%s) the books cannot be recounted: %v", x.Number, name(x.Step), cause)
		}
	}()
	if wrong = p.sched.Check(); wrong != "" {
		wrong = fmt.Sprintf("after command %d (%s): %s", x.Number, name(x.Step), wrong)
	}
	return wrong
}

// toEnd reads what is left of a recording that is not played any further. Where
// nothing is left, and a panic ended both, they are compared.
func (p *player) toEnd(r *blackbox.Reader) {
	left := 0
	for {
		if _, err := r.Next(); err != nil {
			break
		}
		left++
	}
	p.res.End = r.End
	if p.res.Panic == "" {
		return
	}
	if left > 0 {
		p.res.Differs = fmt.Sprintf("the recording goes on for %d commands after the panic", left)
		return
	}
	p.finish(r.End)
}

// finish compares the end with the recorded one.
func (p *player) finish(end *blackbox.End) {
	res := &p.res
	res.End = end
	if end == nil || end.Truncated != "" {
		return
	}
	if res.Panic != end.Panic {
		res.Differs = fmt.Sprintf("it was recorded to end with the panic %q", end.Panic)
		if end.Panic == "" {
			res.Differs = "it was recorded to end without a panic"
		}
		return
	}
	if res.Panic != "" {
		res.State, res.Looked = blackbox.Look(p.engine.Digest)
	}
	if res.Looked != end.Looked || res.State != end.State {
		res.Differs = fmt.Sprintf("the state is %s, recorded was %s", digest(res.State, res.Looked), digest(end.State, end.Looked))
	}
}

func digest(state uint64, looked bool) string {
	if !looked {
		return "unknown"
	}
	return fmt.Sprintf("%016x", state)
}

// nobody reads what is published.
type nobody struct{}

func (nobody) Application(*view.Application)        {}
func (nobody) Containers(*view.AppContainers)       {}
func (nobody) ForgetApplication(yarn.ApplicationID) {}
func (nobody) Node(*view.Node)                      {}
func (nobody) ForgetNode(yarn.NodeID)               {}
func (nobody) Labels(*view.Labels)                  {}
func (nobody) Counts(view.Metrics)                  {}
func (nobody) Queues(*queue.Snapshot)               {}

// maxListed bounds the text of one command in a list.
const maxListed = 500

// list prints one step.
func list(w io.Writer, x *blackbox.Recorded) {
	v := reflect.Indirect(reflect.ValueOf(x.Step)).Interface()
	if c, ok := v.(engine.RefreshQueues); ok { // the whole tree of queues would follow
		v = struct {
			Ticket  engine.Ticket
			Problem string
		}{c.Ticket, c.Problem}
	}
	text := strings.ToValidUTF8(fmt.Sprintf("%+q", fmt.Sprintf("%+v", v)), "?")
	text = text[1 : len(text)-1]
	if len(text) > maxListed {
		text = text[:maxListed] + "..."
	}
	fmt.Fprintf(w, "%d %d %s %s\n", x.Number, x.Now.Wall, name(x.Step), text)
}

// name is a step's type without its package.
func name(step any) string {
	text := strings.TrimLeft(fmt.Sprintf("%T", step), "*")
	_, text, _ = strings.Cut(text, ".")
	return text
}
