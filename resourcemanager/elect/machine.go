package elect

import (
	"fmt"
	"time"
)

// The machine decides what this candidate does. It is pure: it is told what has
// happened and what time it is, and says what to do. It has one call to ZooKeeper under
// way at most.
//
//	AWAY ──── connected ───► SEEKING ── lock is another's ──► STANDBY
//	                            │                                │ lock is gone
//	                            │◄───────────────────────────────┘
//	                            │ lock is mine
//	                            ▼
//	                        PREPARING ── breadcrumb written ──► TAKING ── taken over ──► ACTIVE
//
// Whatever takes the lock away leads from the last three to AWAY or STANDBY, with a
// StepDown. What fails while the lock is held leads to RESTING: the session ends, so that
// another candidate can have the lock, and after a pause a new one begins.
type machine struct {
	session time.Duration // without a sign of life from here, the servers end it after this

	state     State
	conn      int // counts connections; what is told of earlier ones is passed over
	turn      int // counts Leads
	connected bool
	busy      bool          // a call is under way
	watching  bool          // a change of the lock will be told
	contact   time.Duration // when the last call was sent that a quorum answered in this session; 0: none
	next      time.Duration // when the lock is looked at again
	rested    time.Duration // when RESTING ends
	taken     time.Duration // when TAKING is given up
	failures  int           // how often the lock was given up since the last term that began
	holder    string        // what the lock said last, while it is another's
}

// State is a candidate's part in the election.
type State int

// The states.
const (
	Away      State = iota // not in touch with ZooKeeper, and active no more if it was
	Seeking                // in touch; who holds the lock is not known
	Standby                // another one holds the lock
	Preparing              // this one does, and writes the breadcrumb
	Taking                 // and is about to be active
	Active
	Resting // has given up the lock for a moment
)

var stateNames = [...]string{"AWAY", "SEEKING", "STANDBY", "PREPARING", "TAKING", "ACTIVE", "RESTING"}

func (s State) String() string { return stateNames[s] }

// How often what is done.
const (
	looksPerSession = 6           // looks at the lock during one session timeout
	restPause       = time.Second // before the next try, after one has failed; twice that after the next failure, and so on
	maxRest         = 30 * time.Second
	takeLimit       = time.Minute // to become active, and twice that after each failure: another one may be sooner, and a large store takes long
	maxTake         = 16 * time.Minute
	retryPause      = time.Second // before a call is made again that was lost, at most
)

func newMachine(session time.Duration) *machine {
	return &machine{session: session}
}

// Deadline is when one that leads must lead no more, if a session of this timeout was last heard of at contact. A server tells the leader
// of the ensemble what it has heard of its sessions half a tick late, and in vain if it is cut off before; the leader may then count from
// the look before the last. The margin is for that, and for the clocks.
func Deadline(contact, session time.Duration) time.Duration { return contact + session - session/4 }

// Event is what has happened.
type (
	event interface{ of() int } // of which connection

	told struct { // the state of the session has changed
		conn      int
		connected bool
		expired   bool
	}
	answered struct { // a call has ended
		conn    int
		call    call
		sent    time.Duration
		session bool // it was sent and answered in one and the same session
		quorum  bool // most servers took part in the answer, so it is a sign that the session lives: one that is cut off from them answers, too
		watched bool // of watch: changed will be told
		lost    bool // it is not known whether the call was carried out, nor what would be answered
		err     error
		mine    bool   // of look and watch: the lock is of this session
		absent  bool   // likewise: there is no lock
		data    string // likewise: who has it
		exists  bool   // of create: there is a lock already
	}
	granted struct { // what the servers have made of the session's timeout
		conn    int
		session time.Duration
	}
	changed struct{ conn int } // a watch has seen something, or has ended
	led     struct {           // what lead has come to
		conn, turn int
		err        error
	}
	yielded struct { // whoever was active is not any more, and could not go on
		conn int
		why  string
	}
	ticked struct{ conn int } // time has passed
)

func (e told) of() int     { return e.conn }
func (e answered) of() int { return e.conn }
func (e granted) of() int  { return e.conn }
func (e changed) of() int  { return e.conn }
func (e led) of() int      { return e.conn }
func (e yielded) of() int  { return e.conn }
func (e ticked) of() int   { return e.conn }

// call is a question to ZooKeeper.
type call int

const (
	look   call = iota + 1 // read the lock
	watch                  // read the lock, and be told of its next change
	create                 // take the lock
	mark                   // write the breadcrumb
)

// action is what to do. They are done in order.
type (
	action   interface{}
	ask      struct{ call call }   // and tell what comes of it, with answered
	lead     struct{ turn int }    // become active, and tell with led
	stepDown struct{ why string }  // be active no more, and cancel lead
	reopen   struct{ close bool }  // end the session, and begin another unless close
	note     struct{ text string } // for the log
	alarm    struct{ text string } // likewise, of what somebody has to look at
)

// holding tells whether the lock is this one's, as far as it knows.
func (m *machine) holding() bool {
	return m.state == Preparing || m.state == Taking || m.state == Active
}

// deadline is when this one must be active no more if nothing is heard until then.
func (m *machine) deadline() time.Duration { return Deadline(m.contact, m.session) }

// due is when step wants to be called again, if nothing happens; 0: never.
func (m *machine) due() time.Duration {
	var at time.Duration
	sooner := func(t time.Duration) {
		if at == 0 || t < at {
			at = t
		}
	}
	if m.holding() {
		sooner(m.deadline())
	}
	if m.state == Taking {
		sooner(m.taken)
	}
	if m.state == Resting {
		sooner(m.rested)
	} else if m.connected && !m.busy {
		sooner(m.next)
	}
	return at
}

