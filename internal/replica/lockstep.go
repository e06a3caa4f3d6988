package replica

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Lockstep runs all members of a group in one goroutine, for tests and simulations: their disks are in memory, messages arrive in order, and time passes only while
// a call waits.
type Lockstep struct {
	// Before, if set, is called before each transaction of a member (what is "transaction") and before each message that it sends (what is the kind of the
	// message, such as "MsgApp"). If it returns an error, the member dies instead.
	Before func(member, what string) error

	names   []string
	buckets []string
	now     time.Duration
	members map[string]*InLockstep
	flying  []message
	number  uint64
}

// message is one that is under way.
type message struct {
	*pb.Message
	from *InLockstep
	data map[string]map[string][]byte // of a snapshot, by bucket and key
}

// InLockstep is a Member of a Lockstep.
type InLockstep struct {
	l       *Lockstep
	name    string
	disk    *memoryDisk
	core    *core // nil: it is down
	dying   bool
	waiting map[uint64]chan error
}

const lockstepTimeout = 100 * time.Millisecond

// NewLockstep founds members with empty disks.
func NewLockstep(buckets []string, names ...string) (*Lockstep, error) {
	l := &Lockstep{names: names, buckets: buckets, now: time.Second, members: map[string]*InLockstep{}}
	there := map[string]uint64{}
	for i, name := range names {
		there[name] = uint64(i + 1)
		l.members[name] = &InLockstep{l: l, name: name, disk: newMemoryDisk(there[name], buckets...)}
		if err := l.Start(name); err != nil {
			return nil, err
		}
	}
	return l, l.members[names[0]].core.found(there, l.now)
}

// Start starts a member with what is on its disk.
func (l *Lockstep) Start(name string) error {
	m := l.members[name]
	m.waiting, m.dying = map[uint64]chan error{}, false
	m.core = &core{disk: lockstepDisk{m}, buckets: l.buckets, log: logger{slog.New(slog.NewTextHandler(io.Discard, nil))}, timeout: lockstepTimeout, send: m.post, holds: func(time.Duration) {}}
	return m.core.begin(l.now)
}

// End has members die. Messages that they have sent still arrive, unless Lose is called.
func (l *Lockstep) End(names ...string) {
	for _, name := range names {
		m := l.members[name]
		m.core = nil
		for n, answer := range m.waiting { //tidy:unordered each on its own
			answer <- ErrLost
			delete(m.waiting, n)
		}
	}
}

// Lose drops all messages that are under way.
func (l *Lockstep) Lose() { l.flying = nil }

// Member is the member of that name.
func (l *Lockstep) Member(name string) *InLockstep { return l.members[name] }

// before asks Before; on an error the member is about to die, and does nothing more.
func (m *InLockstep) before(what string) error {
	if m.dying {
		return ErrClosed
	}
	if m.l.Before == nil {
		return nil
	}
	err := m.l.Before(m.name, what)
	m.dying = err != nil
	return err
}

// lockstepDisk is the disk of a member; it asks Before about each transaction.
type lockstepDisk struct{ m *InLockstep }

// Update implements disk.
func (d lockstepDisk) Update(do func(table) error) error {
	if err := d.m.before("transaction"); err != nil {
		return err
	}
	return d.m.disk.Update(do)
}

// View implements disk.
func (d lockstepDisk) View(do func(table) error) error { return d.m.disk.View(do) }

func (m *InLockstep) post(x *pb.Message) {
	if m.before(x.GetType().String()) != nil {
		return
	}
	out := message{x, m, nil}
	if x.GetType() == pb.MsgSnap {
		out.Message, out.data = proto.CloneOf(x), map[string]map[string][]byte{}
		out.Snapshot = &pb.Snapshot{Data: m.disk.values[ownBucket][membersKey], Metadata: metadata(m.core.applied, m.core.voters)}
		for _, bucket := range m.l.buckets {
			out.data[bucket] = maps.Clone(m.disk.values[bucket])
		}
	}
	m.l.flying = append(m.l.flying, out)
}

// advance has the member do what is due, and answers the commits that are done.
func (m *InLockstep) advance() {
	if m.core == nil {
		return
	}
	err := m.core.advance()
	if err != nil || m.dying {
		m.l.End(m.name)
		return
	}
	for _, d := range m.core.done {
		if answer := m.waiting[d.number]; answer != nil {
			answer <- d.err
			delete(m.waiting, d.number)
		}
	}
	m.core.done = nil
	if !m.core.leads() {
		for n, answer := range m.waiting { //tidy:unordered each on its own
			answer <- ErrLost
			delete(m.waiting, n)
		}
	}
}

// Settle delivers messages until none is under way.
func (l *Lockstep) Settle() {
	for _, name := range l.names {
		l.members[name].advance()
	}
	for len(l.flying) > 0 {
		x := l.flying[0]
		l.flying = l.flying[1:]
		for _, name := range l.names {
			if m := l.members[name]; m.core != nil && m.core.kept.disk == x.GetTo() {
				m.receive(x)
			}
		}
	}
}

