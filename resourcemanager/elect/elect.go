// Package elect takes part in the election of the active ResourceManager, in ZooKeeper
// and in Hadoop's layout, so that ResourceManagers of both may stand for it:
//
//	BASE/CLUSTER/ActiveStandbyElectorLock  ephemeral: whose session has it is active
//	BASE/CLUSTER/ActiveBreadCrumb          persistent: who was active last
//
// Both hold an ActiveRMInfo. The machine (machine.go) decides; what is here carries it
// out: a goroutine for the machine, one for each call to ZooKeeper, and one that becomes
// active and steps down, in turn.
//
// A candidate is active only while it has a lease: its session cannot have ended, since
// a call that most servers took part in was sent less than the session's timeout ago. A
// mere read is none: a server that is cut off from the others answers it alone. The lease
// is counted by a clock that goes on while the machine sleeps.
package elect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/internal/zookeeper"
)

// Config is what a candidate needs.
type Config struct {
	Open    zookeeper.Opener
	Options zookeeper.Options // State is set here
	ACL     []zookeeper.ACL   // of the nodes
	Path    string            // BASE/CLUSTER
	Cluster string            // yarn.resourcemanager.cluster-id
	ID      string            // yarn.resourcemanager.ha.id

	// Lead makes this ResourceManager active. It returns an error soon after ctx has ended.
	Lead func(ctx context.Context) error
	// StepDown makes it a standby, if it is active, and returns when it is.
	StepDown func(why string)

	Log   *slog.Logger
	Clock func() time.Duration // since some moment, also while the machine sleeps; nil: the machine's
}

// Candidate is one that stands for election. Its methods are safe for concurrent use.
type Candidate interface {
	// Close leaves the election. Whoever calls it has stepped down.
	Close()
	// Holds tells whether this one may be active now.
	Holds() bool
	// Yield tells that this ResourceManager is not active any more though it was elected, and why: another one is to have a chance.
	Yield(why string)
	// Status tells how this one stands.
	Status() Status
}

// Elector is a candidate. Its methods are safe for concurrent use.
type Elector struct {
	cfg  Config
	info []byte // what this one writes

	mu     sync.Mutex
	inbox  []event
	wake   chan struct{}
	status Status

	lease atomic.Int64 // nanoseconds of Clock until which the lock is surely held

	opened   map[zookeeper.Conn]bool // the connections that are not closed yet; true: the lock is to be released first. Guarded by mu
	left     sync.Once
	lastLine string // what the connection has logged last. Guarded by mu

	ctx    context.Context
	end    context.CancelFunc
	work   sync.WaitGroup
	duties chan func() // of the goroutine that leads

	// For the machine's goroutine alone.
	m      *machine
	conn   zookeeper.Conn
	cancel context.CancelFunc // of the lead that is under way, or was last
	done   chan struct{}      // is closed once all that was to lead and to step down before the last release is done
	alarms map[string]time.Duration
}

// Status tells how a candidate stands.
type Status struct {
	State     State
	Connected bool
	Holder    string // the active ResourceManager, while it is another; "" if it is not known
	Since     time.Time
	Elections int64 // how often this one has become active
}

// The names of the nodes.
const (
	lockName  = "ActiveStandbyElectorLock"
	crumbName = "ActiveBreadCrumb"
)

// maxDuties bounds what waits for its turn to lead or to step down.
const maxDuties = 64

// Start begins to stand for election. It does not wait for ZooKeeper.
func Start(c Config) (*Elector, error) {
	if c.Clock == nil {
		c.Clock = boottime
	}
	if err := zookeeper.CheckPath(c.Path); err != nil {
		return nil, fmt.Errorf("the path of the election: %w", err)
	}
	e := &Elector{cfg: c, info: encode(c.Cluster, c.ID), wake: make(chan struct{}, 1), m: newMachine(c.Options.Session), duties: make(chan func(), maxDuties),
		alarms: map[string]time.Duration{}, opened: map[zookeeper.Conn]bool{}, cancel: func() {}}
	e.ctx, e.end = context.WithCancel(context.Background())
	e.status.Since = time.Now()
	if err := e.open(); err != nil {
		return nil, err
	}
	e.work.Go(e.run)
	e.work.Go(e.serve)
	e.work.Go(e.reportAbsence)
	return e, nil
}

