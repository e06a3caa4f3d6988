package loop

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/memory"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// do gives a command and waits for its answer.
func (r *rig) do(command func(engine.Ticket) engine.Command) (any, error) {
	type reply struct {
		value any
		err   error
	}
	got := make(chan reply, 1)
	r.l.Post(command(r.l.Expect(func(v any, err error) { got <- reply{v, err} })))
	x := <-got
	return x.value, x.err
}

// submit has an application come that waits for room.
func (r *rig) submit() yarn.ApplicationID {
	r.t.Helper()
	v, err := r.do(func(t engine.Ticket) engine.Command { return engine.NewApplication{Ticket: t} })
	if err != nil {
		r.t.Fatal(err)
	}
	a := submission(v.(engine.NewApplicationReply).ID.Sequence)
	if _, err := r.do(func(t engine.Ticket) engine.Command { return engine.Submit{Ticket: t, Application: a} }); err != nil {
		r.t.Fatal(err)
	}
	return a.ID
}

// read reads some parts.
func (r *rig) read(parts view.Part) *Views {
	v, err := r.l.Views(r.t.Context(), parts)
	if err != nil {
		r.t.Error(err)
		return r.l.Latest()
	}
	return v
}

// finish ends the loop and returns what it has done.
func (r *rig) finish() Stats {
	r.end()
	r.l.Wait()
	return r.l.stats
}

// While nothing happens readers do not even wake the loop.
func TestReadersOfOldNews(t *testing.T) {
	for _, reads := range []int{1, 5000} {
		inBubble(t, nil, func(t *testing.T, r *rig) {
			id := r.submit()
			first := r.read(view.Everything)
			synctest.Wait()
			var readers sync.WaitGroup
			for range 20 {
				readers.Go(func() {
					for range reads {
						v := r.read(view.Everything)
						if v.Version() != first.Version() || v.FindApplication(id) == nil || len(v.Applications()) != 1 || v.Queues() == nil || v.Metrics().Pending != 1 {
							t.Error("something is missing")
						}
					}
				})
			}
			readers.Wait()
			r.submit()
			if r.read(view.Counts).Version() == first.Version() {
				t.Error("other views have the same version")
			}
			if s := r.finish(); s.Publications != 2 || s.Batches > 8 {
				t.Errorf("%d reads each: %+v", reads, s)
			}
		})
	}
}

// However many read while something happens all the time, publications have their
// pace, and each serves all who wait.
func TestPaceOfPublications(t *testing.T) {
	const lasts = 2 * time.Second
	for _, readers := range []int{1, 20, 200} {
		inBubble(t, nil, func(t *testing.T, r *rig) {
			began := time.Now()
			var all sync.WaitGroup
			reads := make([]int, readers)
			for i := range readers {
				all.Go(func() {
					for time.Since(began) < lasts {
						if _, err := r.do(func(t engine.Ticket) engine.Command { return engine.NewApplication{Ticket: t} }); err != nil {
							t.Error(err)
						}
						r.read(view.Everything)
						reads[i]++
					}
				})
			}
			all.Wait()
			most := int64(lasts/leastPause) + 2
			if s := r.finish(); s.Publications > most || s.Publications < most/2 {
				t.Errorf("%d readers: %d publications, want at most %d", readers, s.Publications, most)
			}
			for i, n := range reads {
				if n < int(lasts/leastPause)/3 {
					t.Errorf("%d readers: number %d read %d times", readers, i, n)
				}
			}
		})
	}
}

