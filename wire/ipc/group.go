package ipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// Verdict is what to do after a failed call.
type Verdict int

const (
	GiveUp   Verdict = iota
	Again            // the same address
	Failover         // the next address
)

// Judge applies the rules of Hadoop's RMProxy. With ha, several addresses
// serve as one and the rule is "fail over on network exception"; otherwise
// every failure of the network is tried again at the one address. Repeatable
// calls (idempotent or at most once) may be sent again when it is unknown
// whether the server has acted.
func Judge(err error, ha, repeatable bool) Verdict {
	var r *RemoteError
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, ErrClosed), errors.Is(err, ErrAuthentication):
		return GiveUp
	case errors.As(err, &r):
		return judgeRemote(r, ha)
	case neverSent(err), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return elsewhere(ha)
	case network(err) && (repeatable || !ha):
		return elsewhere(ha)
	}
	return GiveUp
}

// isBusy tells whether err is the answer of an active server that is to be asked again.
func isBusy(err error) bool {
	var r *RemoteError
	return errors.As(err, &r) && r.Class == ClassRetriable
}

func elsewhere(ha bool) Verdict {
	if ha {
		return Failover
	}
	return Again
}

func judgeRemote(r *RemoteError, ha bool) Verdict {
	switch r.Class {
	case ClassStandby:
		return elsewhere(ha)
	case ClassRetriable:
		return Again
	}
	return GiveUp
}

// neverSent errors happened before a connection could carry a call.
func neverSent(err error) bool {
	var c *ConnectError
	return errors.As(err, &c)
}

func network(err error) bool {
	var n net.Error
	var e syscall.Errno
	return errors.As(err, &n) || errors.As(err, &e) || errors.Is(err, net.ErrClosed)
}

// Policy bounds the attempts of a [Group].
type Policy struct {
	// Attempts is how often one call is sent at most, the first included;
	// 31 (yarn.resourcemanager.connect.max-wait.ms / retry-interval.ms + 1).
	Attempts int
	// Base is the pause between attempts, 30 s. With several addresses the
	// first failover is immediate, and later pauses double up to Most, each
	// varied between half and one and a half.
	Base time.Duration
	Most time.Duration // 30 s (yarn.client.failover-sleep-max-ms)
	// Retried, when set, is told of each attempt after which the call goes on.
	Retried func(Retry)
	// Answered, when set, is told which address has answered a call.
	Answered func(address string)
}

// Retry is a failed attempt after which a call goes on.
type Retry struct {
	Address string
	Attempt int // of this call, from 1
	Err     error
	// Nobody: all addresses have failed in this call, and each was a standby or could not be reached when it was asked last.
	Nobody bool
}

// Group calls whichever of several addresses is active.
type Group struct {
	client    *Client
	addresses []string
	policy    Policy
	active    atomic.Uint32 // counts failovers; the address is its remainder
}

// NewGroup needs at least one address. With exactly one it only retries.
func NewGroup(client *Client, addresses []string, p Policy) (*Group, error) {
	if len(addresses) == 0 {
		return nil, errors.New("rpc group without an address")
	}
	if p.Attempts <= 0 {
		p.Attempts = 31
	}
	or(&p.Base, 30*time.Second)
	or(&p.Most, 30*time.Second)
	return &Group{client: client, addresses: append([]string(nil), addresses...), policy: p}, nil
}

// Active is the address that the next call goes to.
func (g *Group) Active() string { return g.at(g.active.Load()) }

func (g *Group) at(n uint32) string { return g.addresses[n%uint32(len(g.addresses))] }

// Call is [Client.Call] on the active address, with retry and failover until
// it succeeds, the rules give up, the attempts are used up or ctx ends. The
// error is that of the last attempt.
func (g *Group) Call(ctx context.Context, protocol, method string, repeatable bool, request []byte) ([]byte, error) {
	ha := len(g.addresses) > 1
	away := map[uint32]bool{} // by address: it was asked, and is no active server
	for attempt := 0; ; attempt++ {
		seen := g.active.Load()
		answer, err := g.client.do(ctx, &g.client.cfg.Credentials, g.at(seen), protocol, method, request, int32(attempt))
		if err == nil {
			if g.policy.Answered != nil {
				g.policy.Answered(g.at(seen))
			}
			return answer, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		verdict := Judge(err, ha, repeatable)
		if verdict == GiveUp {
			return nil, err
		}
		if attempt+1 >= g.policy.Attempts {
			return nil, fmt.Errorf("gave up after %d attempts: %w", attempt+1, err)
		}
		if g.policy.Retried != nil {
			if at := seen % uint32(len(g.addresses)); isBusy(err) {
				delete(away, at)
			} else {
				away[at] = true
			}
			g.policy.Retried(Retry{g.at(seen), attempt + 1, err, len(away) == len(g.addresses)})
		}
		if verdict == Failover {
			g.active.CompareAndSwap(seen, seen+1) // calls that fail together move on together
		}
		if cause := pause(ctx, g.policy.wait(attempt, ha)); cause != nil {
			return nil, fmt.Errorf("%w (last attempt: %w)", cause, err)
		}
	}
}

// wait is the pause after the given attempt, counted from 0.
func (p Policy) wait(attempt int, ha bool) time.Duration {
	switch {
	case !ha:
		return p.Base
	case attempt == 0:
		return 0
	}
	d := min(p.Base<<min(attempt, 16), p.Most)
	if d <= 0 {
		d = p.Most
	}
	return time.Duration(float64(d) * (0.5 + rand.Float64()))
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