// Close leaves the election. Whoever calls it has stepped down: the lock is free at once, and the breadcrumb says that nobody has to be
// fenced.
func (e *Elector) Close() {
	e.end()
	e.work.Wait()
	e.left.Do(e.leave)
}

// Holds tells whether this one may be active now.
func (e *Elector) Holds() bool { return int64(e.cfg.Clock()) < e.lease.Load() }

// Yield tells that this ResourceManager is not active any more though it holds the lock, and why. It gives the lock up for a moment, so
// that another one can have it.
func (e *Elector) Yield(why string) {
	e.mu.Lock()
	conn := e.m.conn
	e.mu.Unlock()
	e.tell(yielded{conn, why})
}

// Status tells how this one stands.
func (e *Elector) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

func (e *Elector) tell(x event) {
	e.mu.Lock()
	e.inbox = append(e.inbox, x)
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// open begins a session. The machine's number of the connection is that of this one.
func (e *Elector) open() error {
	o, number := e.cfg.Options, e.m.conn
	o.State = func(s zookeeper.State) {
		e.tell(told{conn: number, connected: s == zookeeper.Connected, expired: s == zookeeper.Expired})
	}
	o.Log = func(text string) {
		e.mu.Lock()
		e.lastLine = text
		e.mu.Unlock()
		if e.cfg.Options.Log != nil {
			e.cfg.Options.Log(text)
		}
	}
	o.Granted = func(session time.Duration) { e.tell(granted{number, session}) }
	conn, err := e.cfg.Open(o)
	if err != nil {
		return err
	}
	e.conn = conn
	e.mu.Lock()
	e.opened[conn] = false
	e.mu.Unlock()
	return nil
}

// run is the machine's goroutine.
func (e *Elector) run() {
	defer func() {
		e.lease.Store(0)
		e.cancel()
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-e.wake:
		case <-timer.C:
		}
		e.mu.Lock()
		events := e.inbox
		e.inbox = nil
		e.mu.Unlock()
		for _, x := range append(events, ticked{e.m.conn}) {
			if i, ok := x.(idle); !ok {
				e.step(x)
			} else if i.conn == e.m.conn {
				e.reopen()
			}
		}
		timer.Stop()
		if due := e.m.due(); due > 0 {
			timer.Reset(max(0, due-e.cfg.Clock()))
		}
	}
}

func (e *Elector) step(x event) {
	e.mu.Lock()
	before := e.m.state
	todo := e.m.step(e.cfg.Clock(), x)
	s := &e.status
	s.Connected, s.Holder = e.m.connected, e.m.holder
	if s.State != e.m.state {
		s.State, s.Since = e.m.state, time.Now()
		if s.State == Active {
			s.Elections++
		}
	}
	e.mu.Unlock()
	lease := int64(0)
	if e.m.holding() {
		lease = int64(e.m.deadline())
	}
	e.lease.Store(lease)
	if before != e.m.state {
		e.cfg.Log.Debug("the election goes on", "from", before, "to", e.m.state)
	}
	for _, a := range todo {
		e.do(a)
	}
}

// do carries an action out.
func (e *Elector) do(a action) {
	switch a := a.(type) {
	case ask:
		conn, number := e.conn, e.m.conn
		e.work.Go(func() {
			answer, events := e.ask(conn, number, a.call)
			e.tell(answer)
			if events == nil {
				return
			}
			select { // not before the answer: the machine has to know that it watches
			case <-events:
				e.tell(changed{number})
			case <-e.ctx.Done():
			}
		})
	case lead:
		ctx, cancel := context.WithCancel(e.ctx)
		e.cancel = cancel
		number := e.m.conn
		e.duty(func() {
			err := ctx.Err()
			if err == nil {
				err = e.cfg.Lead(ctx)
			}
			e.tell(led{number, a.turn, err})
		})
	case stepDown:
		e.cancel()
		e.duty(func() { e.cfg.StepDown(a.why) })
	case reopen:
		if conn := e.conn; a.close {
			e.mu.Lock()
			e.opened[conn] = true
			e.mu.Unlock()
			e.releaseSoon(conn)
		} else {
			e.reopen()
		}
	case note:
		e.cfg.Log.Info(a.text, "id", e.cfg.ID)
	case alarm:
		e.alarm(a.text)
	}
}