// A busy loop pauses four hundred times as long as it publishes, an idle one much less.
// Readers are not forgotten, and one long publication does not make them wait long.
func TestPauses(t *testing.T) {
	for _, c := range []struct {
		took time.Duration
		load float64
		want time.Duration
	}{
		{0, 1, leastPause},
		{10 * time.Microsecond, 1, leastPause},
		{100 * time.Microsecond, 0, leastPause},
		{time.Millisecond, 1, 400 * time.Millisecond},
		{time.Millisecond, 0.5, 200 * time.Millisecond},
		{time.Millisecond, 0.2, 80 * time.Millisecond},
		{time.Millisecond, 0, 50 * time.Millisecond},
		{20 * time.Millisecond, 1, mostPause},
		{20 * time.Millisecond, 0, time.Second},
		{time.Minute, 0, mostPause},
	} {
		var p pace
		var last time.Duration
		for range 100 {
			last = p.pauseAfter(c.took, c.load)
		}
		if last > c.want || last < c.want*99/100 {
			t.Errorf("when publications take %v and the load is %v, pauses of %v, want %v", c.took, c.load, last, c.want)
		}
	}
	var p pace
	var took, paused, longest time.Duration
	for i := range 1000 {
		x := time.Millisecond
		if i%100 == 50 {
			x = time.Minute
		}
		pause := p.pauseAfter(x, 1)
		took, paused, longest = took+min(x, mostPause/busyPauses), paused+pause, max(longest, pause)
	}
	if paused < busyPauses*took*98/100 || paused > busyPauses*took || longest > 700*time.Millisecond {
		t.Errorf("publications of %v together, pauses of %v, the longest %v", took, paused, longest)
	}
}

// A loop that has much to do publishes less often than one that has little to do.
func TestPauseOfABusyLoop(t *testing.T) {
	for _, c := range []struct{ idle, busy, want time.Duration }{
		{time.Second, 0, 350 * time.Millisecond},
		{3 * time.Second, time.Second, 700 * time.Millisecond},
		{time.Second, time.Second, 1400 * time.Millisecond},
		{0, time.Second, mostPause},
	} {
		inBubble(t, nil, func(t *testing.T, r *rig) {
			onLoop := func(do func()) {
				if err := r.l.aside(t.Context(), do); err != nil {
					t.Fatal(err)
				}
			}
			change := func() {
				r.submit()
				r.read(view.Everything)
			}
			time.Sleep(time.Hour)
			change()
			onLoop(func() { r.l.pace.usual = 8 * time.Millisecond }) // 7 after the next publication, which takes no time here
			time.Sleep(c.idle)
			onLoop(func() { time.Sleep(c.busy) })
			change()
			began := time.Now()
			change()
			if paused := time.Since(began); paused > c.want || paused < c.want*99/100 {
				t.Errorf("idle for %v and busy for %v: a pause of %v, want %v", c.idle, c.busy, paused, c.want)
			}
		})
	}
}

// Who asks why an application waits gets an answer of the time after the question,
// equal questions get one answer, and a publication answers a bounded number.
func TestQuestions(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		var ids []yarn.ApplicationID
		for range maxAsked + 20 {
			ids = append(ids, r.submit())
		}
		ask := func(n, each int) {
			var all sync.WaitGroup
			for _, id := range ids[:n] {
				for range each {
					all.Go(func() {
						if why, err := r.l.Why(t.Context(), id); err != nil || why == "" {
							t.Errorf("%v waits because %q (%v)", id, why, err)
						}
					})
				}
			}
			all.Wait()
		}
		ask(1, 60)
		ask(len(ids), 1)
		if why, err := r.l.Why(t.Context(), yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 9999}); why != "" || err != nil {
			t.Errorf("what is not there waits because %q (%v)", why, err)
		}
		if s := r.finish(); s.Explained > int64(len(ids)+4) || s.Publications < 3 || s.Publications > 8 {
			t.Errorf("%d questions about %d applications: %+v", 61+len(ids), len(ids), s)
		}
	})
}

