package replica

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Bounds of the network.
const (
	helloPatience = 5 * time.Second // for TLS and the hellos
	maxCallers    = 64              // connections of which it is not known yet whether a member has opened them
	maxOfHost     = 8               // of them, from one host
	queueLength   = 1024            // messages that wait for a member
	shortPause    = 50 * time.Millisecond
	longPause     = time.Second
)

// idle is for how long a connection on which nothing comes is kept.
func (m *Member) idle() time.Duration { return 4*m.cfg.Timeout + time.Second }

func (m *Member) hello(what string) hello {
	return hello{Protocol: protocol, Cluster: m.cfg.Cluster, Name: m.cfg.Name, Disk: m.disk, Members: m.names, Witness: slices.Sorted(slices.Values(m.cfg.Witness)), Founded: m.founded.Load(), Remade: m.remade.Load(), For: what}
}

// peer is another member as this one calls it.
type peer struct {
	name    string
	queue   chan *pb.Message
	disk    uint64 // that the hello has said; 0: it is not in touch. Of the member's goroutine
	founded bool
	sending bool // a snapshot
}

// call connects to another member and says hello.
func (m *Member) call(ctx context.Context, name, what string) (*tls.Conn, *bufio.Writer, *hello, error) {
	ctx, cancel := context.WithTimeout(ctx, helloPatience)
	defer cancel()
	raw, err := m.cfg.dial(ctx, m.cfg.Members[name])
	if err != nil {
		return nil, nil, nil, err
	}
	conn := tls.Client(raw, m.tls)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	w := bufio.NewWriterSize(conn, 64<<10)
	own := m.hello(what)
	err = conn.HandshakeContext(ctx)
	if err == nil {
		err = writeHello(w, own)
	}
	var theirs *hello
	if err == nil {
		theirs, err = readHello(conn)
	}
	if err == nil {
		if err = own.fits(theirs, name); theirs.Refused != "" && !m.leftBehind(err) {
			err = fmt.Errorf("%s refuses this member: %s", name, theirs.Refused)
		}
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close()
		return nil, nil, nil, err
	}
	return conn, w, theirs, nil
}

// leftBehind ends this member's part if that is what is wrong.
func (m *Member) leftBehind(err error) bool {
	if !errors.Is(err, errLeftBehind) {
		return false
	}
	m.tell(func() {
		if m.broken == nil {
			m.fail(err)
		}
	})
	return true
}

// talk sends messages to another member for as long as this one lives.
func (m *Member) talk(p *peer) {
	pause := shortPause
	for m.ctx.Err() == nil {
		conn, w, theirs, err := m.call(m.ctx, p.name, forMessages)
		if err == nil {
			pause = shortPause
			m.tell(func() { m.met(p, theirs) })
			err = m.talkOn(p, conn, w)
			m.tell(func() { m.lostTouch(p) })
		}
		if m.ctx.Err() != nil {
			return
		}
		m.complain(p.name, err)
		select {
		case <-m.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longPause)
	}
}

