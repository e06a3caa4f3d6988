package replica

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"testing"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
)

// follower is the second of five members, which has followed the first for a long time.
func follower(t *testing.T) (c *core, sent *[]pb.MessageType) {
	t.Helper()
	d, start := newMemoryDisk(2, "data"), position{1, 1}
	err := d.Update(func(t table) error {
		return errors.Join(putHard(t, &pb.HardState{Term: new(uint64(5)), Commit: new(uint64(1))}), t.Put(ownBucket, firstKey, start.encode()),
			putApplied(t, start, &pb.ConfState{Voters: []uint64{1, 2, 3, 4, 5}}, map[string]uint64{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}))
	})
	if err != nil {
		t.Fatal(err)
	}
	sent = &[]pb.MessageType{}
	c = &core{disk: d, buckets: []string{"data"}, log: logger{slog.New(slog.DiscardHandler)}, timeout: electionTime, holds: func(time.Duration) {},
		send: func(m *pb.Message) { *sent = append(*sent, m.GetType()) }}
	if err := c.begin(0); err != nil {
		t.Fatal(err)
	}
	return c, sent
}

// Who has answered a leader votes for nobody else until that leader's lease is over, also when it hears of a later term meanwhile.
func TestPromiseOutlivesTerm(t *testing.T) {
	c, sent := follower(t)
	now := time.Minute
	tell := func(m *pb.Message) {
		t.Helper()
		m.To = new(uint64(2))
		c.step(m, now)
		if err := c.advance(); err != nil {
			t.Fatal(err)
		}
	}
	vote := func() *pb.Message {
		return &pb.Message{Type: pb.MsgVote.Enum(), From: new(uint64(4)), Term: new(uint64(6)), Index: new(uint64(1)), LogTerm: new(uint64(1))}
	}
	beat := &pb.Message{Type: pb.MsgHeartbeat.Enum(), From: new(uint64(1)), Term: new(uint64(5)), Commit: new(uint64(1))}
	tell(beat)
	for range 2 * electionTicks { // it runs out of patience, and asks whether it would be elected
		now += electionTime / electionTicks
		c.tick(now)
		if err := c.advance(); err != nil {
			t.Fatal(err)
		}
	}
	tell(&pb.Message{Type: pb.MsgHeartbeat.Enum(), From: new(uint64(1)), Term: new(uint64(5)), Commit: new(uint64(1))})
	tell(&pb.Message{Type: pb.MsgPreVoteResp.Enum(), From: new(uint64(5)), Term: new(uint64(6)), Reject: new(true)})
	*sent = nil
	tell(vote())
	if len(*sent) > 0 {
		t.Fatalf("while the first may have a lease the answer to another one is %v", *sent)
	}
	now += electionTime
	tell(vote())
	if len(*sent) != 1 || (*sent)[0] != pb.MsgVoteResp {
		t.Fatalf("after the lease the answer is %v, want a vote", *sent)
	}
}

// Who follows a leader that hands over votes at once, unless it has answered the leader since; and a late request to lead is not obeyed.
func TestHandOverIsOfItsTime(t *testing.T) {
	asked := func(number uint64) *pb.Message {
		return &pb.Message{Type: pb.MsgHeartbeat.Enum(), From: new(uint64(1)), Term: new(uint64(5)), Commit: new(uint64(1)), Context: binary.BigEndian.AppendUint64([]byte("of raft."), number)}
	}
	told := func(number uint64) []byte { return binary.BigEndian.AppendUint64([]byte(transfer), number) }
	for name, c := range map[string]struct {
		leader  *pb.Message // what comes after question 3 was answered
		started time.Duration
		want    pb.MessageType
		none    bool
	}{
		"a vote":                          {&pb.Message{Type: pb.MsgVote.Enum(), From: new(uint64(4)), Term: new(uint64(6)), Index: new(uint64(1)), LogTerm: new(uint64(1)), Context: told(3)}, 0, pb.MsgVoteResp, false},
		"a vote after another answer":     {&pb.Message{Type: pb.MsgVote.Enum(), From: new(uint64(4)), Term: new(uint64(6)), Index: new(uint64(1)), LogTerm: new(uint64(1)), Context: told(2)}, 0, 0, true},
		"a vote for a later term":         {&pb.Message{Type: pb.MsgVote.Enum(), From: new(uint64(4)), Term: new(uint64(7)), Index: new(uint64(1)), LogTerm: new(uint64(1)), Context: told(3)}, 0, 0, true},
		"a vote that says what raft says": {&pb.Message{Type: pb.MsgVote.Enum(), From: new(uint64(4)), Term: new(uint64(6)), Index: new(uint64(1)), LogTerm: new(uint64(1)), Context: []byte(transfer)}, 0, 0, true},
		"a vote after a start":            {&pb.Message{Type: pb.MsgVote.Enum(), From: new(uint64(4)), Term: new(uint64(6)), Index: new(uint64(1)), LogTerm: new(uint64(1)), Context: told(3)}, time.Hour, 0, true},
		"to lead":                         {&pb.Message{Type: pb.MsgTimeoutNow.Enum(), From: new(uint64(1)), Term: new(uint64(5)), Context: told(3)}, 0, pb.MsgVote, false},
		"to lead after another answer":    {&pb.Message{Type: pb.MsgTimeoutNow.Enum(), From: new(uint64(1)), Term: new(uint64(5)), Context: told(2)}, 0, 0, true},
		"to lead, as raft says":           {&pb.Message{Type: pb.MsgTimeoutNow.Enum(), From: new(uint64(1)), Term: new(uint64(5))}, 0, 0, true},
		"to lead after a start":           {&pb.Message{Type: pb.MsgTimeoutNow.Enum(), From: new(uint64(1)), Term: new(uint64(5)), Context: told(3)}, time.Hour, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			f, sent := follower(t)
			f.started = c.started
			for _, m := range []*pb.Message{asked(3), asked(1), c.leader} { // what comes late does not count
				*sent = nil
				m.To = new(uint64(2))
				f.step(m, time.Minute)
				if err := f.advance(); err != nil {
					t.Fatal(err)
				}
			}
			if got := len(*sent) == 0; got != c.none || !c.none && (*sent)[0] != c.want {
				t.Errorf("it sends %v", *sent)
			}
		})
	}
}

