package sim

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"hash"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/bench/internal/ledger"
	"github.com/heddle-project/heddle/bench/internal/pb"
	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// App is a simulated application with an unmanaged ApplicationMaster. One
// goroutine at a time may use it.
type App struct {
	c       *Cluster
	ID      yarn.AppID
	queue   *ledger.Queue
	attNo   int32
	attempt []byte
	conn    *rpc.Conn
	login   *rpc.Token
	resp    int32
	Stays   bool  // its containers run until released
	Only    *Node // the one node its containers must be on, if any

	Asked, Granted, Ends int64
	seen, ended          ledger.Set
	endsSent             atomic.Int64
	checks               uint32
}

// Outstanding returns how many containers are asked for and not granted.
func (a *App) Outstanding() int64 { return a.Asked - a.Granted }

// Start submits the application over the client connection, waits for its
// token and registers its master.
func (a *App) Start(cl *rpc.Conn) error {
	msg, err := cl.Reply(cl.End(cl.Begin(yarn.GetNewApplication)))
	if err != nil {
		return fmt.Errorf("getNewApplication: %w", err)
	}
	if a.ID, err = yarn.ScanNewApp(msg); err != nil {
		return err
	}
	s := yarn.Submission{App: a.ID, Name: "bench", Queue: a.queue.Name, Unmanaged: true,
		AM: yarn.Resource{Mem: 1024, VC: 1}, Context: a.c.Context}
	if _, err = cl.Reply(cl.End(s.Append(cl.Begin(yarn.SubmitApplication)))); err != nil {
		return fmt.Errorf("submitApplication: %w", err)
	}
	var rep yarn.Report
	wait := time.Millisecond
	for deadline := time.Now().Add(15 * time.Minute); ; {
		msg, err := cl.Reply(cl.End(yarn.AppendReportRequest(cl.Begin(yarn.GetApplicationReport), a.ID)))
		if err != nil {
			return fmt.Errorf("getApplicationReport: %w", err)
		}
		if rep, err = yarn.ScanReport(msg); err != nil {
			return err
		}
		if rep.Token != nil {
			break
		}
		if rep.State >= yarn.AppFinished {
			return fmt.Errorf("application in queue %s ended in state %d: %s", a.queue.Name, rep.State, rep.Diag)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no token for application in queue %s, state %d", a.queue.Name, rep.State)
		}
		time.Sleep(wait)
		wait = min(2*wait, 500*time.Millisecond)
	}
	a.attNo = rep.Attempt
	a.attempt = yarn.AttemptBytes(a.ID, a.attNo)
	a.login = rep.Token
	a.conn, err = rpc.Dial(a.c.Addr(a.c.SchedPort), yarn.MasterProtocol, "", rep.Token)
	if err != nil {
		return fmt.Errorf("scheduler port: %w", err)
	}
	if _, err = a.conn.Reply(a.conn.End(yarn.AppendRegisterAM(a.conn.Begin(yarn.RegisterAM), "127.0.0.1"))); err != nil {
		return fmt.Errorf("registerApplicationMaster: %w", err)
	}
	return nil
}

// Poll calls allocate, asking for ask more containers if ask is above 0 (the
// application must have none outstanding then), or withdrawing what is
// outstanding if ask is below 0. It returns how many were granted and how
// many completions were reported.
func (a *App) Poll(ask int) (granted, ended int, err error) {
	b := a.conn.Begin(yarn.Allocate)
	if ask > 0 {
		a.Asked += int64(ask)
		a.c.Asks.Add(int64(ask))
		if a.Only != nil {
			b = yarn.AppendAskOn(b, 1, a.Only.Host, a.c.Ask, int(a.Outstanding()))
		} else {
			b = yarn.AppendAsk(b, 1, a.c.Ask, int(a.Outstanding()))
		}
	} else if ask < 0 {
		b = yarn.AppendAsk(b, 1, a.c.Ask, 0)
	}
	b = yarn.AppendAllocate(b, a.resp, .5)
	msg, err := a.conn.Reply(a.conn.End(b))
	if err != nil {
		return 0, 0, err
	}
	a.c.Polls.Add(1)
	return a.judge(msg)
}

// Withdrawn says that the withdrawal has taken effect.
func (a *App) Withdrawn() {
	a.c.Asks.Add(a.Granted - a.Asked)
	a.Asked = a.Granted
}

