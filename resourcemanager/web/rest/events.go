package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

const (
	eventBatch = 256                    // events that are read at once
	eventPause = 100 * time.Millisecond // a reader is told of what has gathered in this time together
	eventAlive = 15 * time.Second       // without events a reader is told that the stream is alive
)

const (
	typeSSE    = "text/event-stream"
	typeNDJSON = "application/x-ndjson"
)

// eventKinds are the values of the parameter type, and the kinds that they are.
var eventKinds = map[string]events.Kind{
	"application": events.Application, "attempt": events.Attempt, "node": events.Node,
	"container": events.Container, "queues": events.Queues, "reservation": events.Reservation,
}

var kindNames = func() map[events.Kind]string {
	out := map[events.Kind]string{}
	for name, k := range eventKinds {
		out[k] = name
	}
	return out
}()

// wish is which events a reader wants; all conditions must hold.
type wish struct {
	app   yarn.ApplicationID
	queue string // full path
	node  string // host, or host:port
	kinds []events.Kind
}

func (x *wish) wants(e *events.Event) bool {
	switch {
	case len(x.kinds) > 0 && !slices.Contains(x.kinds, e.Kind):
		return false
	case !x.app.IsZero() && e.Application != x.app:
		return false
	case x.queue != "" && e.Queue != x.queue && !strings.HasPrefix(e.Queue, x.queue+".") && e.Kind != events.Queues:
		return false
	case x.node != "" && e.Node.Host != x.node && e.Node.String() != x.node:
		return false
	}
	return true
}

// follower is one reader of the events.
type follower struct {
	wish
	server *server
	caller webgate.Caller
	log    *events.Log
	term   int64
	seen   int64 // the number of the last event that it knows
	sse    bool
	follow bool // it wants those that are to come
	out    io.Writer
	flush  func() error
	buf    []events.Event
}

// events streams what happens, one event a line or as server-sent events. It begins after the event that Last-Event-ID, or since, names;
// without them with what is to come.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	f, since, err := s.newFollower(r)
	if err != nil {
		answer.WriteError(w, r, err)
		return
	}
	kind := typeNDJSON
	if f.sse {
		kind = typeSSE
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Accel-Buffering", "no") // for proxies on the way
	if r.Method == http.MethodHead {
		return
	}
	ctx, free := s.readers.Take(r.Context(), f.caller.Address)
	defer free()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // nothing is to come, and that is no reason to end
	f.out, f.flush = w, control.Flush
	if f.begin(since) == nil {
		f.run(ctx)
	}
}

func (s *server) newFollower(r *http.Request) (*follower, *events.ID, error) {
	q := r.URL.Query()
	f := &follower{server: s, caller: webgate.From(r.Context()), log: s.Source.Events(), follow: q.Get("follow") != "false"}
	if f.log == nil {
		return nil, nil, answer.Errorf(answer.Unavailable, "this ResourceManager is not the active one, and has no events")
	}
	accept := r.Header.Values("Accept")
	f.sse = strings.Contains(strings.Join(accept, ","), typeSSE)
	if !f.sse && !answer.Accepts(accept, typeNDJSON) && !answer.Accepts(accept, "application/json") {
		return nil, nil, answer.NotAcceptable()
	}
	if id := q.Get("application"); id != "" {
		app, err := answer.ParseApplication(id)
		if err != nil {
			return nil, nil, err
		}
		f.app = app
	}
	if name := q.Get("queue"); name != "" {
		c, err := s.Source.Cluster(r.Context(), view.Queues)
		if err != nil {
			return nil, nil, err
		}
		at, ok := c.Queues.Find(name)
		if !ok {
			return nil, nil, notFound("there is no queue %s", clipped(name))
		}
		f.queue = at.Path
	}
	f.node = q.Get("node")
	for _, name := range words(q["type"]) {
		k, ok := eventKinds[name]
		if !ok {
			return nil, nil, badRequest("there are no events of type %q; types are application, attempt, node, container, queues and reservation", clipped(name))
		}
		f.kinds = append(f.kinds, k)
	}
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = q.Get("since")
	}
	if text == "" {
		return f, nil, nil
	}
	since, err := events.ParseID(text)
	if err != nil {
		return nil, nil, badRequest("%v", err)
	}
	return f, &since, nil
}

