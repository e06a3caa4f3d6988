package scen

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/bench/internal/hist"
	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/sim"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// submitting is the load of Submit, which all clients share.
type submitting struct {
	c         *sim.Cluster
	queues    []string
	context   []byte
	unmanaged bool
	wait      bool
	rate      float64

	began    time.Time
	length   time.Duration // if count is 0
	count    int64
	measured bool
	sent     atomic.Int64 // acknowledged
	polls    atomic.Int64
}

// over tells whether no further application is to be submitted.
func (l *submitting) over(now time.Time) bool {
	if l.count > 0 {
		return l.sent.Load() >= l.count
	}
	return now.Sub(l.began) >= l.length
}

// client is one connection and the callers that share it. Requests that replies lead to are sent together
// once all replies that have come are read.
type client struct {
	load    *submitting
	conn    *rpc.Conn // nil until the first run
	first   int       // number of the first caller
	callers []caller
	flying  int // callers that wait for a reply

	acked        []yarn.AppID
	lat, settled hist.H
}

// caller submits one application after the other.
type caller struct {
	n         int   // decides the queue, and with a rate the time
	call      int32 // for whose reply it waits; -1: none
	from      time.Time
	app       yarn.AppID
	submitted bool // the reply is to submitApplication
	last      yarn.AppID
}

// run submits until that is over.
func (k *client) run() (err error) {
	if k.conn == nil {
		if k.conn, err = rpc.Dial(k.load.c.Addr(k.load.c.ClientPort), yarn.ClientProtocol, k.load.c.User, nil); err != nil {
			return err
		}
	}
	for i := range k.callers {
		k.callers[i].n = k.first + i
		k.begin(&k.callers[i])
	}
	for k.flying > 0 {
		if !k.conn.Ready() {
			if err := k.conn.Flush(); err != nil {
				return err
			}
		}
		call, msg, err := k.conn.Recv()
		if err != nil {
			return err
		}
		if err := k.take(call, msg); err != nil {
			return err
		}
	}
	return nil
}

// begin calls getNewApplication.
func (k *client) begin(x *caller) {
	l := k.load
	if l.rate > 0 {
		time.Sleep(time.Until(l.began.Add(time.Duration(float64(x.n) / l.rate * float64(time.Second)))))
	}
	x.from, x.submitted, x.call = time.Now(), false, -1
	if l.c.Errors.Load() > 0 || l.over(x.from) {
		return
	}
	x.call = k.conn.End(k.conn.Begin(yarn.GetNewApplication))
	k.flying++
}

// take goes on with the caller who has got a reply.
func (k *client) take(call int32, msg []byte) (err error) {
	for i := range k.callers {
		x := &k.callers[i]
		switch {
		case x.call != call:
		case x.submitted:
			return k.acknowledged(x)
		default:
			if x.app, err = yarn.ScanNewApp(msg); err != nil {
				return err
			}
			l := k.load
			s := yarn.Submission{App: x.app, Name: "bench", Queue: l.queues[x.n%len(l.queues)], Unmanaged: l.unmanaged,
				AM: yarn.Resource{Mem: 1024, VC: 1}, Context: l.context}
			x.call, x.submitted = k.conn.End(s.Append(k.conn.Begin(yarn.SubmitApplication))), true
			return nil
		}
	}
	return fmt.Errorf("reply to call %d, for which nobody waits", call)
}

func (k *client) acknowledged(x *caller) error {
	l := k.load
	k.flying--
	l.sent.Add(1)
	k.acked, x.last = append(k.acked, x.app), x.app
	if l.measured {
		k.lat.Add(time.Since(x.from))
	}
	if l.wait {
		polls, err := settled(l.c, k.conn, x.app, 25*time.Millisecond)
		l.polls.Add(polls)
		if err != nil {
			return err
		}
		if l.measured {
			k.settled.Add(time.Since(x.from))
		}
	}
	x.n += l.c.Workers
	k.begin(x)
	return nil
}

// settle waits until the last application of every caller is settled.
func (k *client) settle() error {
	for i := range k.callers {
		if k.callers[i].last.ID == 0 {
			continue
		}
		polls, err := settled(k.load.c, k.conn, k.callers[i].last, 5*time.Millisecond)
		k.load.polls.Add(polls)
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *client) close() {
	if k.conn != nil {
		k.conn.Close()
	}
}
