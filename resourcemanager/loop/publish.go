package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// Readers take the published views. A reader that must see something newer waits for
// the next publication, which serves all that wait. After each publication there is a
// pause: the loop's load, 0 to 1, times busyPauses times as long as publications usually
// take. So readers, however many and whatever they ask for, cost a loop that is always
// busy at most one part in busyPauses of its time in the long run, as long as a
// publication takes less than mostPause/busyPauses. A loop that has less to do gives
// them more, up to one part in idlePauses.
const (
	busyPauses = 400                  // the pause at load 1, in usual publications
	idlePauses = 50                   // the pause is at least as long as this many,
	leastPause = 5 * time.Millisecond // at least this,
	mostPause  = 2 * time.Second      // and at most this
	paceParts  = 8                    // the last publication counts one part of these in what is usual
	maxAsked   = 64                   // applications that one publication explains
)

// moment is a point in the sequence of commands: how many others have posted, and how
// many the loop has made itself.
type moment struct{ posted, own uint64 }

func (m moment) covers(x moment) bool { return m.posted >= x.posted && m.own >= x.own }

// reader waits until some parts of the views show everything up to a moment.
type reader struct {
	parts view.Part
	since moment
	ready chan struct{}

	about    yarn.ApplicationID // the reader asks why this one waits; zero: it does not ask
	answered bool
	why      string
}

// served tells whether the views have what the reader wants.
func (r *reader) served(v *Views) bool {
	return v.shows(r.parts, r.since) && (r.about.IsZero() || r.answered)
}

// publication is the publication under way.
type publication struct {
	engine.Publication
	parts  view.Part
	upTo   moment    // what was applied when it began
	from   time.Time // when that was
	asked  []*reader
	begun  bool // a slice of it has been made
	active bool
	took   time.Duration
}

// happened is the present moment.
func (l *Loop) happened() moment { return moment{l.posted.Load(), l.own.Load()} }

// Views returns views that show, in those parts, everything that was answered or posted
// before the call. It waits for a publication if need be.
func (l *Loop) Views(ctx context.Context, parts view.Part) (*Views, error) {
	since := l.happened()
	if v := l.views.Load(); v.shows(parts, since) {
		return v, nil
	}
	if err := l.await(ctx, &reader{parts: parts, since: since}); err != nil {
		return nil, err
	}
	return l.views.Load(), nil
}

// Recent returns views that show, in those parts, everything that had been answered or
// posted that long ago. If those that were published last are older, it returns what
// Views does.
func (l *Loop) Recent(ctx context.Context, parts view.Part, age time.Duration) (*Views, error) {
	if age > 0 {
		if v := l.views.Load(); v.youngerThan(parts, time.Now().Add(-age)) {
			return v, nil
		}
	}
	return l.Views(ctx, parts)
}

// Waiting is how many commands wait to be applied.
func (l *Loop) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.inbox)
}

// Latest returns the views that were published last, without waiting.
func (l *Loop) Latest() *Views { return l.views.Load() }

// Why is a text that says why an application's master has no container yet; see engine.Why.
func (l *Loop) Why(ctx context.Context, id yarn.ApplicationID) (string, error) {
	r := &reader{about: id}
	err := l.await(ctx, r)
	return r.why, err
}

// await waits for a publication that serves the reader.
func (l *Loop) await(ctx context.Context, r *reader) error {
	r.ready = make(chan struct{})
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.waiting = append(l.waiting, r)
	l.mu.Unlock()
	l.nudge()
	select {
	case <-r.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a fresh view: %w", ctx.Err())
	case <-l.stopped:
		return ErrClosed
	}
}

// wanted begins a publication if readers wait and the pause is over, and tells whether
// it did. It is called with mu held, when everything posted so far is about to be
// applied.
func (l *Loop) wanted() bool {
	if l.showing.active || len(l.waiting) == 0 || time.Now().Before(l.resume) {
		return false
	}
	p := publication{active: true, from: time.Now(), upTo: moment{posted: l.posted.Load()}}
	for _, r := range l.waiting {
		p.parts |= r.parts
		if !r.about.IsZero() && len(p.asked) < maxAsked {
			p.asked = append(p.asked, r)
		}
	}
	p.Parts = p.parts
	l.showing = p
	return true
}

// show makes a slice of the publication, or answers one Why. After the last one it wakes
// the readers.
func (l *Loop) show() {
	p := &l.showing
	began := time.Now()
	l.holds.begin()
	done := l.slice(p)
	l.holds.end(nil)
	if p.took += time.Since(began); !done {
		return
	}
	for i := range l.next.shown {
		if p.parts&(1<<i) != 0 {
			l.next.shown[i], l.next.asOf[i] = p.upTo, p.from
		}
	}
	v := l.next.views()
	l.views.Store(v)
	l.stats.Publications++
	l.holds.published(p.took)
	l.resume = time.Now().Add(l.pace.pauseAfter(p.took, l.holds.load()))
	l.showing = publication{}
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.waiting[:0]
	for _, r := range l.waiting {
		if r.served(v) {
			close(r.ready)
		} else {
			left = append(left, r)
		}
	}
	clear(l.waiting[len(left):])
	l.waiting = left
}

// pace is how fast publications follow each other. While the load stays the same, one
// publication that took unusually long makes several pauses a little longer rather than
// one much longer.
type pace struct{ usual time.Duration } // that publications take

// pauseAfter is the pause after a publication that took so long. load is the part of the
// time since the publication before in which the loop had work, 0 to 1.
func (p *pace) pauseAfter(took time.Duration, load float64) time.Duration {
	pauses := max(busyPauses*load, idlePauses)
	longest := time.Duration(float64(mostPause) / pauses)
	p.usual += (min(took, longest) - p.usual) / paceParts
	return min(max(time.Duration(pauses*float64(p.usual)), leastPause), mostPause)
}

// slice makes a slice of a publication and tells whether it was the last one.
func (l *Loop) slice(p *publication) (done bool) {
	now := l.cfg.Clock.Now()
	if p.Parts != 0 {
		l.note(now, blackbox.Publish{Parts: p.Parts, First: !p.begun})
		p.begun = true
		done = l.cfg.Engine.PublishSome(now, &l.next, &p.Publication)
		return done && len(p.asked) == 0
	}
	if len(p.asked) > 0 {
		l.explain(now, p)
	}
	return len(p.asked) == 0
}

// explain answers all readers that ask about the same application as the first one.
func (l *Loop) explain(now yarn.Now, p *publication) {
	id := p.asked[0].about
	l.stats.Explained++
	l.note(now, blackbox.Explain{Application: id})
	why := l.cfg.Engine.Why(id)
	left := p.asked[:0]
	for _, r := range p.asked {
		if r.about == id {
			r.why, r.answered = why, true
		} else {
			left = append(left, r)
		}
	}
	p.asked = left
}

// note records a step that is not a command.
func (l *Loop) note(now yarn.Now, what any) {
	if b := l.cfg.BlackBox; b != nil {
		b.Add(now, what)
	}
}