// alarm logs what somebody has to look at, and the same not again for a minute.
func (e *Elector) alarm(text string) {
	now := e.cfg.Clock()
	if at, ok := e.alarms[text]; ok && now-at < time.Minute {
		return
	}
	if len(e.alarms) > 100 {
		clear(e.alarms)
	}
	e.alarms[text] = now
	e.cfg.Log.Error("the election: "+text, "id", e.cfg.ID)
}

// reportAbsence says from time to time that there is no connection to ZooKeeper, and the last thing the connection logged.
func (e *Elector) reportAbsence() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	a := absenceFrom(e.cfg.Clock())
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-ticker.C:
		}
		e.mu.Lock()
		connected, state, last := e.status.Connected, e.status.State, e.lastLine
		e.mu.Unlock()
		switch away, says := a.step(e.cfg.Clock(), connected); {
		case says && connected:
			e.cfg.Log.Info("ZooKeeper is reached again", "id", e.cfg.ID)
		case says:
			e.cfg.Log.Warn("there is no connection to ZooKeeper: "+absent(state), "id", e.cfg.ID, "zooKeeper", e.cfg.Options.Address,
				"for", away.Round(time.Second), "last", last)
		}
	}
}

// absent is what it means to a candidate in this state that it has no connection.
func absent(s State) string {
	if s == Taking || s == Active {
		return "this ResourceManager is active, and becomes a standby before its session expires"
	}
	return "this ResourceManager cannot be elected"
}

// absence decides when it is said that there is no connection.
type absence struct {
	since time.Duration // when there was one last
	next  time.Duration // when it is said
	said  bool
}

// When an absence is told for the first time, and after that.
const (
	absenceFirst = 10 * time.Second
	absenceAgain = time.Minute
)

func absenceFrom(now time.Duration) absence { return absence{since: now, next: now + absenceFirst} }

// step tells how long there has been no connection, and whether that, or its end, is to be said.
func (a *absence) step(now time.Duration, connected bool) (away time.Duration, says bool) {
	if connected {
		says = a.said
		*a = absenceFrom(now)
		return 0, says
	}
	if away = now - a.since; now < a.next {
		return away, false
	}
	a.said, a.next = true, now+absenceAgain
	return away, true
}

// duty has something done in turn, unless all is over before.
func (e *Elector) duty(do func()) {
	select {
	case e.duties <- do:
	case <-e.ctx.Done():
	}
}

// serve is the goroutine that leads.
func (e *Elector) serve() {
	for {
		select {
		case do := <-e.duties:
			do()
		case <-e.ctx.Done():
			return
		}
	}
}

// patience bounds one call to ZooKeeper; the answer to one that takes longer is no sign of life any more.
func (e *Elector) patience() time.Duration { return e.cfg.Options.Session }

// ask makes a call. The events are those of a watch that it has left.
func (e *Elector) ask(conn zookeeper.Conn, number int, c call) (a answered, events <-chan zookeeper.Event) {
	ctx, cancel := context.WithTimeout(e.ctx, e.patience())
	defer cancel()
	a = answered{conn: number, call: c, sent: e.cfg.Clock()}
	session := conn.SessionID()
	switch c {
	case look, watch:
		events, a.err = e.look(ctx, conn, session, &a)
		a.watched = events != nil
	case create:
		a.err = e.create(ctx, conn, &a)
		a.quorum = a.err == nil
	case mark:
		a.err = e.mark(ctx, conn)
		a.quorum = a.err == nil
	}
	a.session = session != 0 && session == conn.SessionID()
	a.lost = a.lost || zookeeper.Lost(a.err) || errors.Is(a.err, zookeeper.ErrClosed) || ctx.Err() != nil && a.err != nil
	return a, events
}