// talkOn sends messages until it fails.
func (m *Member) talkOn(p *peer, conn *tls.Conn, w *bufio.Writer) error {
	defer conn.Close()
	defer context.AfterFunc(m.ctx, func() { conn.Close() })()
	ended := make(chan error, 1)
	go func() { // it has nothing to say: that it ends is seen at once
		_, err := conn.Read(make([]byte, 1))
		if err == nil {
			err = errors.New("it says what nobody has asked")
		}
		ended <- err
	}()
	ping := time.NewTicker(m.cfg.Timeout / 2)
	defer ping.Stop()
	for {
		var b []byte
		select {
		case x := <-p.queue:
			var err error
			if b, err = proto.Marshal(x); err != nil {
				return err
			}
		case <-ping.C:
		case err := <-ended:
			return err
		}
		conn.SetWriteDeadline(time.Now().Add(2*m.cfg.Timeout + time.Second))
		if err := writeFrame(w, b); err != nil {
			return err
		}
		if len(p.queue) > 0 {
			continue
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
}

// serve takes connections.
func (m *Member) serve() {
	d := door{of: map[string]int{}}
	for {
		conn, err := m.listener.Accept()
		if err != nil {
			if m.ctx.Err() != nil {
				return
			}
			m.complain("the port", err)
			time.Sleep(shortPause)
			continue
		}
		host := hostOf(conn)
		if !d.enter(host) {
			_ = conn.Close()
			continue
		}
		known := sync.OnceFunc(func() { d.leave(host) })
		m.work.Go(func() {
			defer known()
			m.listen(conn, known)
		})
	}
}

// door counts connections of which it is not known yet whether a member has opened them, so that strangers do not take the places of members.
type door struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by host
}

func (d *door) enter(host string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all >= maxCallers || d.of[host] >= maxOfHost {
		return false
	}
	d.all++
	d.of[host]++
	return true
}

func (d *door) leave(host string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all--
	if d.of[host]--; d.of[host] == 0 {
		delete(d.of, host)
	}
}

// listen is one connection that somebody has opened; known is called when it is a member.
func (m *Member) listen(raw net.Conn, known func()) {
	defer raw.Close()
	defer context.AfterFunc(m.ctx, func() { raw.Close() })()
	conn := tls.Server(raw, m.tls)
	conn.SetDeadline(time.Now().Add(helloPatience))
	if err := conn.HandshakeContext(m.ctx); err != nil {
		m.complain("somebody at "+hostOf(raw), fmt.Errorf("it is refused: %w", err))
		return
	}
	r, w := bufio.NewReaderSize(conn, 64<<10), bufio.NewWriter(conn)
	theirs, err := readHello(r)
	if err != nil {
		m.complain("somebody at "+hostOf(raw), err)
		return
	}
	own := m.hello(theirs.For)
	if err := own.fits(theirs, ""); err != nil {
		m.leftBehind(err)
		own.Refused = theirs.invert(&own)
		_ = writeHello(w, own)
		m.complain(theirs.Name, err)
		return
	}
	known()
	if err := writeHello(w, own); err != nil {
		return
	}
	switch theirs.For {
	case forMessages:
		err = m.hear(conn, r, theirs)
	case forSnapshot:
		err = m.receive(conn, r, w, theirs)
	default:
		err = fmt.Errorf("it wants to talk of %.40q", theirs.For)
	}
	if err != nil && m.ctx.Err() == nil {
		m.cfg.Log.Debug("a member has ended its connection", "member", theirs.Name, "error", err)
	}
}

// invert is the refusal from the other side's point of view.
func (h *hello) invert(other *hello) string {
	if err := h.fits(other, ""); err != nil {
		return err.Error()
	}
	return "it does not fit"
}

// hear takes messages.
func (m *Member) hear(conn net.Conn, r *bufio.Reader, theirs *hello) error {
	for {
		conn.SetReadDeadline(time.Now().Add(m.idle()))
		b, err := readFrame(r, maxFrame)
		if err != nil {
			return err
		}
		if len(b) == 0 {
			continue
		}
		x := &pb.Message{}
		if err := proto.Unmarshal(b, x); err != nil {
			return err
		}
		if x.GetFrom() != theirs.Disk || x.GetType() == pb.MsgSnap {
			return errors.New("it sends messages that are not its own, or do not belong here")
		}
		m.tell(func() { m.core.step(x, m.cfg.Clock()) })
	}
}

// post has a message sent, or drops it: raft sends it again.
func (m *Member) post(x *pb.Message) {
	i := slices.IndexFunc(m.peers, func(p *peer) bool { return p.disk == x.GetTo() })
	if i < 0 {
		m.undelivered = append(m.undelivered, x)
		return
	}
	p := m.peers[i]
	if x.GetType() == pb.MsgSnap {
		m.sendSnapshot(p, x)
		return
	}
	select {
	case p.queue <- x:
	default:
		m.undelivered = append(m.undelivered, x)
	}
}

func hostOf(c net.Conn) string {
	host, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return c.RemoteAddr().String()
	}
	return host
}
