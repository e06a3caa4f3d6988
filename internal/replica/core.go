package replica

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"
)

// Times in ticks, of which an election timeout has electionTicks.
const (
	electionTicks  = 10
	heartbeatTicks = 1
	askTicks       = 2 // between two questions whether the others still follow
	tendTicks      = 7 // between two looks at the list of voters. Every electionTicks raft forgets who was active: looks must not always come just after that
)

// What is kept of the log for members that are behind; who is further behind gets everything anew.
const (
	keepEntries = 10_000
	keepBytes   = 64 << 20
)

// maxAsked bounds the questions whose answers are waited for.
const maxAsked = 64

// core is a member without goroutines, network and clock: it is told what has happened and what time it is, and says what to send. Its disk
// is the only thing that it waits for.
type core struct {
	disk    disk
	buckets []string // of the data
	log     raft.Logger
	witness bool          // this member never has a lease
	others  []string      // that are witnesses
	timeout time.Duration // for an election
	keep    struct{ entries, bytes int }

	*kept
	mem   *raft.MemoryStorage
	node  *raft.RawNode
	last  uint64 // entry of the log on the disk
	bytes int    // of the log

	quiet   time.Duration // elects nobody before, unless the leader that it follows hands over
	started time.Duration // elects nobody before, whoever asks: what it has answered before its start is not known
	heard   question      // the last one of a leader that came here
	freed   question      // the last one of the leader that has handed over to this one
	gave    uint64        // the last question before this one handed over
	asked   map[uint64]time.Duration
	asks    uint64
	askTerm uint64
	ticks   int
	now     time.Duration // of the last tick
	lease   time.Duration // until when nobody else can be the leader; 0: there is none
	lasts   time.Duration // a lease, from the question on: less than others keep their promise for

	send    func(*pb.Message)
	holds   func(lease time.Duration)                                    // publishes the lease
	install func(put func(bucket, key string, value []byte) error) error // reads the snapshot that was received last
	done    []outcome
}

// question of a leader whether the others still follow; leases are counted from them.
type question struct{ term, number uint64 }

// outcome of a proposal that is in the order now.
type outcome struct {
	number uint64
	err    error // *ConditionError, or nil
}

// ConditionError tells that a condition did not hold, and nothing was changed.
type ConditionError struct{ Index int }

func (e *ConditionError) Error() string {
	return fmt.Sprintf("condition %d of the change does not hold", e.Index)
}

// storage is what raft reads of the log.
type storage struct {
	*raft.MemoryStorage
	c *core
}

// InitialState implements raft.Storage.
func (s storage) InitialState() (*pb.HardState, *pb.ConfState, error) {
	return s.c.hard, s.c.voters, nil
}

// Snapshot implements raft.Storage. What it stands for is read when it is sent.
func (s storage) Snapshot() (*pb.Snapshot, error) {
	return &pb.Snapshot{Metadata: metadata(s.c.applied, s.c.voters)}, nil
}

func metadata(at position, voters *pb.ConfState) *pb.SnapshotMetadata {
	return &pb.SnapshotMetadata{Index: new(at.index), Term: new(at.term), ConfState: proto.CloneOf(voters)}
}

// begin reads the disk. now is counted like all times that are told later.
func (c *core) begin(now time.Duration) (err error) {
	if c.keep.entries == 0 {
		c.keep.entries, c.keep.bytes = keepEntries, keepBytes
	}
	if c.kept, err = readKept(c.disk); err != nil {
		return err
	}
	c.mem = raft.NewMemoryStorage()
	if c.first.index > 0 {
		if err := c.mem.ApplySnapshot(&pb.Snapshot{Metadata: metadata(c.first, c.voters)}); err != nil {
			return err
		}
	}
	if err := c.mem.Append(c.entries); err != nil {
		return err
	}
	c.last, c.bytes = c.first.index+uint64(len(c.entries)), 0
	c.bytes = size(c.entries)
	c.entries = nil
	c.asked, c.lasts = map[uint64]time.Duration{}, c.timeout*3/4
	if c.quiet = 0; c.founded() || !raft.IsEmptyHardState(c.hard) {
		c.quiet = now + c.timeout
	}
	c.started, c.heard = c.quiet, question{}
	c.node, err = raft.NewRawNode(&raft.Config{ID: c.kept.disk, ElectionTick: electionTicks, HeartbeatTick: heartbeatTicks, Storage: storage{c.mem, c}, Applied: c.applied.index,
		MaxSizePerMsg: 1 << 20, MaxCommittedSizePerReady: MaxBatch, MaxUncommittedEntriesSize: 4 * MaxBatch, MaxInflightMsgs: 256, MaxInflightBytes: 4 * MaxBatch,
		CheckQuorum: true, PreVote: true, StepDownOnRemoval: true, DisableProposalForwarding: true, Logger: c.log})
	return err
}

