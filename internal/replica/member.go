package replica

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/heddle-project/heddle/internal/sealed"
)

// Config is what a member needs.
type Config struct {
	Dir     string            // of its files; it is made
	Cluster string            // members of another cluster are refused
	Name    string            // of this member
	Members map[string]string // names to host:port, this one included, which listens there
	Witness []string          // names of members that vote and have all data, but are never the leader for long, and have no lease; the same for all
	Secret  []byte            // that all members share
	Timeout time.Duration     // after which the others elect a new leader, or twice that
	Buckets []string          // of the data
	Intact  func(bucket string, value []byte) error
	Log     *slog.Logger
	Clock   func() time.Duration // since some moment, also while the machine sleeps

	Listen string                                                      // host:port; empty: its own of Members
	Dial   func(ctx context.Context, address string) (net.Conn, error) // nil: TCP
	Keep   int                                                         // entries of the log for members that are behind; 0: the usual
}

func (c *Config) dial(ctx context.Context, address string) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial(ctx, address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// Errors of changes.
var (
	ErrNotLeader = errors.New("this member is not the leader")
	ErrLost      = errors.New("this member was the leader and is not any more; whether the change will be made is not known")
	ErrClosed    = errors.New("this member has ended")
)

// Reader reads a file.
type Reader interface {
	Get(bucket, key string) []byte
	ForEach(bucket string, do func(key, value []byte) error) error
}

// Standing tells how a member stands.
type Standing struct {
	Leads   bool   // it is the leader, and has proved it
	Leader  string // the leader's name; "": nobody is known
	Term    uint64 // which grows with every election
	Founded bool   // it knows who the members are
	Voters  string // the names of those that have a vote, sorted and with commas, as far as this one knows
	Broken  error  // why it takes part no more
}

// Member is one of those that keep the data. Its methods are safe for concurrent use.
type Member struct {
	cfg      Config
	names    []string // of all members, sorted
	disk     uint64
	file     *sealed.File
	tls      *tls.Config
	listener net.Listener
	founded  atomic.Bool
	remade   atomic.Uint64 // kept.remade, for the hellos
	lease    atomic.Int64  // nanoseconds of Clock

	mu       sync.Mutex
	standing Standing
	changed  chan struct{} // is closed when standing or lease has begun or ended
	told     map[string]time.Time

	using     sync.RWMutex // is read-held while the file is used
	receiving sync.Mutex
	closing   sync.Once
	closed    error

	ctx   context.Context
	end   context.CancelFunc
	work  sync.WaitGroup
	inbox chan func()

	// For the member's goroutine alone.
	core        *core
	peers       []*peer
	waiting     map[uint64]chan error
	undelivered []*pb.Message
	number      uint64
	broken      error
}

// inboxLength is what may wait for the member's goroutine; atOnce is how much of it becomes one transaction.
const (
	inboxLength = 4096
	atOnce      = 512
)

const fileName = "replica.db"

// mapBytes is the address space of the file. A reader, such as a snapshot that is sent, would else keep the leader waiting whenever the file grows.
const mapBytes = 16 << 30

func sealedOptions(c *Config) sealed.Options {
	return sealed.Options{Kind: "replicated store", Holder: "ResourceManager", Own: ownBucket, Prepare: prepare(c.Buckets), Map: mapBytes,
		Advice: "If most of the other members are well, stop this one and remove " + c.Dir + ": it gets all data from them when it starts again. Do so with one at a time, and not with the next before this one has a vote",
		Warn:   func(text string) { c.Log.Warn("the replicated store is used, but odd", "what", text) },
		Owner:  func(_, _ []byte) string { return "" },
		Intact: func(_ bool, bucket string, _, value []byte) error {
			if bucket == logBucket {
				return entryIntact(value)
			}
			if c.Intact == nil {
				return nil
			}
			return c.Intact(bucket, value)
		}}
}

// SetAside renames the file of a member that does not run, so that it begins with none. aside is the name under which it is kept.
func SetAside(dir string, now time.Time) (aside string, err error) {
	return sealed.SetAside(filepath.Join(dir, fileName), sealedOptions(&Config{Dir: dir}), now)
}

// Report is what Check has found.
type Report struct {
	*sealed.Report
	Entry, Term uint64 // the last entry of the log that can be read: of two copies the one with the later term, or the same and the later entry, has more
}

// Check reads the file of a member and reports what is damaged; it changes nothing.
func Check(c Config) (*Report, error) {
	var mu sync.Mutex
	var last position
	later := func(p position) {
		mu.Lock()
		defer mu.Unlock()
		if p.term > last.term || p.term == last.term && p.index > last.index {
			last = p
		}
	}
	o := sealedOptions(&c)
	o.Each = func(bucket string, key, value []byte) {
		if bucket == logBucket {
			if e, err := decodeEntry(value); err == nil {
				later(position{e.GetIndex(), e.GetTerm()})
			}
		} else if bucket == ownBucket && string(key) == appliedKey {
			if p, err := decodePosition(value); err == nil {
				later(p)
			}
		}
	}
	r, err := sealed.Check(filepath.Join(c.Dir, fileName), o)
	if err != nil {
		return nil, err
	}
	return &Report{r, last.index, last.term}, nil
}

// Open opens the files, making them if need be, and the port, and begins to take part.
func Open(c Config) (*Member, error) {
	m := &Member{cfg: c, names: slices.Sorted(maps.Keys(c.Members)), changed: make(chan struct{}), told: map[string]time.Time{}, inbox: make(chan func(), inboxLength),
		waiting: map[uint64]chan error{}}
	m.ctx, m.end = context.WithCancel(context.Background())
	if err := m.open(); err != nil {
		_ = m.Close()
		return nil, err
	}
	for _, p := range m.peers {
		m.work.Go(func() { m.talk(p) })
	}
	m.work.Go(m.serve)
	m.work.Go(m.run)
	return m, nil
}

func (m *Member) open() (err error) {
	c := &m.cfg
	if c.Members[c.Name] == "" {
		return fmt.Errorf("%q is none of the members", c.Name)
	}
	if m.tls, err = security(c.Secret); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	if m.file, err = sealed.Open(filepath.Join(c.Dir, fileName), sealedOptions(c)); err != nil {
		return err
	}
	if err := m.bind(); err != nil {
		return err
	}
	if err := m.removeSnapshots(); err != nil {
		return err
	}
	if len(c.Witness) >= len(c.Members)-1 {
		return fmt.Errorf("%d of %d members are witnesses: two or more must be able to lead", len(c.Witness), len(c.Members))
	}
	m.core = &core{witness: slices.Contains(c.Witness, c.Name), others: c.Witness, disk: memberDisk{m}, buckets: c.Buckets, log: logger{c.Log}, timeout: c.Timeout, send: m.post, holds: func(lease time.Duration) { m.lease.Store(int64(lease)) }}
	if c.Keep > 0 {
		m.core.keep.entries, m.core.keep.bytes = c.Keep, keepBytes
	}
	if err := m.core.begin(c.Clock()); err != nil {
		return fmt.Errorf("%s: %w", m.file.Path(), err)
	}
	m.disk = m.core.kept.disk
	m.founded.Store(m.core.kept.founded())
	m.remade.Store(m.core.kept.remade)
	var b [8]byte
	rand.Read(b[:])
	m.number = binary.BigEndian.Uint64(b[:]) // proposals of this process are not taken for those of an earlier one
	for _, name := range m.names {
		if name != c.Name {
			m.peers = append(m.peers, &peer{name: name, queue: make(chan *pb.Message, queueLength)})
		}
	}
	at := cmp.Or(c.Listen, c.Members[c.Name])
	if m.listener, err = net.Listen("tcp", at); err != nil {
		err = fmt.Errorf("cannot listen for the other members: %w", err)
	}
	return err
}

// bind writes this member's name into its file. With the file of another one it would take back what that one has promised.
func (m *Member) bind() error {
	return m.file.Update(func(t *sealed.Tx) error {
		switch found := string(t.Get(ownBucket, nameKey)); found {
		case m.cfg.Name:
			return nil
		case "":
			return t.Put(ownBucket, nameKey, []byte(m.cfg.Name))
		default:
			return fmt.Errorf("%s belongs to %s, and this is %s: each member has a directory of its own, which is never copied. Give this one its own, "+
				"or an empty one, which the others fill", m.file.Path(), found, m.cfg.Name)
		}
	})
}

// Close ends this member's part. HandOver has another one lead before.
func (m *Member) Close() error {
	m.closing.Do(func() {
		m.end()
		if m.listener != nil {
			_ = m.listener.Close()
		}
		m.work.Wait()
		m.using.Lock()
		defer m.using.Unlock()
		if m.file != nil {
			m.closed = m.file.Close()
		}
	})
	return m.closed
}

// Holds tells whether no other member can be the leader now.
func (m *Member) Holds() bool { return int64(m.cfg.Clock()) < m.lease.Load() }

// Lease is the moment of Clock until which Holds.
func (m *Member) Lease() time.Duration { return time.Duration(m.lease.Load()) }

// Standing tells how this member stands, and has a channel that is closed when that changes.
func (m *Member) Standing() (Standing, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.standing, m.changed
}

// HandOver makes another member the leader; name "": any. The lease ends at once. On a member that is not the leader, and has its own name, it asks the leader for
// the same.
func (m *Member) HandOver(name string) {
	do := func() {
		if name == m.cfg.Name && !m.core.leads() {
			m.core.node.TransferLeader(m.disk) // which goes to the leader
			return
		}
		m.core.handOver(m.core.members[name])
	}
	select {
	case m.inbox <- do:
	default: // it is stuck, with a full disk for example, and leads no more
	}
}

// View reads what is stored here, which may be less than is acknowledged, but on a leader after a change of its own.
func (m *Member) View(do func(Reader) error) error {
	m.using.RLock()
	defer m.using.RUnlock()
	if m.ctx.Err() != nil {
		return ErrClosed
	}
	return m.file.View(func(t *sealed.Tx) error { return do(t) })
}

// Commit makes a change durable on most members. Errors: *ConditionError, ErrTooLarge, ErrKey, ErrNotLeader: nothing was changed. Others: whether it will be is not known.
func (m *Member) Commit(ctx context.Context, b Batch) error {
	answer := make(chan error, 1)
	if !m.tellFor(ctx, func() { m.propose(&b, answer) }) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return ErrClosed
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.ctx.Done():
		return ErrClosed
	}
}

