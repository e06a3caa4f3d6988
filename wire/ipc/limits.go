package ipc

import "time"

// Limits bounds what one server or client holds and waits for. A zero field
// has the default named beside it.
type Limits struct {
	MaxFrame       int // bytes of a request (server) or response (client) frame; 128 MiB (ipc.maximum.data.length)
	MaxEarly       int // bytes of a frame before authentication is complete; 4 MiB
	MaxResponse    int // bytes of a response body; 128 MiB (ipc.maximum.response.length)
	MaxConnections int // connections of a server; 65536. Above it a new one is closed at once.
	// MaxConnectionsPerAddress bounds connections from one remote IP address,
	// loopback excepted; 16384.
	MaxConnectionsPerAddress int
	// MaxCallsPerConnection bounds the unanswered calls of one connection; 1024. At the
	// bound the server stops reading from that connection until one is
	// answered, so that TCP holds the peer back; a client's call waits.
	MaxCallsPerConnection int
	// MaxHeld bounds the bytes of all unanswered request frames above 64 KiB of
	// one server; 1 GiB. A frame that would exceed it ends its connection.
	MaxHeld int64
	// MaxQueued bounds the bytes that wait to be written to one connection;
	// 16 MiB. At half of it the server stops reading from the connection, and
	// an answer added above it closes the connection; one answer may be larger.
	// Above it a client's calls fail at once.
	MaxQueued int
	// Places bounds the calls that are served in turn at a time; 1.
	Places int

	Handshake time.Duration // from accept or connect to an accepted context; 10 s
	Frame     time.Duration // from a frame's first byte to its last; 30 s
	Idle      time.Duration // server: no frame and no call in flight; 10 min. Client: no call in flight; 10 s
	Write     time.Duration // for every 64 KiB that wait to be written; 60 s
	Ping      time.Duration // client: a ping after so long without sending while a call waits; 60 s (ipc.ping.interval)
}

const (
	mib = 1 << 20

	defaultServerIdle = 10 * time.Minute
	defaultClientIdle = 10 * time.Second
)

func or[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

func (l Limits) withDefaults(idle time.Duration) Limits {
	or(&l.MaxFrame, 128*mib)
	or(&l.MaxEarly, 4*mib)
	or(&l.MaxResponse, 128*mib)
	or(&l.MaxConnections, 64<<10)
	or(&l.MaxConnectionsPerAddress, 16<<10)
	or(&l.MaxCallsPerConnection, 1024)
	or(&l.MaxHeld, 1<<30)
	or(&l.MaxQueued, 16*mib)
	or(&l.Places, 1)
	or(&l.Handshake, 10*time.Second)
	or(&l.Frame, 30*time.Second)
	or(&l.Idle, idle)
	or(&l.Write, 60*time.Second)
	or(&l.Ping, 60*time.Second)
	return l
}