func (m *machine) step(now time.Duration, e event) []action {
	if e.of() != m.conn {
		return nil
	}
	var out []action
	if m.holding() && now >= m.deadline() { // before anything else: what is told now may have waited for long
		out = m.fall(Away, fmt.Sprintf("ZooKeeper has not answered for %s, and ends the session after %s", (now-m.contact).Round(time.Millisecond), m.session))
	}
	if m.state == Taking && now >= m.taken {
		if l, ok := e.(led); !ok || l.turn != m.turn { // which tells that it is done
			out = append(out, m.rest(now, fmt.Sprintf("it has not become active within %s", m.patience()))...)
		}
	}
	switch e := e.(type) {
	case told:
		out = append(out, m.told(now, e)...)
	case answered:
		m.busy = false
		out = append(out, m.answered(now, e)...)
	case granted:
		if e.session > 0 { // who asks for more than they allow gets less
			m.session = min(m.session, e.session)
		}
	case changed:
		m.watching, m.next = false, now
	case led:
		out = append(out, m.led(now, e)...)
	case yielded:
		if m.holding() {
			out = append(out, m.rest(now, e.why)...)
		}
	}
	return append(out, m.goOn(now)...)
}

// goOn does what is due.
func (m *machine) goOn(now time.Duration) []action {
	switch {
	case m.state == Resting && now >= m.rested:
		m.state = Away
		m.conn++
		m.connected, m.busy, m.watching, m.contact = false, false, false, 0
		return []action{reopen{}}
	case m.state == Resting || !m.connected || m.busy || now < m.next:
		return nil
	case m.watching:
		return m.ask(now, look)
	}
	return m.ask(now, watch)
}

func (m *machine) ask(now time.Duration, c call) []action {
	m.busy = true
	m.next = now + m.session/looksPerSession
	return []action{ask{c}}
}

func (m *machine) told(now time.Duration, e told) []action {
	if m.state == Resting {
		return nil
	}
	m.connected, m.next = e.connected, now
	switch {
	case e.expired:
		m.contact, m.watching = 0, false
		return m.fall(Away, "the session with ZooKeeper has expired")
	case !e.connected && m.holding():
		return []action{note{fmt.Sprintf("the connection to ZooKeeper is lost; in %s this ResourceManager becomes a standby", (m.deadline() - now).Round(time.Millisecond))}}
	case !e.connected:
		m.state = Away
	case m.state == Away:
		m.state = Seeking
	}
	return nil
}

// fall ends being active.
func (m *machine) fall(to State, why string) []action {
	was := m.state
	m.state = to
	switch was {
	case Taking, Active:
		return []action{stepDown{why}}
	case Preparing:
		return []action{note{why}}
	}
	return nil
}

func (m *machine) answered(now time.Duration, e answered) []action {
	if m.state == Resting {
		return nil
	}
	if e.session && e.watched { // whatever else has come of it
		m.watching = true
	}
	if e.session && e.quorum && !e.lost {
		m.contact = max(m.contact, e.sent)
	}
	if e.lost || !e.session {
		m.next = now + min(retryPause, m.session/looksPerSession)
		return nil
	}
	switch {
	case e.call == create && e.exists:
		return m.ask(now, watch)
	case e.err != nil && m.holding():
		return m.rest(now, e.err.Error())
	case e.err != nil:
		m.next = now + restPause
		return []action{alarm{e.err.Error()}}
	case e.call == create:
		return m.own(now)
	case e.call == mark:
		if m.state != Preparing {
			return nil
		}
		m.state, m.taken = Taking, now+m.patience()
		m.turn++
		return []action{lead{m.turn}}
	case e.absent:
		m.watching = false
		out := m.fall(Seeking, "the lock in ZooKeeper is gone")
		m.state = Seeking
		return append(out, m.ask(now, create)...)
	case e.mine:
		return m.own(now)
	}
	return m.follow(e.data)
}

// patience is how long becoming active may take.
func (m *machine) patience() time.Duration {
	limit := takeLimit
	for i := 0; i < m.failures && limit < maxTake; i++ {
		limit *= 2
	}
	return min(limit, maxTake)
}

// own is what follows when the lock is this one's.
func (m *machine) own(now time.Duration) []action {
	if m.state == Taking || m.state == Active {
		return nil
	}
	m.state, m.holder = Preparing, ""
	return m.ask(now, mark)
}

// follow is what follows when the lock is another's.
func (m *machine) follow(holder string) []action {
	out := m.fall(Standby, "the lock in ZooKeeper is held by "+holder)
	m.state = Standby
	if m.holder != holder {
		m.holder = holder
		out = append(out, note{"the active ResourceManager is " + holder})
	}
	return out
}

func (m *machine) led(now time.Duration, e led) []action {
	if e.turn != m.turn || m.state != Taking {
		return nil
	}
	if e.err != nil {
		return m.rest(now, e.err.Error())
	}
	m.state, m.failures = Active, 0
	return nil
}

// rest gives the lock up for a moment, which is longer the more often it was given up in vain.
func (m *machine) rest(now time.Duration, why string) []action {
	var out []action
	if m.state != Preparing {
		out = m.fall(Resting, why)
	}
	pause := restPause
	for i := 0; i < m.failures && pause < maxRest; i++ {
		pause = min(2*pause, maxRest)
	}
	m.failures++
	m.state, m.connected, m.rested = Resting, false, now+pause
	return append(out, alarm{"the lock in ZooKeeper is given up for " + pause.String() + ": " + why}, reopen{close: true})
}