// found makes the list of voters on the first member's disk; everybody else gets it from there.
func (c *core) found(members map[string]uint64, now time.Duration) error {
	at, hard := position{1, 1}, &pb.HardState{Term: new(uint64(1)), Commit: new(uint64(1))}
	voters := &pb.ConfState{Voters: slices.Sorted(maps.Values(members))}
	err := c.disk.Update(func(t table) error {
		return errors.Join(putHard(t, hard), t.Put(ownBucket, firstKey, at.encode()), putApplied(t, at, voters, members))
	})
	if err != nil {
		return err
	}
	if err := c.begin(now - c.timeout); err != nil { // it has promised nothing
		return err
	}
	return c.node.Campaign()
}

func putHard(t table, hard *pb.HardState) error {
	b, err := proto.Marshal(hard)
	if err != nil {
		return err
	}
	return t.Put(ownBucket, hardKey, b)
}

func putApplied(t table, at position, voters *pb.ConfState, members map[string]uint64) error {
	v, err := proto.Marshal(voters)
	if err != nil {
		return err
	}
	m, err := json.Marshal(members)
	if err != nil {
		return err
	}
	return errors.Join(t.Put(ownBucket, appliedKey, at.encode()), t.Put(ownBucket, votersKey, v), t.Put(ownBucket, membersKey, m))
}

func (c *core) leads() bool { return c.node.BasicStatus().RaftState == raft.StateLeader }

// tick tells that a tenth of the election timeout has passed.
func (c *core) tick(now time.Duration) {
	c.now = now
	c.node.Tick()
	if c.ticks++; c.ticks%askTicks != 0 {
		return
	}
	if c.witness { // it leads where it alone has all that is acknowledged, until another one has it, too
		if c.node.BasicStatus().LeadTransferee == 0 {
			c.handOver(0)
		}
		return
	}
	c.ask(now)
}

// ask has the lease extended, once most of the members have answered.
func (c *core) ask(now time.Duration) {
	s := c.node.BasicStatus()
	if s.RaftState != raft.StateLeader || s.LeadTransferee != 0 { // who hands over must not have a lease
		return
	}
	if term := s.HardState.GetTerm(); term != c.askTerm {
		clear(c.asked)
		c.askTerm, c.lease = term, 0
	}
	if len(c.asked) >= maxAsked {
		return
	}
	c.asks++
	c.asked[c.asks] = now
	c.node.ReadIndex(binary.BigEndian.AppendUint64(nil, c.asks))
}

// answered tells that most of the members followed this one after it had asked.
func (c *core) answered(states []raft.ReadState) {
	s := c.node.BasicStatus()
	if s.RaftState != raft.StateLeader || s.HardState.GetTerm() != c.askTerm {
		return
	}
	for _, r := range states {
		if len(r.RequestCtx) != 8 {
			continue
		}
		number := binary.BigEndian.Uint64(r.RequestCtx)
		sent, ok := c.asked[number]
		if !ok {
			continue
		}
		c.lease = max(c.lease, sent+c.lasts)
		maps.DeleteFunc(c.asked, func(n uint64, _ time.Duration) bool { return n <= number })
	}
}

// fromOthers are the messages that may come from the network.
var fromOthers = map[pb.MessageType]bool{pb.MsgApp: true, pb.MsgAppResp: true, pb.MsgVote: true, pb.MsgVoteResp: true, pb.MsgPreVote: true, pb.MsgPreVoteResp: true,
	pb.MsgHeartbeat: true, pb.MsgHeartbeatResp: true, pb.MsgSnap: true, pb.MsgTimeoutNow: true, pb.MsgTransferLeader: true}

// step takes a message of another member.
func (c *core) step(m *pb.Message, now time.Duration) {
	if !fromOthers[m.GetType()] || m.GetTo() != c.kept.disk {
		return
	}
	switch m.GetType() {
	case pb.MsgVote, pb.MsgPreVote:
		upTo, handedOver := lastQuestion(m)
		free := c.node.BasicStatus().LeadTransferee != 0 || handedOver && c.free(question{m.GetTerm() - 1, upTo}, now)
		if !free && now < c.quiet {
			return // this disk may have followed somebody a moment ago, who counts on it
		}
		m.Context = nil // raft believes what it says there
		if free && handedOver {
			m.Context = []byte(transfer)
		}
	case pb.MsgTimeoutNow:
		upTo, handedOver := lastQuestion(m)
		if c.witness || !handedOver || !c.free(question{m.GetTerm(), upTo}, now) {
			return // it is late: the leader has asked again, and may have a lease
		}
		c.freed = question{m.GetTerm(), upTo}
	case pb.MsgApp, pb.MsgHeartbeat, pb.MsgSnap:
		asks := unmark(m)
		if m.GetTerm() >= c.node.BasicStatus().HardState.GetTerm() { // a promise that raft itself forgets when it hears of a later term
			c.quiet = max(c.quiet, now+c.timeout*9/10)
			c.hears(asks)
		}
	case pb.MsgTransferLeader:
		c.handOver(m.GetFrom())
		return
	}
	_ = c.node.Step(m) // it tells of members that are none any more
}

