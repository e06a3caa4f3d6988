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

// refused is why an address is not dialled.
type refused struct{ whose string }

func (r refused) Error() string {
	return "it is a port of " + r.whose + ", and the proxy leads to no daemon"
}

// refusedBy is the reason in an error of dialling, if it is one.
func refusedBy(err error) (r refused, ok bool) {
	ok = errors.As(err, &r)
	return r, ok
}

// dial connects to masters and to no daemon. What counts is the address that
// is dialled, whatever name or spelling led to it; a name of a node counts too.
// Masters may live on the same hosts, on other ports.
func (p *Proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := &net.Dialer{Timeout: dialTime, Control: func(_, dialled string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(dialled)
		if err != nil {
			return fmt.Errorf("the proxy does not know the address %s: %w", dialled, err)
		}
		return p.daemonAt(ctx, host, netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port()))
	}}
	return dialFrom(ctx, d, p.From, network, address)
}

// daemonAt refuses an address that is a port of this ResourceManager or of a
// node that it knows. name is the host as the application spelled it.
func (p *Proxy) daemonAt(ctx context.Context, name string, at netip.AddrPort) error {
	here, err := local.Address(at.Addr())
	if err != nil {
		return err
	}
	if here && p.Own != nil && p.Own(at.Port()) {
		return refused{"this ResourceManager"}
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

// listens tells whether a NodeManager has named a port as its own. The port of a
// node that has gone may be any program's now, since by default each start has
// another; that of its pages is the same.
func listens(n *view.Node, port uint16) bool {
	if n.ID.Port == int32(port) && (n.State.Usable() || n.State == yarn.NodeUnhealthy) {
		return true
	}
	_, web, err := net.SplitHostPort(n.HTTPAddress)
	return err == nil && web == strconv.Itoa(int(port))
}

// isHost tells whether a node's host is the one that is dialled. All addresses
// of this machine are one host.
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
