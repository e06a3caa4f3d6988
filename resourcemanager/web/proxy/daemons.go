package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	"github.com/heddle-project/heddle/internal/local"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// refused is the error for an address that is a daemon's and so is not dialled.
type refused struct{ whose string }

func (r refused) Error() string {
	return "it is a port of " + r.whose + ", and the proxy leads to no daemon"
}

// refusedBy finds a refused in an error of dialling.
func refusedBy(err error) (r refused, ok bool) {
	ok = errors.As(err, &r)
	return r, ok
}

// dial connects to masters and to no daemon. It checks the address after name
// resolution, and the name as well. Masters may run on the same hosts as daemons, on
// other ports.
func (p *Proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := checked(func(at netip.AddrPort) error { return p.daemonAt(ctx, host, at) })
	return dialFrom(ctx, d, p.From, network, address)
}

// checked is a dialer that asks about an address after name resolution.
func checked(check func(at netip.AddrPort) error) *net.Dialer {
	return &net.Dialer{Timeout: dialTime, Control: func(_, dialled string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(dialled)
		if err != nil {
			return fmt.Errorf("the proxy does not know the address %s: %w", dialled, err)
		}
		return check(netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port()))
	}}
}

// DialOthers connects to everything but the ports of this ResourceManager. own is Own of Config.
func DialOthers(own func(port uint16) bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	return checked(func(at netip.AddrPort) error {
		_, err := notOwn(own, at)
		return err
	}).DialContext
}

// notOwn is an error if an address is a port of this ResourceManager. here tells that it is one of this machine.
func notOwn(own func(port uint16) bool, at netip.AddrPort) (here bool, err error) {
	here, err = local.Address(at.Addr())
	if err == nil && here && own != nil && own(at.Port()) {
		err = refused{"this ResourceManager"}
	}
	return here, err
}

// daemonAt is an error if an address is a port of this ResourceManager or of a node that
// it knows. name is the host as the master gave it.
func (p *Proxy) daemonAt(ctx context.Context, name string, at netip.AddrPort) error {
	here, err := notOwn(p.Own, at)
	if err != nil {
		return err
	}
	c, err := p.Source.Cluster(ctx, view.Nodes)
	if err != nil {
		return err
	}
	for _, n := range c.Nodes {
		if listens(n, at.Port()) && p.isHost(n.ID.Host, name, at.Addr(), here) {
			return refused{"the NodeManager " + n.ID.String()}
		}
	}
	return nil
}

// listens tells whether a port is a NodeManager's. The RPC port of a node that has left
// may be any program's now, since by default it changes with each start; the port of its
// pages does not.
func listens(n *view.Node, port uint16) bool {
	if n.ID.Port == int32(port) && (n.State.Usable() || n.State == yarn.NodeUnhealthy) {
		return true
	}
	_, web, err := net.SplitHostPort(n.HTTPAddress)
	return err == nil && web == strconv.Itoa(int(port))
}

// isHost tells whether a node's host is the one that is dialled. here tells that this is
// this machine, all of whose addresses are one host.
func (p *Proxy) isHost(host, name string, dialled netip.Addr, here bool) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), strings.TrimSuffix(name, ".")) {
		return true
	}
	var known []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		known = []netip.Addr{a}
	} else if p.Addresses != nil {
		known = p.Addresses(host)
	}
	for _, a := range known {
		if a = a.Unmap().WithZone(""); a == dialled {
			return true
		} else if here {
			if same, err := local.Address(a); same || err != nil {
				return true
			}
		}
	}
	return false
}