func (a *App) judge(msg []byte) (granted, ended int, err error) {
	s := pb.In(msg)
	resp := int64(-1)
	for s.Next() {
		switch s.F {
		case 1:
			a.c.L.Break(ledger.AMCommand, 1, "application %d command %d", a.ID.ID, s.V)
		case 2:
			resp = int64(int32(s.V))
		case 3:
			g, ok := yarn.ScanGrant(s.B)
			if !ok {
				return granted, ended, yarn.ErrMalformed
			}
			a.grant(&g)
			granted++
		case 4:
			e, ok := yarn.ScanEnded(s.B)
			if !ok {
				return granted, ended, yarn.ErrMalformed
			}
			a.end(&e)
			ended++
		}
	}
	if s.Bad() {
		return granted, ended, yarn.ErrMalformed
	}
	if resp != int64(a.resp)+1 {
		a.c.L.Break(ledger.ResponseID, 1, "application %d got %d after %d", a.ID.ID, resp, a.resp)
	}
	a.resp = int32(resp)
	if granted > 0 {
		a.Granted += int64(granted)
		if a.Granted > a.Asked {
			a.c.L.Break(ledger.Excess, a.Granted-a.Asked, "application %d has %d of %d", a.ID.ID, a.Granted, a.Asked)
			a.Asked = a.Granted
		}
		a.c.Grants.Add(int64(granted))
	}
	if ended > 0 {
		a.Ends += int64(ended)
		if sent := a.endsSent.Load(); a.Ends > sent {
			a.c.L.Break(ledger.EndedUnknown, a.Ends-sent, "application %d told of %d ends, nodes sent %d", a.ID.ID, a.Ends, sent)
		}
		a.c.EndsSeen.Add(int64(ended))
	}
	return granted, ended, nil
}

func (a *App) grant(g *yarn.Grant) {
	l := a.c.L
	if g.ID.App != a.ID || g.ID.Attempt != a.attNo {
		l.Break(ledger.Foreign, 1, "container %v for application %v", g.ID, a.ID)
		return
	}
	if !a.seen.Add(g.ID.ID & (1<<40 - 1)) {
		l.Break(ledger.Duplicate, 1, "container %v", g.ID)
		return
	}
	if g.Res != a.c.Ask || g.Priority != 1 || (g.AskID != 0 && g.AskID != -1) {
		l.Break(ledger.Shape, 1, "container %v: %+v priority %d request %d", g.ID, g.Res, g.Priority, g.AskID)
	}
	n := a.c.byHost[string(g.Host)]
	if n == nil || int(g.Port) != n.Port {
		l.Break(ledger.UnknownNode, 1, "container %v on %s:%d", g.ID, g.Host, g.Port)
		return
	}
	if a.Only != nil && a.Only != n {
		l.Break(ledger.Shape, 1, "container %v on %s, wanted only on %s", g.ID, n.Host, a.Only.Host)
	}
	a.token(g, n)
	if over := a.queue.Take(g.Res.Mem); over > 0 {
		l.Break(ledger.QueueMax, 1, "%s by %d MB", a.queue.Name, over)
	}
	n.take(a, g.ID.ID, g.Res)
}

// token checks what the container token claims, and one in 64 times that it
// is signed with the key that the node was given.
func (a *App) token(g *yarn.Grant, n *Node) {
	t, ok := yarn.ScanTokenClaim(g.TokenID)
	if !ok || t.ID != g.ID || t.Res != g.Res || len(g.TokenPass) == 0 || !addrIs(t.Addr, n.Host, n.Port) {
		a.c.L.Break(ledger.BadToken, 1, "container %v: token claims %+v", g.ID, t)
		return
	}
	a.checks++
	if a.checks&63 != 1 || t.Key != n.keyID || len(n.key) == 0 {
		return
	}
	var h hash.Hash
	switch len(g.TokenPass) {
	case sha1.Size:
		h = hmac.New(sha1.New, n.key)
	case sha256.Size:
		h = hmac.New(sha256.New, n.key)
	default:
		return
	}
	h.Write(g.TokenID)
	if !bytes.Equal(h.Sum(nil), g.TokenPass) {
		a.c.L.Break(ledger.BadToken, 1, "container %v: wrong signature", g.ID)
	}
	a.c.Signed.Add(1)
}

func addrIs(b []byte, host string, port int) bool {
	if len(b) < len(host)+2 || string(b[:len(host)]) != host || b[len(host)] != ':' {
		return false
	}
	v := 0
	for _, d := range b[len(host)+1:] {
		v = v*10 + int(d-'0')
	}
	return v == port
}

func (a *App) end(e *yarn.Ended) {
	l := a.c.L
	id := e.ID.ID & (1<<40 - 1)
	if e.ID.App != a.ID || !a.seen.Has(id) {
		l.Break(ledger.EndedUnknown, 1, "container %v ended for application %v", e.ID, a.ID)
		return
	}
	if !a.ended.Add(id) {
		l.Break(ledger.EndedTwice, 1, "container %v", e.ID)
	}
	if e.Exit != 0 || e.State != yarn.Complete {
		l.Break(ledger.Abnormal, 1, "container %v exit %d state %d", e.ID, e.Exit, e.State)
	}
}
