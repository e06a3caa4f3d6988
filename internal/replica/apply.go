package replica

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// advance does what has become due: it stores, applies and sends. After an error nothing may be called any more: what the disk has is not known.
func (c *core) advance() error {
	for c.node.HasReady() {
		if !c.leads() {
			c.lease = 0
		}
		c.holds(c.lease) // before others hear that they may lead
		rd := c.node.Ready()
		early := rd.Messages
		if !c.leads() {
			early = nil
		}
		for _, m := range early { // what a leader tells of its log need not be on its own disk
			if beforeStored(m) {
				c.emit(m)
			}
		}
		if err := c.store(&rd); err != nil {
			return err
		}
		for _, m := range rd.Messages {
			if early == nil || !beforeStored(m) {
				c.emit(m)
			}
		}
		c.node.Advance(rd)
		c.answered(rd.ReadStates)
	}
	if !c.leads() {
		c.lease = 0
	}
	return nil
}

func beforeStored(m *pb.Message) bool {
	return m.GetType() == pb.MsgApp || m.GetType() == pb.MsgHeartbeat
}

// next is what a Ready makes of a member.
type next struct {
	applied position
	voters  *pb.ConfState
	members map[string]uint64
	done    []outcome
	first   position
	moved   bool // applied, voters or members differ
}

// store makes a Ready durable, and applies what is in the order by now, in one transaction.
func (c *core) store(rd *raft.Ready) error {
	snapshot := rd.Snapshot != nil && !raft.IsEmptySnap(rd.Snapshot)
	n := next{applied: c.applied, voters: c.voters, members: c.members, first: c.first}
	if snapshot {
		if err := n.follow(rd.Snapshot); err != nil {
			return err
		}
	}
	if err := c.vote(rd.CommittedEntries, &n); err != nil {
		return err
	}
	if !snapshot && rd.HardState == nil && len(rd.Entries) == 0 && len(rd.CommittedEntries) == 0 {
		return nil
	}
	begun := n
	err := c.disk.Update(func(t table) error {
		n = begun
		if snapshot {
			if err := c.replace(t, n.applied); err != nil {
				return err
			}
		}
		if err := c.append(t, rd.Entries); err != nil {
			return err
		}
		if !raft.IsEmptyHardState(rd.HardState) {
			if err := putHard(t, rd.HardState); err != nil {
				return err
			}
		}
		for _, e := range rd.CommittedEntries {
			if err := n.apply(t, e); err != nil {
				return err
			}
		}
		if n.moved {
			if err := putApplied(t, n.applied, n.voters, n.members); err != nil {
				return err
			}
		}
		return c.shorten(t, &n, rd.Entries)
	})
	if err != nil {
		return err
	}
	return c.stored(rd, snapshot, n)
}

// follow takes what a snapshot says of the members.
func (n *next) follow(s *pb.Snapshot) error {
	members := map[string]uint64{}
	if err := json.Unmarshal(s.GetData(), &members); err != nil {
		return fmt.Errorf("the members in what another member has sent: %w", err)
	}
	m := s.GetMetadata()
	n.applied = position{m.GetIndex(), m.GetTerm()}
	n.first, n.voters, n.members, n.moved = n.applied, m.GetConfState(), members, true
	return nil
}

// vote applies changes of the list of voters; they are told to raft once, however often the transaction is tried.
func (c *core) vote(entries []*pb.Entry, n *next) error {
	for _, e := range entries {
		if e.GetType() != pb.EntryConfChange {
			continue
		}
		change, about := &pb.ConfChange{}, memberChange{}
		if err := errors.Join(proto.Unmarshal(e.GetData(), change), json.Unmarshal(change.GetContext(), &about)); err != nil {
			return errEntry
		}
		n.voters, n.members = c.node.ApplyConfChange(change), maps.Clone(n.members)
		if change.GetType() == pb.ConfChangeRemoveNode {
			delete(n.members, about.Name)
		} else {
			n.members[about.Name] = about.Disk
		}
	}
	return nil
}

// replace has the snapshot that was received take the place of all data and of the log.
func (c *core) replace(t table, at position) error {
	for _, bucket := range append([]string{logBucket}, c.buckets...) {
		if err := t.DeleteAll(bucket, ""); err != nil {
			return err
		}
	}
	if c.install == nil {
		return errors.New("a snapshot is to be taken over, and none was received")
	}
	if err := c.install(t.Put); err != nil {
		return fmt.Errorf("take over all data from another member: %w", err)
	}
	return t.Put(ownBucket, firstKey, at.encode())
}