func (m *Member) propose(b *Batch, answer chan error) {
	m.number++
	err := b.check()
	for _, c := range b.Changes {
		if !slices.Contains(m.cfg.Buckets, c.Bucket) {
			err = ErrKey
		}
	}
	var data []byte
	if err == nil {
		data, err = b.encode(m.number)
	}
	if err == nil {
		err = m.core.propose(data)
	}
	if err != nil {
		answer <- err
		return
	}
	m.waiting[m.number] = answer
}

// tell has something done by the member's goroutine; false: it has ended.
func (m *Member) tell(do func()) bool { return m.tellFor(m.ctx, do) }

func (m *Member) tellFor(ctx context.Context, do func()) bool {
	select {
	case m.inbox <- do:
		return true
	case <-ctx.Done():
	case <-m.ctx.Done():
	}
	return false
}

// run is the member's goroutine.
func (m *Member) run() {
	defer m.leave()
	defer func() {
		if why := recover(); why != nil { // raft panics at what cannot be
			m.fail(fmt.Errorf("%v\n%s", why, debug.Stack()))
		}
	}()
	tick := time.NewTicker(m.cfg.Timeout / electionTicks)
	defer tick.Stop()
	for ticks := 0; m.broken == nil; {
		select {
		case <-m.ctx.Done():
			return
		case do := <-m.inbox:
			do()
			for range min(len(m.inbox), atOnce) {
				(<-m.inbox)()
			}
		case <-tick.C:
			m.core.tick(m.cfg.Clock())
			if ticks++; ticks%tendTicks == 0 {
				m.tend()
			}
		}
		m.advance()
		m.publish()
	}
}