// transfer is what raft writes into the request for a vote of a member to which the leader hands over.
const transfer = "CampaignTransfer"

// emit sends a message of raft's. A question also tells its number, and the messages of a hand-over that of the leader's last one: who has answered none after it is
// bound to no lease.
func (c *core) emit(m *pb.Message) {
	switch {
	case c.witness && m.GetType() == pb.MsgPreVote && c.now < c.quiet+2*c.timeout:
		return // it leaves others the time to be elected
	case m.GetType() == pb.MsgHeartbeat && len(m.GetContext()) > 0:
		m.Context = binary.BigEndian.AppendUint64(slices.Clone(m.GetContext()), c.asks)
	case m.GetType() == pb.MsgTimeoutNow:
		m.Context = binary.BigEndian.AppendUint64([]byte(transfer), c.gave)
	case m.GetType() == pb.MsgVote && string(m.GetContext()) == transfer && m.GetTerm()-1 == c.freed.term:
		m.Context = binary.BigEndian.AppendUint64([]byte(transfer), c.freed.number)
	}
	c.send(m)
}

// lastQuestion is what emit has told.
func lastQuestion(m *pb.Message) (number uint64, ok bool) {
	text, found := bytes.CutPrefix(m.GetContext(), []byte(transfer))
	if !found || len(text) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(text), true
}

// unmark takes the number off a question, which raft does not know; the zero question if it is none.
func unmark(m *pb.Message) (q question) {
	if n := len(m.GetContext()) - 8; m.GetType() == pb.MsgHeartbeat && n > 0 {
		q = question{m.GetTerm(), binary.BigEndian.Uint64(m.GetContext()[n:])}
		m.Context = m.GetContext()[:n]
	}
	return q
}

// hears notes a question, which this member is about to answer.
func (c *core) hears(q question) {
	if q.term > c.heard.term || q.term == c.heard.term && q.number > c.heard.number {
		c.heard = q
	}
}

// free tells whether this member is bound to no lease, if the leader of a term, which hands over, counts none from questions after the last one. Leaders of earlier
// terms have none: else that leader would not have been elected.
func (c *core) free(last question, now time.Duration) bool {
	return c.node.BasicStatus().HardState.GetTerm() == last.term && now >= c.started && (c.heard.term != last.term || c.heard.number <= last.number)
}

// propose puts a change to the log.
func (c *core) propose(data []byte) error {
	if !c.leads() {
		return ErrNotLeader
	}
	return c.node.Propose(data)
}

func (c *core) isWitness(disk uint64) bool {
	return slices.ContainsFunc(c.others, func(name string) bool { return c.members[name] == disk })
}

// handOver makes another member the leader; the lease is over before. 0: the one that has most of the log. It tells whether there is one.
func (c *core) handOver(to uint64) bool {
	if !c.leads() {
		return false
	}
	var found, most uint64
	c.node.WithProgress(func(id uint64, kind raft.ProgressType, p tracker.Progress) {
		if kind == raft.ProgressTypePeer && id != c.kept.disk && !c.isWitness(id) && p.RecentActive && (to == 0 || to == id) && (found == 0 || p.Match > most) {
			found, most = id, p.Match
		}
	})
	if found == 0 {
		return false
	}
	c.lease, c.gave = 0, c.asks
	clear(c.asked)
	c.node.TransferLeader(found)
	return true
}

// tend makes the list of voters what it should be, a step at a time. there are the disks of the members that are in touch.
func (c *core) tend(listed []string, there map[string]uint64) error {
	if !c.leads() {
		return nil
	}
	change := func(kind pb.ConfChangeType, name string, id uint64) error {
		about, err := json.Marshal(memberChange{name, id})
		if err != nil {
			return err
		}
		return c.node.ProposeConfChange(&pb.ConfChange{Type: kind.Enum(), NodeId: new(id), Context: about})
	}
	ready := map[uint64]bool{}
	c.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		ready[id] = p.RecentActive && p.Match >= c.applied.index
	})
	for _, name := range listed {
		is, comes := c.members[name], there[name]
		for other, disk := range c.members {
			if comes != 0 && other != name && disk == comes {
				return fmt.Errorf("%s comes with the disk of %s: their directories have been exchanged or copied", name, other)
			}
		}
		switch {
		case is == 0 && comes != 0:
			return change(pb.ConfChangeAddLearnerNode, name, comes)
		case is != 0 && comes != 0 && is != comes:
			return change(pb.ConfChangeRemoveNode, name, is)
		case is != 0 && slices.Contains(c.voters.GetLearners(), is) && ready[is]:
			return change(pb.ConfChangeAddNode, name, is)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.members)) {
		if !slices.Contains(listed, name) {
			return change(pb.ConfChangeRemoveNode, name, c.members[name])
		}
	}
	return nil
}

// memberChange goes with a change of the list of voters.
type memberChange struct {
	Name string `json:"name"`
	Disk uint64 `json:"disk"`
}