// append writes entries, and removes those that they are instead of.
func (c *core) append(t table, entries []*pb.Entry) error {
	for _, e := range entries {
		b, err := encodeEntry(e)
		if err != nil {
			return err
		}
		if err := t.Put(logBucket, logKey(e.GetIndex()), b); err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return nil
	}
	for i := entries[len(entries)-1].GetIndex() + 1; i <= c.last; i++ {
		if err := t.Delete(logBucket, logKey(i)); err != nil {
			return err
		}
	}
	return nil
}

// apply makes an entry's changes, if its conditions hold.
func (n *next) apply(t table, e *pb.Entry) error {
	n.applied, n.moved = position{e.GetIndex(), e.GetTerm()}, true
	if e.GetType() != pb.EntryNormal || len(e.GetData()) == 0 {
		return nil
	}
	number, b, err := decodeBatch(e.GetData())
	if err != nil {
		return err
	}
	for i, c := range b.If {
		have := t.Get(c.Bucket, c.Key)
		if (have == nil) != (c.Value == nil) || !bytes.Equal(have, c.Value) {
			n.done = append(n.done, outcome{number, &ConditionError{i}})
			return nil
		}
	}
	if err := b.check(); err != nil { // the same on all members, so that none changes anything
		n.done = append(n.done, outcome{number, err})
		return nil //nolint:nilerr // it is the outcome
	}
	n.done = append(n.done, outcome{number, nil})
	for _, c := range b.Changes {
		if err := change(t, c); err != nil {
			return err
		}
	}
	return nil
}

func change(t table, c Change) (err error) {
	switch {
	case c.Value != nil:
		err = t.Put(c.Bucket, c.Key, c.Value)
	case c.Prefix:
		err = t.DeleteAll(c.Bucket, c.Key)
	default:
		err = t.Delete(c.Bucket, c.Key)
	}
	if err != nil {
		return fmt.Errorf("change %s/%.80q: %w", c.Bucket, c.Key, err)
	}
	return nil
}

// shorten removes the oldest entries of the log, if it has far more than it has to.
func (c *core) shorten(t table, n *next, entries []*pb.Entry) error {
	length := int(n.applied.index - min(n.first.index, n.applied.index))
	much := c.bytes + size(entries)
	if length <= 2*c.keep.entries && much <= 2*c.keep.bytes || n.applied == n.first {
		return nil
	}
	upto := n.first.index
	if extra := length - c.keep.entries; extra > 0 {
		upto += uint64(extra)
	}
	bySize := n.first.index
	for bySize < n.applied.index && much > c.keep.bytes {
		e, err := c.mem.Entries(bySize+1, bySize+2, 1<<62)
		if err != nil {
			break // it is about to be appended
		}
		bySize++
		much -= size(e)
	}
	upto = min(max(upto, bySize), c.applied.index) // what is in memory already
	if upto <= n.first.index {
		return nil
	}
	term, err := c.mem.Term(upto)
	if err != nil {
		return nil //nolint:nilerr // it was taken over at once, and there is nothing to shorten
	}
	for i := n.first.index + 1; i <= upto; i++ {
		if err := t.Delete(logBucket, logKey(i)); err != nil {
			return err
		}
	}
	n.first = position{upto, term}
	return t.Put(ownBucket, firstKey, n.first.encode())
}

func size(entries []*pb.Entry) (n int) {
	for _, e := range entries {
		n += len(e.GetData())
	}
	return n
}

// stored has memory say what the disk says.
func (c *core) stored(rd *raft.Ready, snapshot bool, n next) error {
	if !raft.IsEmptyHardState(rd.HardState) {
		c.hard = rd.HardState
		if err := c.mem.SetHardState(rd.HardState); err != nil {
			return err
		}
	}
	if snapshot {
		if err := c.mem.ApplySnapshot(rd.Snapshot); err != nil {
			return err
		}
		c.last, c.bytes, c.install = n.applied.index, 0, nil
	}
	if len(rd.Entries) > 0 {
		if from := rd.Entries[0].GetIndex(); from <= c.last && !snapshot {
			gone, err := c.mem.Entries(from, c.last+1, 1<<62)
			if err != nil {
				return err
			}
			c.bytes -= size(gone)
		}
		if err := c.mem.Append(rd.Entries); err != nil {
			return err
		}
		c.last = rd.Entries[len(rd.Entries)-1].GetIndex()
		c.bytes += size(rd.Entries)
	}
	if n.first != c.first && !snapshot {
		gone, err := c.mem.Entries(c.first.index+1, n.first.index+1, 1<<62)
		if err != nil {
			return err
		}
		c.bytes -= size(gone)
		if err := c.mem.Compact(n.first.index); err != nil {
			return err
		}
	}
	c.first, c.applied, c.voters, c.members = n.first, n.applied, n.voters, n.members
	c.done = append(c.done, n.done...)
	return nil
}