func (m *Member) leave() {
	m.lease.Store(0)
	for _, answer := range m.waiting {
		answer <- ErrLost
	}
	m.mu.Lock()
	m.standing = Standing{Broken: m.broken, Founded: m.standing.Founded, Term: m.standing.Term}
	close(m.changed)
	m.changed = make(chan struct{})
	m.mu.Unlock()
	if m.broken != nil { // so that nobody waits for it
		m.end()
		_ = m.listener.Close()
	}
}

func (m *Member) fail(err error) {
	m.broken = err
	m.cfg.Log.Error("this member of the replicated store takes part no more, until the process is started again", "member", m.cfg.Name, "error", err)
}

// advance does what has become due.
func (m *Member) advance() {
	if m.broken != nil {
		return
	}
	if err := m.core.advance(); err != nil {
		m.fail(err)
		return
	}
	for _, x := range m.undelivered {
		if x.GetType() == pb.MsgSnap {
			m.core.node.ReportSnapshot(x.GetTo(), failure)
		}
		m.core.node.ReportUnreachable(x.GetTo())
	}
	m.undelivered = m.undelivered[:0]
	for _, d := range m.core.done {
		if answer := m.waiting[d.number]; answer != nil {
			answer <- d.err
			delete(m.waiting, d.number)
		}
	}
	m.core.done = m.core.done[:0]
	if len(m.waiting) > 0 && !m.core.leads() {
		for number, answer := range m.waiting {
			answer <- ErrLost
			delete(m.waiting, number)
		}
	}
}

