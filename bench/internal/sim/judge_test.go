package sim

import (
	"crypto/hmac"
	"crypto/sha1"
	"maps"
	"testing"

	"github.com/heddle-project/heddle/bench/internal/pb"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// world is one node with room for four containers and one application that
// has asked for three, in a queue that may use half of eight nodes' worth.
func world() (*Cluster, *Node, *App) {
	c := New(Config{Queues: 1, QueueFmt: "root.q%d", Ask: yarn.Resource{Mem: 1024, VC: 1}, CheckCores: true, Workers: 1})
	n := &Node{c: c, Host: "127.1.0.1", Port: 45454, Cap: yarn.Resource{Mem: 4096, VC: 4}, keyID: 7, key: []byte("key")}
	c.Nodes = []*Node{n}
	c.byHost[n.Host] = n
	a := &App{c: c, ID: yarn.AppID{TS: 1000, ID: 5}, attNo: 1, queue: c.queues[0]}
	a.attempt = yarn.AttemptBytes(a.ID, 1)
	a.queue.Max = 8192
	a.Asked = 3
	return c, n, a
}

type grant struct {
	id, mem int64
	app     int32
	host    string
	claim   int64 // id that the token claims
	key     string
}

func ok(id int64) grant { return grant{id, 1024, 5, "127.1.0.1", id, "key"} }

func reply(resp int64, ended []int64, gs ...grant) []byte {
	b := pb.Int(nil, 2, resp)
	for _, g := range gs {
		att := yarn.AttemptBytes(yarn.AppID{TS: 1000, ID: g.app}, 1)
		r := yarn.Resource{Mem: g.mem, VC: 1}
		var m, k int
		b, m = pb.Open(b, 3)
		b = yarn.AppendContainerID(b, 1, att, g.id)
		b = pb.Blob(b, 2, yarn.NodeBytes(g.host, 45454))
		b = r.Append(b, 4)
		b = pb.Blob(b, 5, pb.Int(nil, 1, 1))
		claim := yarn.AppendContainerID(nil, 1, att, g.claim)
		claim = pb.Str(claim, 2, g.host+":45454")
		claim = r.Append(claim, 4)
		claim = pb.Int(claim, 6, 7)
		h := hmac.New(sha1.New, []byte(g.key))
		h.Write(claim)
		b, k = pb.Open(b, 6)
		b = pb.Blob(b, 1, claim)
		b = pb.Blob(b, 2, h.Sum(nil))
		b = pb.Close(b, k)
		b = pb.Close(b, m)
	}
	for _, id := range ended {
		var m int
		b, m = pb.Open(b, 4)
		b = yarn.AppendContainerID(b, 1, yarn.AttemptBytes(yarn.AppID{TS: 1000, ID: 5}, 1), id)
		b = pb.Int(b, 2, yarn.Complete)
		b = pb.Int(b, 4, 0)
		b = pb.Close(b, m)
	}
	return b
}

func TestJudgeFindsFaults(t *testing.T) {
	with := func(g grant, f func(*grant)) grant { f(&g); return g }
	for name, c := range map[string]struct {
		replies [][]byte
		prepare func(*Node, *App)
		want    map[string]int64
	}{
		"good":         {replies: [][]byte{reply(1, nil, ok(1), ok(2)), reply(2, nil, ok(3))}},
		"duplicate":    {replies: [][]byte{reply(1, nil, ok(1)), reply(2, nil, ok(1))}, want: map[string]int64{"duplicate": 1}},
		"excess":       {replies: [][]byte{reply(1, nil, ok(1), ok(2), ok(3), ok(4))}, want: map[string]int64{"excess": 1}},
		"foreign":      {replies: [][]byte{reply(1, nil, with(ok(1), func(g *grant) { g.app = 6 }))}, want: map[string]int64{"foreign": 1}},
		"unknown node": {replies: [][]byte{reply(1, nil, with(ok(1), func(g *grant) { g.host = "127.1.0.9" }))}, want: map[string]int64{"unknown_node": 1}},
		"shape":        {replies: [][]byte{reply(1, nil, with(ok(1), func(g *grant) { g.mem = 512 }))}, want: map[string]int64{"shape": 1}},
		"token lies":   {replies: [][]byte{reply(1, nil, with(ok(1), func(g *grant) { g.claim = 2 }))}, want: map[string]int64{"bad_token": 1}},
		"forged token": {replies: [][]byte{reply(1, nil, with(ok(1), func(g *grant) { g.key = "yek" }))}, want: map[string]int64{"bad_token": 1}},
		"sequence":     {replies: [][]byte{reply(2, nil)}, want: map[string]int64{"response_id": 1}},
		"node too full": {prepare: func(n *Node, a *App) { n.Cap.Mem, n.Cap.VC = 2048, 2 },
			replies: [][]byte{reply(1, nil, ok(1), ok(2), ok(3))}, want: map[string]int64{"node_memory": 1, "node_cores": 1}},
		"queue too full": {prepare: func(n *Node, a *App) { a.queue.Max = 2048 },
			replies: [][]byte{reply(1, nil, ok(1), ok(2), ok(3))}, want: map[string]int64{"queue_max": 1}},
		"end of nothing": {replies: [][]byte{reply(1, []int64{9})}, want: map[string]int64{"ended_unknown": 2}},
		"end too early":  {replies: [][]byte{reply(1, nil, ok(1)), reply(2, []int64{1})}, want: map[string]int64{"ended_unknown": 1}},
	} {
		cl, n, a := world()
		if c.prepare != nil {
			c.prepare(n, a)
		}
		for _, r := range c.replies {
			if _, _, err := a.judge(r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := cl.L.Counts(); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v (%q)", name, got, c.want, cl.L.Examples())
		}
	}
}

// TestLife takes containers through a node: running at one heartbeat,
// complete at the next, after which their room is free again.
func TestLife(t *testing.T) {
	c, n, a := world()
	n.Cap = yarn.Resource{Mem: 3072, VC: 3}
	must := func(b []byte) {
		t.Helper()
		if _, _, err := a.judge(b); err != nil {
			t.Fatal(err)
		}
	}
	must(reply(1, nil, ok(1), ok(2), ok(3)))
	n.build()
	if n.Live() != 3 {
		t.Fatalf("%d live after the first heartbeat", n.Live())
	}
	n.build()
	if n.Live() != 0 || n.used != (yarn.Resource{}) {
		t.Fatalf("%d live, %+v used after the second", n.Live(), n.used)
	}
	a.Asked += 3
	must(reply(2, []int64{1, 2, 3}, ok(4), ok(5), ok(6)))
	if c.L.Total() != 0 {
		t.Fatalf("%v %q", c.L.Counts(), c.L.Examples())
	}
	must(reply(3, []int64{1}))
	if got := c.L.Counts(); got["ended_twice"] != 1 {
		t.Errorf("%v", got)
	}
}