// look reads the lock. If it is of this session that is not enough: a check of its version goes through the leader of the ensemble, which
// refuses it once the session has ended.
func (e *Elector) look(ctx context.Context, conn zookeeper.Conn, session int64, a *answered) (events <-chan zookeeper.Event, err error) {
	path := e.cfg.Path + "/" + lockName
	var data []byte
	var stat zookeeper.Stat
	if a.call == watch {
		data, stat, events, err = conn.GetWatch(ctx, path)
	} else {
		data, stat, err = conn.Get(ctx, path)
	}
	if errors.Is(err, zookeeper.ErrNoNode) {
		a.absent = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a.mine = stat.Owner == session
	a.data, err = decode(data, e.cfg.Cluster)
	if err != nil {
		return events, fmt.Errorf("the lock %s in ZooKeeper: %w", path, err)
	}
	if !a.mine {
		return events, nil
	}
	a.sent = e.cfg.Clock()
	err = conn.Multi(ctx, zookeeper.Op{Kind: zookeeper.OpCheck, Path: path, Version: stat.Version})
	a.quorum = err == nil
	a.lost = errors.Is(err, zookeeper.ErrNoNode) || errors.Is(err, zookeeper.ErrBadVersion) // it has changed since it was read
	return events, err
}

func (e *Elector) create(ctx context.Context, conn zookeeper.Conn, a *answered) error {
	if err := zookeeper.MakeParents(ctx, conn, e.cfg.Path, e.cfg.ACL); err != nil {
		return err
	}
	_, err := conn.Create(ctx, e.cfg.Path+"/"+lockName, e.info, zookeeper.Ephemeral, e.cfg.ACL)
	if errors.Is(err, zookeeper.ErrNodeExists) {
		a.exists = true
		return nil
	}
	return err
}

// mark writes the breadcrumb. Who was active before is fenced by the store, which the term takes over.
func (e *Elector) mark(ctx context.Context, conn zookeeper.Conn) error {
	path := e.cfg.Path + "/" + crumbName
	data, stat, err := conn.Get(ctx, path)
	switch {
	case errors.Is(err, zookeeper.ErrNoNode):
		_, err = conn.Create(ctx, path, e.info, zookeeper.Persistent, e.cfg.ACL)
	case err == nil:
		if id, bad := decode(data, e.cfg.Cluster); bad == nil && id != e.cfg.ID {
			e.cfg.Log.Info("another ResourceManager was active before, and did not say that it is not any more; it cannot write to the store once this one is active", "before", id)
		}
		_, err = conn.Set(ctx, path, e.info, stat.Version)
	}
	return err
}

// leave ends all sessions when all is over. One may be open besides the last: its turn to be released had not come.
func (e *Elector) leave() {
	e.mu.Lock()
	opened := maps.Clone(e.opened)
	e.mu.Unlock()
	var work sync.WaitGroup
	for conn, held := range opened {
		if held || conn == e.conn && e.m.holding() && e.m.connected {
			work.Go(func() { e.release(conn) })
		} else {
			conn.Close()
		}
	}
	work.Wait()
}

// releaseSoon releases a connection once whoever is active has stepped down. One that does not, because its store hangs for example, has no
// lease any more, so it answers nobody, and the next leader fences it off: then the lock is released all the same.
func (e *Elector) releaseSoon(conn zookeeper.Conn) {
	done := make(chan struct{})
	e.done = done
	e.duty(func() { close(done) })
	e.work.Go(func() {
		select {
		case <-done:
		case <-time.After(e.patience()):
			e.cfg.Log.Error("the lock in ZooKeeper is given up, though this ResourceManager has not become a standby yet", "id", e.cfg.ID, "after", e.patience())
		case <-e.ctx.Done():
			return // leave does it
		}
		e.release(conn)
	})
}

// idle is told to the elector, not to its machine: what was to lead and to step down is done.
type idle struct{ conn int }

func (x idle) of() int { return x.conn }

// reopen begins another session. Who still hangs in an earlier term could not begin another one, and does not stand until it can.
func (e *Elector) reopen() {
	done, number := e.done, e.m.conn
	select {
	case <-done:
		if err := e.open(); err != nil {
			e.alarm(err.Error())
		}
	default:
		e.work.Go(func() {
			select {
			case <-done:
				e.tell(idle{number})
			case <-e.ctx.Done():
			}
		})
	}
}

// release gives the lock up, and takes the own breadcrumb away, since nobody has to be fenced.
func (e *Elector) release(conn zookeeper.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	path := e.cfg.Path + "/" + crumbName
	data, stat, err := conn.Get(ctx, path)
	if err == nil && string(data) == string(e.info) {
		err = conn.Delete(ctx, path, stat.Version)
	}
	if err != nil && !errors.Is(err, zookeeper.ErrNoNode) {
		e.cfg.Log.Warn("the breadcrumb in ZooKeeper stays; the next active ResourceManager takes this one for lost", "error", err)
	}
	conn.Close()
	e.mu.Lock()
	delete(e.opened, conn)
	e.mu.Unlock()
}

// leavePatience bounds how long ZooKeeper may delay a stop.
const leavePatience = 2 * time.Second