// publish shows how this member stands.
func (m *Member) publish() {
	c := m.core
	s := c.node.BasicStatus()
	m.founded.Store(c.kept.founded())
	m.remade.Store(c.kept.remade)
	held := c.lease > 0
	m.lease.Store(int64(c.lease))
	now := Standing{Leads: held, Term: s.HardState.GetTerm(), Founded: c.kept.founded()}
	for name, disk := range c.members {
		if disk == s.Lead {
			now.Leader = name
		}
	}
	var voters []string
	for name, disk := range c.members {
		if slices.Contains(c.voters.GetVoters(), disk) {
			voters = append(voters, name)
		}
	}
	slices.Sort(voters)
	now.Voters = strings.Join(voters, ",")
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Voters != m.standing.Voters && now.Voters != "" {
		m.cfg.Log.Info("members of the replicated store with a vote", "members", now.Voters)
	}
	if now != m.standing {
		m.standing = now
		close(m.changed)
		m.changed = make(chan struct{})
	}
}

// met tells that another member is in touch.
func (m *Member) met(p *peer, h *hello) {
	p.disk, p.founded = h.Disk, h.Founded
	m.cfg.Log.Info("another member of the replicated store is in touch", "member", p.name)
	m.tend()
}

func (m *Member) lostTouch(p *peer) {
	if p.disk != 0 {
		m.core.node.ReportUnreachable(p.disk)
		m.cfg.Log.Warn("another member of the replicated store is out of touch", "member", p.name)
	}
	p.disk, p.founded = 0, false
	for len(p.queue) > 0 { // they are as old as the connection
		<-p.queue
	}
}

// founder is the first member by name that may lead.
func (m *Member) founder() string {
	i := slices.IndexFunc(m.names, func(name string) bool { return !slices.Contains(m.cfg.Witness, name) })
	return m.names[i]
}

// tend founds the cluster, or looks after the list of voters.
func (m *Member) tend() {
	there := map[string]uint64{m.cfg.Name: m.disk}
	founded := m.core.kept.founded()
	for _, p := range m.peers {
		if p.disk != 0 {
			there[p.name] = p.disk
		}
		founded = founded || p.founded
	}
	var err error
	switch {
	case m.core.kept.founded():
		err = m.core.tend(m.names, there)
	case !founded && len(there) == len(m.names) && m.cfg.Name == m.founder():
		m.cfg.Log.Warn("a replicated store is founded, and is empty: no member has one yet. If they should have one, look whether their disks are there", "members", m.names)
		if err = m.core.found(there, m.cfg.Clock()); err != nil {
			m.fail(err)
		}
	}
	if err != nil {
		m.cfg.Log.Warn("the list of voters stays as it is for now", "error", err)
	}
}

// complain logs what another member does wrong, and the same not again for a minute.
func (m *Member) complain(who string, err error) {
	text := who + ": " + err.Error()
	m.mu.Lock()
	last, known := m.told[text]
	again := known && time.Since(last) < time.Minute
	if len(m.told) > 100 {
		clear(m.told)
	}
	if !again {
		m.told[text] = time.Now()
	}
	m.mu.Unlock()
	if !again {
		m.cfg.Log.Warn("a member of the replicated store is not in touch", "member", who, "error", err)
	}
}

// memberDisk waits while there is no room on the disk or the file is away.
type memberDisk struct{ m *Member }

// View implements disk.
func (d memberDisk) View(do func(table) error) error {
	return d.m.file.View(func(t *sealed.Tx) error { return do(t) })
}

// Update implements disk.
func (d memberDisk) Update(do func(table) error) error {
	for {
		err := d.m.file.InPlace()
		if err == nil {
			if err = d.m.file.Update(func(t *sealed.Tx) error { return do(t) }); err == nil {
				return nil
			}
			var path *os.PathError
			if !errors.As(err, &path) || path.Op != "write" || strings.Contains(path.Path, ".witness") || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
				return fmt.Errorf("%s: %w", d.m.file.Path(), err)
			}
		}
		d.m.lease.Store(0)
		d.m.complain("this one", err)
		select {
		case <-time.After(longPause):
		case <-d.m.ctx.Done():
			return ErrClosed
		}
	}
}
