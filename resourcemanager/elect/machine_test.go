package elect

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const testSession = 10 * time.Second

func (c call) String() string {
	return map[call]string{look: "look", watch: "watch", create: "create", mark: "mark"}[c]
}

func describe(a action) string {
	switch a := a.(type) {
	case ask:
		return a.call.String()
	case lead:
		return "lead"
	case stepDown:
		return "step down: " + a.why
	case reopen:
		if a.close {
			return "close"
		}
		return "open"
	case note:
		return "note: " + a.text
	case alarm:
		return "alarm: " + a.text
	}
	return fmt.Sprint(a)
}

// play runs a script: in each line a time in seconds, what happens, and after > what is to be done, separated by " | ". Answers are to
// the call that was asked for last, which was sent when it was; "answers" with "sent SECONDS" overrides that.
func play(t *testing.T, script string) *machine {
	t.Helper()
	m := newMachine(testSession)
	var last call
	var sent time.Duration
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		what, want, _ := strings.Cut(line, ">")
		f := strings.Fields(what)
		seconds, err := strconv.ParseFloat(f[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Hour + time.Duration(seconds*float64(time.Second))
		reply := answered{conn: m.conn, call: last, sent: sent, session: true, quorum: true, watched: last == watch}
		var e event
		switch f[1] {
		case "connected":
			e = told{conn: m.conn, connected: true}
		case "disconnected":
			e = told{conn: m.conn}
		case "expired":
			e = told{conn: m.conn, expired: true}
		case "ok":
			e = reply
		case "absent":
			reply.absent, reply.quorum, reply.watched = true, false, false
			e = reply
		case "mine":
			reply.mine, reply.data = true, "rm1"
			e = reply
		case "other":
			reply.data, reply.quorum = "rm2", false
			e = reply
		case "exists":
			reply.exists = true
			e = reply
		case "lost":
			reply.lost, reply.quorum, reply.watched, reply.err = true, false, false, errors.New("lost")
			e = reply
		case "unproved": // it was read, and what needs a quorum was lost
			reply.mine, reply.lost, reply.quorum, reply.err = true, true, false, errors.New("lost")
			e = reply
		case "senseless": // what was read
			reply.quorum, reply.err = false, errors.New("no ActiveRMInfo")
			e = reply
		case "refused":
			reply.quorum, reply.watched, reply.err = false, false, errors.New("no right")
			e = reply
		case "changed":
			e = changed{m.conn}
		case "led":
			e = led{conn: m.conn, turn: m.turn}
		case "failed":
			e = led{conn: m.conn, turn: m.turn, err: errors.New("no queues")}
		case "grants":
			d, err := time.ParseDuration(f[2])
			if err != nil {
				t.Fatal(err)
			}
			e = granted{m.conn, d}
		case "yielded":
			e = yielded{m.conn, "the store"}
		case "tick":
			e = ticked{m.conn}
		default:
			t.Fatalf("%q", line)
		}
		var got []string
		for _, a := range m.step(now, e) {
			if x, ok := a.(ask); ok {
				last, sent = x.call, now
			}
			got = append(got, describe(a))
		}
		if g := strings.Join(got, " | "); g != strings.TrimSpace(want) {
			t.Fatalf("%s\n got %s (%s)", line, g, m.state)
		}
	}
	return m
}

const becomesActive = `
	0   connected > watch
	0.1 absent    > create
	0.2 ok        > mark
	0.3 ok        > lead
	0.4 led       >`

func TestBecomesActive(t *testing.T) {
	m := play(t, becomesActive+`
	1   tick >
	1.9 tick > watch
	1.9 mine >
	3.8 tick > look
	3.8 mine >`)
	if m.state != Active || m.deadline() != time.Hour+3800*time.Millisecond+7500*time.Millisecond {
		t.Errorf("%s until %s", m.state, m.deadline())
	}
}

func TestFollows(t *testing.T) {
	play(t, `
	0   connected > watch
	0.1 other     > note: the active ResourceManager is rm2
	1   tick      >
	2   tick      > look
	2   other     >
	3   changed   > watch
	3   absent    > create
	3.1 exists    > watch
	3.2 other     >
	4   changed   > watch
	4   absent    > create
	4.1 ok        > mark
	4.2 ok        > lead`)
}

// Cut off, it is a standby before the session can have ended, counted from the last call that was answered.
func TestCutOff(t *testing.T) {
	play(t, becomesActive+`
	1.9  tick         > watch
	2    mine         >
	3.8  disconnected > note: the connection to ZooKeeper is lost; in 5.6s this ResourceManager becomes a standby
	9.3  tick         >
	9.4  tick         > step down: ZooKeeper has not answered for 7.5s, and ends the session after 10s
	11   connected    > look
	11   mine         > mark
	11.1 ok           > lead
	11.2 led          >`)
	// Nobody notices the loss of the connection: the call is not answered.
	play(t, becomesActive+`
	1.9  tick > watch
	7.6  tick >
	7.7  tick > step down: ZooKeeper has not answered for 7.5s, and ends the session after 10s
	9.3  lost >
	10.3 tick > watch
	10.3 other > note: the active ResourceManager is rm2`)
	// What comes after a long pause of the process comes too late.
	play(t, becomesActive+`
	1.9  tick > watch
	30   mine > step down: ZooKeeper has not answered for 29.8s, and ends the session after 10s | mark`)
	// A server that is cut off from the others tells what it knows.
	play(t, becomesActive+`
	1.9  tick     > watch
	1.9  unproved >
	2.9  tick     > look
	2.9  unproved >
	7.6  tick     > look
	7.7  unproved > step down: ZooKeeper has not answered for 7.5s, and ends the session after 10s
	8.7  tick     > look
	8.7  mine     > mark`)
	// Another server of the ensemble answers in time.
	play(t, becomesActive+`
	2    disconnected > note: the connection to ZooKeeper is lost; in 5.7s this ResourceManager becomes a standby
	6    connected    > watch
	6.1  mine         >
	13   tick         > look
	13.1 mine         >`)
}

// Servers that allow less than was asked for end the session earlier.
func TestShorterSession(t *testing.T) {
	play(t, `
	0   grants 20s >
	0   grants 0s >
	0   grants 4s >`+becomesActive+`
	0.9 tick > watch
	0.9 mine >
	3.8 tick > look
	3.9 tick > step down: ZooKeeper has not answered for 3s, and ends the session after 4s`)
}

func TestLosesTheLock(t *testing.T) {
	play(t, becomesActive+`
	2   expired   > step down: the session with ZooKeeper has expired
	2.1 connected > watch
	2.2 other     > note: the active ResourceManager is rm2`)
	play(t, becomesActive+`
	2   tick    > watch
	2   mine    >
	3   changed > watch
	3   absent  > step down: the lock in ZooKeeper is gone | create
	3.1 ok      > mark
	3.2 ok      > lead`)
	play(t, becomesActive+`
	2   tick    > watch
	2   other   > step down: the lock in ZooKeeper is held by rm2 | note: the active ResourceManager is rm2`)
	play(t, `
	0   connected > watch
	0.1 absent    > create
	0.2 ok        > mark
	0.3 ok        > lead
	0.4 expired   > step down: the session with ZooKeeper has expired
	0.5 led       >`)
}

// It is not known whether a call was carried out: the lock says.
func TestLostCalls(t *testing.T) {
	play(t, `
	0   connected    > watch
	0.1 absent       > create
	0.2 lost         >
	1.2 tick         > watch
	1.3 mine         > mark
	1.4 lost         >
	2.4 tick         > look
	2.4 mine         > mark
	2.5 ok           > lead`)
}

// What fails while it has the lock lets another one have it.
func TestRests(t *testing.T) {
	for _, why := range []struct{ failed, cause string }{
		{"2.1 failed", "no queues"}, {"0.4 led >\n2.1 yielded", "the store"}, {"0.4 led >\n2 tick > watch\n2.1 refused", "no right"},
	} {
		closing := "alarm: the lock in ZooKeeper is given up for 1s: " + why.cause + " | close\n"
		play(t, strings.TrimSuffix(becomesActive, "0.4 led       >")+why.failed+" > step down: "+why.cause+" | "+closing+`
	2.2 disconnected >
	2.2 connected >
	3.2 tick      > open
	3.3 tick      >
	3.4 connected > watch
	3.5 other     > note: the active ResourceManager is rm2`)
	}
	play(t, `
	0   connected > watch
	0.1 absent    > create
	0.2 ok        > mark
	0.3 refused   > alarm: the lock in ZooKeeper is given up for 1s: no right | close
	1.3 tick      > open`)
	play(t, `
	0   connected > watch
	0.1 refused   > alarm: no right
	1   tick      >
	1.1 tick      > watch`)
}

// Who fails to lead again and again pauses longer each time, until it leads.
func TestRestsLonger(t *testing.T) {
	script, now := "", 0
	fails := func(pauses ...int) {
		for _, pause := range pauses {
			script += fmt.Sprintf(`
			%[1]d connected > watch
			%[1]d absent    > create
			%[1]d ok        > mark
			%[1]d ok        > lead
			%[1]d failed    > step down: no queues | alarm: the lock in ZooKeeper is given up for %[2]ds: no queues | close
			%[3]d.9 tick    >
			%[4]d tick      > open`, now, pause, now+pause-1, now+pause)
			now += pause
		}
	}
	fails(1, 2, 4, 8, 16, 30, 30)
	script += strings.ReplaceAll(`
	N connected > watch
	N absent    > create
	N ok        > mark
	N ok        > lead
	N led       >
	N yielded   > step down: the store | alarm: the lock in ZooKeeper is given up for 1s: the store | close`, "N", fmt.Sprint(now))
	now++
	script += fmt.Sprintf("\n%d tick > open", now)
	fails(2, 4)
	play(t, script)
}

// Who does not become active lets another one try, and takes more time the next time.
func TestTakesTooLong(t *testing.T) {
	m := play(t, strings.TrimSuffix(becomesActive, "0.4 led       >"))
	if m.state != Taking {
		t.Fatal(m.state)
	}
	begun := time.Hour + 400*time.Millisecond
	now := begun
	for ; m.state == Taking; now += time.Second {
		for _, a := range m.step(now, ticked{m.conn}) {
			switch a := a.(type) {
			case ask: // it has the lock, and a lease
				m.step(now, answered{conn: m.conn, call: a.call, sent: now, session: true, quorum: true, mine: true, watched: a.call == watch})
			case stepDown:
				if a.why != "it has not become active within 1m0s" {
					t.Error(a.why)
				}
			}
		}
	}
	if m.state != Resting || now-begun < takeLimit || now-begun > takeLimit+2*time.Second || m.due() != m.rested {
		t.Errorf("%v after %v", m.state, now-begun)
	}
	if m.patience() != 2*takeLimit {
		t.Errorf("the next time it takes %v", m.patience())
	}
	if m.failures = 9; m.patience() != maxTake {
		t.Errorf("after many it takes %v", m.patience())
	}
	m = play(t, strings.TrimSuffix(becomesActive, "0.4 led       >"))
	m.contact = begun + 2*takeLimit
	if m.step(begun+2*takeLimit, led{m.conn, m.turn, nil}); m.state != Active {
		t.Errorf("it has become active, and is %v", m.state)
	}
}

// What was read and makes no sense is watched all the same, once.
func TestSenselessLockIsWatchedOnce(t *testing.T) {
	play(t, `
	0   connected > watch
	0.1 senseless > alarm: no ActiveRMInfo
	1.1 tick      > look
	1.2 senseless > alarm: no ActiveRMInfo
	2   changed   > watch
	2.1 senseless > alarm: no ActiveRMInfo
	3.1 tick      > look`)
}

// ensemble is what the servers know, and candidates whose calls may be late or lost.
type ensemble struct {
	t        *testing.T
	r        *rand.Rand
	now      time.Duration
	sessions []time.Duration // of each candidate's session: when the servers heard of it last; 0: ended
	id       []int           // of each candidate's session
	owner    int             // session id that has the lock; 0: none
	last     int
	m        []*machine
	inflight [][]func() event // by candidate, in order
	leading  []bool           // what the candidate's daemon is told to be
	cut      []bool           // whether the candidate's server is cut off from the others
	seen     []int            // what such a server takes for the owner
	terms    int
}

func (x *ensemble) expire() {
	for i, heard := range x.sessions {
		if heard > 0 && x.now >= heard+testSession {
			if x.owner == x.id[i] {
				x.owner = 0
			}
			x.sessions[i] = 0
		}
	}
}

// step tells a candidate something, and does what it says.
func (x *ensemble) step(i int, e event) {
	for _, a := range x.m[i].step(x.now, e) {
		switch a := a.(type) {
		case ask:
			x.call(i, a.call)
		case lead:
			x.leading[i] = true
			x.terms++
			conn, turn := x.m[i].conn, a.turn
			x.inflight[i] = append(x.inflight[i], func() event { return led{conn: conn, turn: turn} })
		case stepDown:
			x.leading[i] = false
		case reopen:
			if a.close {
				if x.owner == x.id[i] {
					x.owner = 0
				}
				x.sessions[i] = 0
			}
			x.inflight[i] = nil
		}
	}
	if !x.m[i].holding() && x.leading[i] {
		x.t.Fatalf("candidate %d leads and holds nothing", i)
	}
}

// call reaches the servers now or never; its answer comes later, or is lost.
func (x *ensemble) call(i int, c call) {
	a := answered{conn: x.m[i].conn, call: c, sent: x.now, session: true}
	if x.cut[i] && (c == look || c == watch) { // it answers what it knows, alone
		a.absent, a.mine, a.data = x.seen[i] == 0, x.seen[i] != 0 && x.seen[i] == x.id[i], fmt.Sprint(x.seen[i])
	} else if x.cut[i] || x.sessions[i] == 0 || x.r.IntN(10) == 0 {
		a.lost, a.err = true, errors.New("lost")
	} else {
		x.sessions[i] = x.now
		a.quorum = true
		switch c {
		case look, watch:
			a.absent, a.mine, a.data = x.owner == 0, x.owner == x.id[i], fmt.Sprint(x.owner)
		case create:
			if a.exists = x.owner != 0; !a.exists {
				x.owner = x.id[i]
			}
		}
		if x.r.IntN(10) == 0 {
			a = answered{conn: a.conn, call: c, sent: a.sent, session: true, lost: true, err: errors.New("lost")}
		}
	}
	x.inflight[i] = append(x.inflight[i], func() event { return a })
}

// Whatever is lost or late, no two candidates have a lease at the same time, and there is an active one again and again.
func TestOneLeaseAtATime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		const n = 3
		x := &ensemble{t: t, r: r, now: time.Hour, sessions: make([]time.Duration, n), id: make([]int, n), inflight: make([][]func() event, n), leading: make([]bool, n),
			cut: make([]bool, n), seen: make([]int, n)}
		for range n {
			x.m = append(x.m, newMachine(testSession))
		}
		for range 400 {
			x.now += time.Duration(r.Int64N(int64(testSession / 8)))
			if r.IntN(40) == 0 {
				x.now += testSession // everybody was paused
			}
			x.expire()
			i := r.IntN(n)
			if r.IntN(30) == 0 {
				x.cut[i], x.seen[i] = !x.cut[i], x.owner
			}
			switch p := r.IntN(20); {
			case x.cut[i] && x.sessions[i] == 0 && p < 18: // it does not hear of the end of its session
				if len(x.inflight[i]) == 0 {
					x.step(i, ticked{x.m[i].conn})
					break
				}
				e := x.inflight[i][0]
				x.inflight[i] = x.inflight[i][1:]
				x.step(i, e())
			case x.sessions[i] == 0 && x.m[i].connected:
				x.step(i, told{conn: x.m[i].conn, expired: true})
			case x.sessions[i] == 0 && x.m[i].state != Resting:
				x.last++
				x.id[i], x.sessions[i] = x.last, x.now
				x.step(i, told{conn: x.m[i].conn, connected: true})
			case p == 0:
				x.step(i, told{conn: x.m[i].conn})
			case p == 1:
				x.step(i, yielded{x.m[i].conn, "test"})
			case !x.m[i].connected && x.sessions[i] > 0 && x.m[i].state != Resting:
				x.sessions[i] = x.now
				x.step(i, told{conn: x.m[i].conn, connected: true})
			case len(x.inflight[i]) > 0 && p < 16:
				e := x.inflight[i][0]
				x.inflight[i] = x.inflight[i][1:]
				x.step(i, e())
			default:
				x.step(i, ticked{x.m[i].conn})
			}
			var holders []int
			for i, m := range x.m {
				if m.holding() && x.now < m.deadline() {
					holders = append(holders, i)
					if x.owner != x.id[i] {
						t.Fatalf("candidate %d has a lease, and not the lock", i)
					}
				}
			}
			if len(holders) > 1 {
				t.Fatalf("leases: %v", slices.Clone(holders))
			}
		}
		if x.terms == 0 {
			t.Fatal("nobody was ever active")
		}
	}
}