// What a reader sees is never older than what it was told last, nor than what it has
// seen before; and it is nothing that was not decided.
func TestReadersSeeWhatTheyWereTold(t *testing.T) {
	inBubble(t, memory.New(store.Options{}), func(t *testing.T, r *rig) {
		const clients, changes = 8, 25
		ids := make([]yarn.ApplicationID, clients)
		for i := range ids {
			ids[i] = r.submit()
		}
		deadline := func(v *Views, i int) int64 {
			a := v.FindApplication(ids[i])
			if a == nil {
				t.Errorf("application %d is not there", i)
				return 0
			}
			if len(a.Timeouts) == 0 {
				return 0
			}
			return a.Timeouts[0].ExpireAt
		}
		start := time.Now().UnixMilli() + time.Hour.Milliseconds()
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				seen := make([]int64, clients)
				for n := range int64(changes) {
					at := start + n*1000
					if _, err := r.do(func(t engine.Ticket) engine.Command {
						return engine.SetLifetime{Ticket: t, Application: ids[i], ExpireAt: at}
					}); err != nil {
						t.Error(err)
						return
					}
					if n%3 == 0 {
						time.Sleep(time.Duration(i) * time.Millisecond)
					}
					v := r.read(view.Applications)
					for k := range clients {
						now := deadline(v, k)
						if now < seen[k] {
							t.Errorf("client %d saw %d of client %d after %d", i, now, k, seen[k])
						}
						if now != 0 && (now-start)%1000 != 0 || now > start+changes*1000 {
							t.Errorf("client %d saw %d, which nobody wanted", i, now)
						}
						seen[k] = now
					}
					if seen[i] != at {
						t.Errorf("client %d sees %d and was told %d", i, seen[i], at)
					}
				}
			})
		}
		all.Wait()
		if last := deadline(r.read(view.Applications), 0); last != start+(changes-1)*1000 {
			t.Errorf("at the end %d shows", last)
		}
	})
}

// BenchmarkPublication is what a publication costs the loop when 200 of 10,000
// applications that wait have changed, and what it costs to say why one waits.
func BenchmarkPublication(b *testing.B) {
	const waiting, changed = 10_000, 200
	eng, _ := newEngine(b)
	l := New(Config{Engine: eng, Clock: clock.System(), Outside: &rig{}})
	now := l.cfg.Clock.Now()
	for n := range int32(waiting) {
		l.apply(now, engine.NewApplication{})
		l.apply(now, engine.Submit{Application: submission(n + 1)})
	}
	publish := func() {
		for x := (engine.Publication{Parts: view.Everything}); !eng.PublishSome(now, &l.next, &x); {
		}
		l.next.views()
	}
	publish()
	b.Run("views", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			b.StopTimer()
			for i := range changed {
				l.apply(now, engine.SetPriority{Application: submission(int32((n+i*47)%waiting) + 1).ID, Priority: int32(n % 10)})
			}
			b.StartTimer()
			publish()
		}
	})
	b.Run("why", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			if eng.Why(submission(int32(n%waiting)+1).ID) == "" {
				b.Fatal("it does not wait")
			}
		}
	})
}

// TestRecentViews: a reader that accepts older views is served at once with those published last, however much has happened since, if all its parts are young
// enough. Otherwise it waits for the next publication.
func TestRecentViews(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		recent := func(parts view.Part, age time.Duration) (*Views, time.Duration) {
			began := time.Now()
			v, err := r.l.Recent(t.Context(), parts, age)
			if err != nil {
				t.Fatal(err)
			}
			return v, time.Since(began)
		}
		old := r.read(view.Everything)
		id := r.submit()
		time.Sleep(2 * time.Second)
		if v, took := recent(view.Everything, 3*time.Second); v != old || took != 0 {
			t.Errorf("views of 2 s ago are not enough, or came after %v", took)
		}
		if v, _ := recent(view.Applications, time.Second); v.FindApplication(id) == nil {
			t.Error("views of 2 s ago were told to who wants those of a second")
		}
		young := r.l.Latest()
		next := r.submit()
		if v, _ := recent(view.Applications, time.Second); v != young {
			t.Error("the views that came last are not enough")
		}
		if v, _ := recent(view.Applications|view.Nodes, time.Second); v.FindApplication(next) == nil {
			t.Error("one of the parts was 2 s old, and nothing was published")
		}
		last := r.submit()
		if v, _ := recent(view.Applications, 0); v.FindApplication(last) == nil {
			t.Error("who allows no age was told what was so before")
		}
	})
}