// A batch that no file can take changes nothing, and harms no member, even when it stands in the order.
func TestBatchThatCannotBe(t *testing.T) {
	d := newMemoryDisk(1, "data")
	for _, bad := range []Change{{Bucket: "data", Key: "", Value: []byte("v")}, {Bucket: "data", Key: string(make([]byte, maxKey+1)), Value: []byte{}}, {Bucket: logBucket, Key: "k"}} {
		b := Batch{Changes: []Change{{Bucket: "data", Key: "good", Value: []byte("v")}, bad}}
		if err := b.check(); !errors.Is(err, ErrKey) {
			t.Errorf("%.20q: %v", bad.Key, err)
		}
		data, err := b.encode(7)
		if err != nil {
			t.Fatal(err)
		}
		var n next
		err = d.Update(func(tab table) error {
			return n.apply(tab, &pb.Entry{Type: pb.EntryNormal.Enum(), Index: new(uint64(2)), Term: new(uint64(1)), Data: data})
		})
		if err != nil || len(n.done) != 1 || !errors.Is(n.done[0].err, ErrKey) || len(d.values["data"]) > 0 {
			t.Errorf("%.20q: %v, outcome %v, stored %v", bad.Key, err, n.done, d.values["data"])
		}
	}
}

// What is in the copy that becomes the store may be acknowledged, applied or not; who was to be a member is not asked any more.
func TestRemakeTakesAll(t *testing.T) {
	d, start := newMemoryDisk(2, "data"), position{1, 1}
	entry := func(index uint64, kind pb.EntryType, data []byte) *pb.Entry {
		return &pb.Entry{Type: kind.Enum(), Index: new(index), Term: new(uint64(5)), Data: data}
	}
	change := func(key string) []byte {
		b := Batch{Changes: []Change{{Bucket: "data", Key: key, Value: []byte("v")}}}
		data, err := b.encode(1)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	err := d.Update(func(t table) error {
		err := errors.Join(t.Put(ownBucket, nameKey, []byte("b")), putHard(t, &pb.HardState{Term: new(uint64(5)), Vote: new(uint64(1)), Commit: new(uint64(2))}),
			t.Put(ownBucket, firstKey, start.encode()), putApplied(t, start, &pb.ConfState{Voters: []uint64{1, 2, 3}}, map[string]uint64{"a": 1, "b": 2, "c": 3}))
		for _, e := range []*pb.Entry{entry(2, pb.EntryNormal, change("x")), entry(3, pb.EntryConfChange, []byte("another member")), entry(4, pb.EntryNormal, change("y"))} {
			text, bad := encodeEntry(e)
			err = errors.Join(err, bad, t.Put(logBucket, logKey(e.GetIndex()), text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remake(&memoryTable{d.values, nil}, "a"); err == nil {
		t.Error("it takes the copy of another member")
	}
	r, err := remake(&memoryTable{d.values, nil}, "b")
	if err != nil || r.Entry != 4 || r.Term != 5 || len(d.values["data"]) != 2 {
		t.Fatalf("%+v, %v, %v", r, err, d.values["data"])
	}
	c := &core{disk: d, buckets: []string{"data"}, log: logger{slog.New(slog.DiscardHandler)}, timeout: electionTime, holds: func(time.Duration) {}, send: func(*pb.Message) {}}
	if err := c.begin(0); err != nil {
		t.Fatal(err)
	}
	for now := time.Duration(0); now < 4*electionTime; now += electionTime / electionTicks {
		c.tick(now)
		if err := c.advance(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.propose(change("z")); err != nil || c.lease == 0 || c.remade != 1 {
		t.Errorf("it does not lead alone: %v, lease %v, remade %d", err, c.lease, c.remade)
	}
	if err := c.advance(); err != nil || len(d.values["data"]) != 3 {
		t.Errorf("%v, %v", err, d.values["data"])
	}
}

// Strangers take no more than their share of the places at the port.
func TestDoor(t *testing.T) {
	d := door{of: map[string]int{}}
	for range maxOfHost {
		if !d.enter("a") {
			t.Fatal("there is room for the first ones of a host")
		}
	}
	if d.enter("a") || !d.enter("b") {
		t.Error("one host takes the places of others")
	}
	for i := range 2 * maxCallers {
		d.enter(string(rune('A' + i)))
	}
	if d.all != maxCallers || d.enter("c") {
		t.Errorf("%d places are taken", d.all)
	}
	d.leave("a")
	if !d.enter("a") || d.all != maxCallers {
		t.Error("a place that was left is not free")
	}
}

// A member that has all data gets its vote whenever the leader was elected: of each three looks at the list of voters, at least two do not come in the tick in which raft
// forgets who was active. A leader that looked only then would never see that anybody is.
func TestLooksComeBetween(t *testing.T) {
	for elected := range electionTicks {
		blind := 0
		for look := 1; look <= 3; look++ {
			if (look*tendTicks-elected)%electionTicks == 0 {
				blind++
			}
		}
		if blind > 1 {
			t.Errorf("a leader that was elected at tick %d sees nobody at %d of 3 looks", elected, blind)
		}
	}
}
