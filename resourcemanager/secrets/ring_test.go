package secrets

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/state"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// counting is a random source that gives 1, 2, 3 …, so that keys can be told apart.
func counting() func([]byte) {
	n := byte(0)
	return func(b []byte) {
		n++
		for i := range b {
			b[i] = n
		}
	}
}

func rolling(interval, delay time.Duration) Rolling {
	return Rolling{Interval: interval, Delay: delay, Random: counting()}
}

// firstID is the id of the first key when counting gives the serial: 0x01010101, plus one.
const firstID = 0x01010102

func TestRing(t *testing.T) {
	const h = time.Hour
	// Each step is a tick at a time after the start, and what there is then:
	// current/next key, counted from 1, and when something is due again.
	type step struct {
		at     time.Duration
		change Change
		keys   string
		due    time.Duration
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"on time", []step{
			{0, Unchanged, "1/-", 24 * h},
			{24*h - 1, Unchanged, "1/-", 24 * h},
			{24 * h, Rolled, "1/2", 25 * h},
			{24 * h, Unchanged, "1/2", 25 * h},
			{25*h - 1, Unchanged, "1/2", 25 * h},
			{25 * h, Promoted, "2/-", 48 * h},
			{25 * h, Unchanged, "2/-", 48 * h},
			{48 * h, Rolled, "2/3", 49 * h},
			{49 * h, Promoted, "3/-", 72 * h},
		}},
		{"a late tick leaves the window whole", []step{
			{30 * h, Rolled, "1/2", 31 * h},
			{30*h + h/2, Unchanged, "1/2", 31 * h},
			{31 * h, Promoted, "2/-", 48 * h},
		}},
		{"rolls slept through are not made up for", []step{
			{240 * h, Rolled, "1/2", 241 * h},
			{241 * h, Promoted, "2/-", 264 * h},
			{263 * h, Unchanged, "2/-", 264 * h},
			{264 * h, Rolled, "2/3", 265 * h},
		}},
		{"a late promotion comes before the next roll", []step{
			{24 * h, Rolled, "1/2", 25 * h},
			{60 * h, Promoted, "2/-", 48 * h},
			{60 * h, Rolled, "2/3", 61 * h},
			{61 * h, Promoted, "3/-", 72 * h},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(rolling(24*h, h), start)
			for i, s := range c.steps {
				if got := r.tick(start.Add(s.at)); got != s.change {
					t.Errorf("step %d: change %d, want %d", i+1, got, s.change)
				}
				if got := show(&r); got != s.keys {
					t.Errorf("step %d: keys %s, want %s", i+1, got, s.keys)
				}
				if got := r.due().Sub(start); got != s.due {
					t.Errorf("step %d: due at %v, want %v", i+1, got, s.due)
				}
			}
		})
	}
}

func show(r *ring) string {
	if r.next == nil {
		return fmt.Sprintf("%d/-", r.current.ID-firstID+1)
	}
	return fmt.Sprintf("%d/%d", r.current.ID-firstID+1, r.next.ID-firstID+1)
}

func TestRingVerifiesCurrentAndNext(t *testing.T) {
	r := newRing(rolling(24*time.Hour, time.Hour), start)
	first := r.current
	if r.find(first.ID) != first || r.find(first.ID+1) != nil {
		t.Error("steady: want the current key alone")
	}
	r.tick(start.Add(24 * time.Hour))
	if r.find(first.ID) != first || r.find(first.ID+1) != r.next {
		t.Error("rolling: want both keys")
	}
	r.tick(start.Add(25 * time.Hour))
	if r.find(first.ID) != nil || r.find(first.ID+1) != r.current {
		t.Error("after the roll: want the new key alone")
	}
}

func TestRingOffers(t *testing.T) {
	r := newRing(rolling(24*time.Hour, time.Hour), start)
	expect := func(when string, known int32, want int32, lacks bool) {
		t.Helper()
		k, ok := r.offer(known)
		if ok != lacks || ok && k.ID != want {
			t.Errorf("%s, to a node that knows %d: key %d, %v", when, known-firstID+1, k.ID-firstID+1, ok)
		}
	}
	expect("steady", firstID, 0, false)
	expect("steady", firstID-5, firstID, true)
	r.tick(start.Add(24 * time.Hour))
	expect("rolling", firstID, firstID+1, true)
	expect("rolling", firstID+1, 0, false)
	r.tick(start.Add(25 * time.Hour))
	expect("after the roll", firstID+1, 0, false)
	expect("after the roll", firstID, firstID+1, true)
}

func TestRingRestores(t *testing.T) {
	full := func(id int32) state.MasterKey {
		return state.MasterKey{ID: id, Bytes: make([]byte, DefaultKeyLength)}
	}
	short := state.MasterKey{ID: 7, Bytes: make([]byte, 8)}
	for _, c := range []struct {
		name   string
		keys   state.MasterKeys
		due    time.Duration
		change Change
		serial int32
	}{
		{"steady", state.MasterKeys{Current: full(7)}, 24 * time.Hour, Rolled, 8},
		{"rolling waits for a full delay again", state.MasterKeys{Current: full(7), Next: full(8)}, time.Hour, Promoted, 8},
		{"a short key is rolled at once, not dropped", state.MasterKeys{Current: short}, 0, Rolled, 8},
		{"the last id is followed by the smallest", state.MasterKeys{Current: full(1<<31 - 1)}, 24 * time.Hour, Rolled, -1 << 31},
		{"id zero is left out", state.MasterKeys{Current: full(-1)}, 24 * time.Hour, Rolled, 1},
	} {
		r := newRing(rolling(24*time.Hour, time.Hour), start)
		r.restore(c.keys, start)
		if got := r.due().Sub(start); got != c.due {
			t.Errorf("%s: due at %v, want %v", c.name, got, c.due)
		}
		if r.find(c.keys.Current.ID) == nil {
			t.Errorf("%s: the restored key does not verify", c.name)
		}
		if got := r.tick(r.due()); got != c.change || r.serial != c.serial {
			t.Errorf("%s: change %d, newest key %d, want %d, %d", c.name, got, r.serial, c.change, c.serial)
		}
	}
}

func TestRollingCheck(t *testing.T) {
	for _, c := range []struct {
		how  Rolling
		want string
	}{
		{Rolling{Interval: 24 * time.Hour, Delay: ActivationDelay(15 * time.Minute)}, ""},
		{Rolling{Interval: 31 * time.Minute, Delay: 15 * time.Minute}, ""},
		{Rolling{Interval: 30 * time.Minute, Delay: 15 * time.Minute}, "the.property is 30m0s: it must exceed 30m0s"},
		{Rolling{Interval: time.Hour}, "must be positive"},
		{Rolling{Interval: time.Hour, Delay: time.Minute, Length: 4}, "key length of 4 bytes"},
		{Rolling{Interval: time.Hour, Delay: time.Minute, Length: 1 << 20}, "key length"},
	} {
		err := c.how.Check("the.property")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.how, err, c.want)
		}
	}
	if got := ActivationDelay(10 * time.Minute); got != 15*time.Minute {
		t.Errorf("activation delay for 10 minutes is %v", got)
	}
}

func TestKeysAreRandomAndLong(t *testing.T) {
	a, b := newRing(Rolling{}, start), newRing(Rolling{}, start)
	if len(a.current.Bytes) != 32 || string(a.current.Bytes) == string(b.current.Bytes) || a.current.ID == b.current.ID {
		t.Errorf("keys %d:%x and %d:%x", a.current.ID, a.current.Bytes, b.current.ID, b.current.Bytes)
	}
}
