package replica

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
)

// follower is the second of five members, which has followed the first for a long time.
func follower(t *testing.T) (c *core, sent *[]pb.MessageType) {
	t.Helper()
	d, start := newMemoryDisk(2), position{1, 1}
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

// A batch that no file can take changes nothing, and harms no member, even when it stands in the order.
func TestBatchThatCannotBe(t *testing.T) {
	d := newMemoryDisk(1)
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
