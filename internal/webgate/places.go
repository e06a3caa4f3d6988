package webgate

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"
)

// terms are the bounds on connections.
type terms struct {
	most     int           // connections at once
	ripe     time.Duration // a connection may be cut for a new one once its peer has let the server wait for so long
	patience time.Duration // how long a peer may take nothing of its answer
	rate     int           // bytes a second that a peer must take in the long run
}

var standardTerms = terms{most: maxConnections, ripe: 100 * time.Millisecond, patience: 30 * time.Second, rate: 8 << 10}

const (
	// piece is how much is written before patience is counted anew.
	piece = 64 << 10
	// sendBuffer is how much of an answer the kernel holds for its reader. By itself
	// it would hold some MB, and writing would stand still for minutes while a slow
	// reader empties that.
	sendBuffer = 128 << 10
	// quiet is the least time between two lines of log about cut connections.
	quiet = time.Minute
)

// places are the connections of a port; terms.most bounds them. If all places are taken
// when a new connection comes, the peer with the most connections loses the one that has
// let the server wait the longest: for a request, for the rest of one, or to take its
// answer. Only while all of them have requests that are worked on does a new connection
// wait.
type places struct {
	net.Listener
	terms
	log  *slog.Logger
	done chan struct{}
	once sync.Once
	left chan struct{} // has something when a place has become free

	mu         sync.Mutex
	guests     map[*guest]struct{}
	from       map[netip.Prefix]int // guests by peer
	full, slow int                  // cut since the last line of log
	told       time.Time
}

func newPlaces(l net.Listener, t terms, log *slog.Logger) *places {
	return &places{Listener: l, terms: t, log: log, done: make(chan struct{}), left: make(chan struct{}, 1),
		guests: map[*guest]struct{}{}, from: map[netip.Prefix]int{}}
}

func (p *places) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // a wish
	}
	g := &guest{Conn: c, places: p, peer: peerOf(c.RemoteAddr()), since: time.Now(), patience: p.patience}
	g.leave = sync.OnceFunc(func() { p.remove(g) })
	for {
		victim, ok := p.add(g)
		if ok {
			return g, nil
		}
		victim.sever()
		select {
		case <-p.left:
		case <-time.After(p.ripe / 10):
		case <-p.done:
			_ = c.Close()
			return nil, net.ErrClosed
		}
	}
}

func (p *places) Close() error {
	p.once.Do(func() { close(p.done) })
	return p.Listener.Close()
}

// add gives a newcomer a place, or names the guest to cut for it; nil for none.
func (p *places) add(g *guest) (victim *guest, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.guests) < p.most {
		p.guests[g] = struct{}{}
		p.from[g.peer]++
		return nil, true
	}
	before := time.Now().Add(-p.ripe)
	var longest time.Time
	for other := range p.guests {
		since, waits := other.waiting()
		if !waits || since.After(before) {
			continue
		}
		more := 0
		if victim != nil {
			more = p.from[other.peer] - p.from[victim.peer]
		}
		if victim == nil || more > 0 || more == 0 && since.Before(longest) {
			victim, longest = other, since
		}
	}
	if victim != nil {
		p.full++
		p.tell()
	}
	return victim, false
}

func (p *places) remove(g *guest) {
	p.mu.Lock()
	delete(p.guests, g)
	if p.from[g.peer]--; p.from[g.peer] == 0 {
		delete(p.from, g.peer)
	}
	p.mu.Unlock()
	select {
	case p.left <- struct{}{}:
	default:
	}
}

func (p *places) cutSlow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow++
	p.tell()
}

// tell says in the log that connections are cut, if it has not for a while. p.mu
// is held.
func (p *places) tell() {
	now := time.Now()
	if now.Sub(p.told) < quiet {
		return
	}
	var most netip.Prefix
	for peer, n := range p.from {
		if n > p.from[most] || n == p.from[most] && peer.String() < most.String() {
			most = peer
		}
	}
	p.log.Warn("connections were cut to keep the port open for others", "address", p.Addr(), "to_make_room", p.full, "slow_readers", p.slow,
		"least_bytes_per_second", p.rate, "open", len(p.guests), "most_from", most, "these", p.from[most])
	p.full, p.slow, p.told = 0, 0, now
}

// peerOf is who has a connection: an address of IPv4 or a network of IPv6, all of
// which one machine may have.
func peerOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	return netip.PrefixFrom(ip.WithZone(""), bits).Masked()
}

// guest is a connection that has a place.
type guest struct {
	net.Conn
	places   *places
	peer     netip.Prefix
	leave    func()
	patience time.Duration // what is left of it; of the writer alone

	mu      sync.Mutex
	since   time.Time // when it began to wait for its peer; zero while its request is worked on
	writing bool
	severed bool
}

// waits and works say whose turn it is: the peer's or ours.
func (g *guest) waits(writing bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since, g.writing = time.Now(), writing
}

func (g *guest) works() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since, g.writing = time.Time{}, false
}

// waiting tells since when the peer has let us wait.
func (g *guest) waiting() (time.Time, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since, !g.since.IsZero() && !g.severed
}

// sever ends the connection under whatever goes on; its place is free once that
// has noticed. A nil guest is not there.
func (g *guest) sever() {
	if g == nil {
		return
	}
	g.mu.Lock()
	g.severed = true
	if g.writing {
		g.drop()
	}
	g.mu.Unlock()
	_ = g.Conn.Close()
}

// drop makes the kernel forget what the peer has not taken when the connection is
// closed.
func (g *guest) drop() {
	if tcp, ok := g.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

func (g *guest) Close() error {
	err := g.Conn.Close()
	g.leave()
	return err
}

// Write writes while patience lasts: waiting for the peer uses it up, each byte
// that the peer takes gives some of it back.
func (g *guest) Write(b []byte) (n int, err error) {
	defer g.works()
	for len(b) > 0 {
		g.waits(true) // anew: its peer has taken the piece before
		begun := time.Now()
		if err := g.Conn.SetWriteDeadline(begun.Add(g.patience)); err != nil {
			return n, err
		}
		m, err := g.Conn.Write(b[:min(len(b), piece)])
		n += m
		earned := time.Duration(m) * time.Second / time.Duration(g.places.rate)
		g.patience = min(g.patience-time.Since(begun)+earned, g.places.patience)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				g.drop()
				g.places.cutSlow()
			}
			return n, err
		}
		b = b[m:]
	}
	return n, nil
}

// SetWriteDeadline has no effect: see Write.
func (g *guest) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline sets that of reading.
func (g *guest) SetDeadline(t time.Time) error { return g.SetReadDeadline(t) }

// changed follows the server: between requests it is the peer's turn.
func changed(c net.Conn, state http.ConnState) {
	g, ok := c.(*guest)
	switch {
	case !ok:
	case state == http.StateActive:
		g.works()
	case state == http.StateIdle:
		g.waits(false)
	}
}

// body is what the peer sends; while it is read it is the peer's turn.
type body struct {
	io.ReadCloser
	guest *guest
}

func (b *body) Read(p []byte) (int, error) {
	b.guest.waits(false)
	defer b.guest.works()
	return b.ReadCloser.Read(p)
}

// guestKey is the connection in the context of a request.
type guestKey struct{}

// follow lets a handler's reading of bodies count.
func follow(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g, ok := r.Context().Value(guestKey{}).(*guest); ok && r.Body != nil && r.Body != http.NoBody {
			r.Body = &body{r.Body, g}
		}
		next.ServeHTTP(w, r)
	})
}