func (m *InLockstep) receive(x message) {
	if x.data != nil {
		m.core.install = func(put func(bucket, key string, value []byte) error) error {
			for _, bucket := range slices.Sorted(maps.Keys(x.data)) {
				for _, key := range slices.Sorted(maps.Keys(x.data[bucket])) {
					if err := put(bucket, key, x.data[bucket][key]); err != nil {
						return err
					}
				}
			}
			return nil
		}
	}
	m.core.step(x.Message, m.l.now)
	m.advance()
	if m.core != nil {
		m.core.install = nil
	}
	if x.data != nil && x.from.core != nil {
		x.from.core.node.ReportSnapshot(x.GetTo(), raft.SnapshotFinish)
	}
}

// Pass lets a tenth of an election's timeout pass.
func (l *Lockstep) Pass() {
	l.Settle()
	l.now += lockstepTimeout / electionTicks
	for _, name := range l.names {
		if m := l.members[name]; m.core != nil {
			m.core.tick(l.now)
			m.advance()
		}
	}
	l.Settle()
}

// mostPassed bounds how long a call waits, in tenths of an election's timeout.
const mostPassed = 500

// Commit is like Member.Commit.
func (m *InLockstep) Commit(_ context.Context, b Batch) error {
	if m.core == nil {
		return ErrClosed
	}
	if err := b.check(); err != nil {
		return err
	}
	m.l.number++
	data, err := b.encode(m.l.number)
	if err == nil {
		err = m.core.propose(data)
	}
	if err != nil {
		return err
	}
	answer := make(chan error, 1)
	m.waiting[m.l.number] = answer
	m.l.Settle()
	for range mostPassed {
		select {
		case err := <-answer:
			return err
		default:
			m.l.Pass()
		}
	}
	return ErrLost
}

// View is like Member.View.
func (m *InLockstep) View(do func(Reader) error) error {
	if m.core == nil {
		return ErrClosed
	}
	return m.disk.View(func(t table) error { return do(t) })
}

// passed is a channel that is closed: some time has passed already.
var passed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Standing is like Member.Standing, after a tenth of an election's timeout.
func (m *InLockstep) Standing() (Standing, <-chan struct{}) {
	m.l.Pass()
	if m.core == nil {
		return Standing{Broken: ErrClosed}, passed
	}
	return Standing{Leads: m.core.leads() && m.l.now < m.core.lease, Founded: m.core.founded()}, passed
}

// HandOver is as Member's.
func (m *InLockstep) HandOver(name string) {
	if m.core == nil {
		return
	}
	if name == m.name && !m.core.leads() {
		m.core.node.TransferLeader(m.core.kept.disk) // which goes to the leader
	} else if name != m.name {
		m.core.handOver(m.core.members[name])
	}
	m.advance()
}

// memoryDisk is a disk whose transactions are there or not, whatever happens to its member.
type memoryDisk struct{ values map[string]map[string][]byte }

func newMemoryDisk(id uint64, buckets ...string) *memoryDisk {
	d := &memoryDisk{values: map[string]map[string][]byte{ownBucket: {}, logBucket: {}}}
	for _, b := range buckets {
		d.values[b] = map[string][]byte{}
	}
	d.values[ownBucket][diskKey] = binary.BigEndian.AppendUint64(nil, id)
	return d
}

func (d *memoryDisk) Update(do func(table) error) error {
	t := memoryTable{d.values, nil}
	err := do(&t)
	for i := len(t.undo) - 1; err != nil && i >= 0; i-- {
		t.undo[i]()
	}
	return err
}

func (d *memoryDisk) View(do func(table) error) error { return do(&memoryTable{d.values, nil}) }

type memoryTable struct {
	values map[string]map[string][]byte
	undo   []func()
}

func (t *memoryTable) Get(bucket, key string) []byte { return t.values[bucket][key] }

func (t *memoryTable) keep(bucket, key string) {
	old, had := t.values[bucket][key]
	t.undo = append(t.undo, func() {
		if delete(t.values[bucket], key); had {
			t.values[bucket][key] = old
		}
	})
}

func (t *memoryTable) Put(bucket, key string, value []byte) error {
	t.keep(bucket, key)
	t.values[bucket][key] = append([]byte{}, value...)
	return nil
}

func (t *memoryTable) Delete(bucket, key string) error {
	t.keep(bucket, key)
	delete(t.values[bucket], key)
	return nil
}

func (t *memoryTable) DeleteAll(bucket, prefix string) error {
	for _, k := range slices.Sorted(maps.Keys(t.values[bucket])) {
		if strings.HasPrefix(k, prefix) {
			_ = t.Delete(bucket, k)
		}
	}
	return nil
}

func (t *memoryTable) ForEach(bucket string, do func(key, value []byte) error) error {
	for _, k := range slices.Sorted(maps.Keys(t.values[bucket])) {
		if err := do([]byte(k), t.values[bucket][k]); err != nil {
			return err
		}
	}
	return nil
}