// begin finds where the reader begins, and tells it that.
func (f *follower) begin(since *events.ID) error {
	last := f.log.Last()
	f.term, f.seen = last.Term, last.Number
	switch {
	case since == nil:
	case since.Term != last.Term || since.Number > last.Number:
		f.seen = 0
		return f.gap("the ResourceManager has started anew, or another one has taken over")
	default:
		f.seen = since.Number
	}
	return f.mark("start", "")
}

// run passes events on until the reader leaves, is too slow for its connection, or the log ends.
func (f *follower) run(ctx context.Context) {
	alive := time.NewTimer(eventAlive)
	defer alive.Stop()
	for {
		all, err := f.pass()
		if err != nil || ctx.Err() != nil {
			return
		}
		if !all {
			continue
		}
		more, ended := f.log.More(f.seen)
		if ended || !f.follow {
			return
		}
		alive.Reset(eventAlive)
		select {
		case <-ctx.Done():
			return
		case <-alive.C:
			if f.mark("alive", "") != nil {
				return
			}
			continue
		case <-more:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(eventPause):
		}
	}
}

// pass passes one batch on, and tells whether that was all.
func (f *follower) pass() (all bool, err error) {
	var missed int64
	f.buf, missed = f.log.Read(f.seen, eventBatch, f.buf[:0])
	if missed > 0 {
		f.seen += missed
		if err := f.gap(fmt.Sprintf("%d events are not kept any more", missed)); err != nil {
			return false, err
		}
	}
	told := false
	for i := range f.buf {
		e := &f.buf[i]
		f.seen = e.Number
		if f.wants(e) && f.mayKnow(e) {
			told = true
			if err := f.write(f.object(e), ""); err != nil {
				return false, err
			}
		}
	}
	if told {
		err = f.flush()
	}
	return len(f.buf) < eventBatch, err
}

// mayKnow tells whether the caller may know of the application that the event is about: as in lists, everybody may, unless lists are
// filtered by user.
func (f *follower) mayKnow(e *events.Event) bool {
	if !f.server.FilterByUser || e.Application.IsZero() {
		return true
	}
	a := f.server.Source.Latest(e.Application)
	return a != nil && f.server.Source.MayView(f.caller, a)
}

func (f *follower) place() string { return events.ID{Term: f.term, Number: f.seen}.String() }

// gap tells that events are missing between the last that was told and the next.
func (f *follower) gap(why string) error { return f.mark("gap", why) }

// mark tells something about the stream.
func (f *follower) mark(what, why string) error {
	o := tree.New().Add("id", f.place()).Add("time", f.server.now()).Add("type", what).AddIf(why != "", "reason", why)
	if err := f.write(o, what); err != nil {
		return err
	}
	return f.flush()
}

func (f *follower) write(o *tree.Object, mark string) error {
	if f.sse && mark == "alive" { // an event without data sets the id alone
		_, err := fmt.Fprintf(f.out, "id: %s\n\n", f.place())
		return err
	}
	if f.sse {
		if _, err := fmt.Fprintf(f.out, "id: %s\ndata: ", f.place()); err != nil {
			return err
		}
	}
	if err := tree.WriteJSON(f.out, tree.Document{Bare: true, Body: o}); err != nil {
		return err
	}
	end := "\n"
	if f.sse {
		end = "\n\n"
	}
	_, err := io.WriteString(f.out, end)
	return err
}

// object is an event as it is told.
func (f *follower) object(e *events.Event) *tree.Object {
	o := tree.New().Add("id", f.place()).Add("time", e.At).Add("type", kindNames[e.Kind])
	o.AddIf(!e.Application.IsZero(), "appId", e.Application.String())
	switch e.Kind {
	case events.Attempt:
		o.Add("attemptId", yarn.AttemptID{Application: e.Application, Attempt: e.Attempt}.String())
	case events.Container:
		o.Add("containerId", e.Container.String())
	case events.Reservation:
		o.AddIf(!e.Reservation.IsZero(), "reservationId", e.Reservation.String())
	}
	o.AddIf(e.Node != yarn.NodeID{}, "nodeId", e.Node.String()).
		AddIf(e.Queue != "", "queue", e.Queue).
		AddIf(e.What != "", "event", e.What).
		AddIf(e.From != "", "from", e.From).AddIf(e.To != "", "to", e.To).
		AddIf(e.Cause != "", "cause", e.Cause)
	if e.Kind == events.Container && e.What != "noticed" {
		o.Add("memoryMB", e.MemoryMB).Add("vCores", e.VCores).Add("priority", e.Priority).Add("master", e.Master).
			AddIf(e.What == "ended", "exitStatus", e.Exit)
	}
	return o
}
