package resourcemanager

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/secrets"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// grants make the tokens that go with containers, masters and launches.
type grants struct {
	amrm       *secrets.AMRM
	nodes      *secrets.NM
	containers *secrets.Containers
	addresses  *addresses
	issuer     int64         // start of this ResourceManager
	expiry     time.Duration // of a container that is not started
	contexts   *contexts
}

// ContainerToken lets its holder start the container.
func (g *grants) ContainerToken(x engine.Grant) token.Token {
	now := time.Now()
	submission, _ := g.contexts.Get(x.ID.Attempt.Application) // if that fails the store is lost, and the term ends
	return g.containers.Issue(token.Container{
		ID: x.ID, NodeAddress: x.Node.String(), Submitter: x.User, Resource: x.Resource, Expires: now.Add(g.expiry).UnixMilli(),
		Issuer: g.issuer, Priority: x.Priority, Created: x.CreatedAt, LogContext: logContext(submission),
		Label: x.Label, Master: x.Master, ExecutionType: x.Execution, Version: x.Version, AllocationRequestID: x.AllocationRequestID,
	}, g.addresses.service(x.Node))
}

// NodeToken is a token for the container's node, unless the master has one.
func (g *grants) NodeToken(id yarn.AttemptID, x engine.Grant) (token.Token, bool) {
	return g.nodes.IssueOnce(id, x.Node, x.User, g.addresses.service(x.Node))
}

// launchToken is a token for the ResourceManager itself, as the attempt.
func (g *grants) launchToken(id yarn.AttemptID, node yarn.NodeID, user string) token.Token {
	return g.nodes.Issue(id, node, user, g.addresses.service(node))
}

// MasterRegistered forgets which node tokens an attempt's master has.
func (g *grants) MasterRegistered(id yarn.AttemptID) { g.nodes.ClearAttempt(id) }

// RenewedLogin replaces a token that is about to be void.
func (g *grants) RenewedLogin(id yarn.AttemptID, identifier []byte) (token.Token, bool) {
	held, err := token.ParseAMRM(identifier)
	if err != nil {
		return token.Token{}, false
	}
	return g.amrm.Renew(id, held.KeyID)
}

// How names are resolved.
const (
	resolveWait  = 2 * time.Second
	maxAddresses = 100_000
	maxPerHost   = 16
)

// addresses are the nodes' hosts as they resolved when a node registered. Masters
// see the first of them: a token names the address that the host's name resolves
// to (hadoop.security.token.service.use_ip), or the name.
type addresses struct {
	useIP bool
	mu    sync.Mutex
	ip    map[string][]netip.Addr // those of IPv4 first
}

func newAddresses(useIP bool) *addresses {
	return &addresses{useIP: useIP, ip: map[string][]netip.Addr{}}
}

// resolve looks a host up when its node registers, before any token names it.
func (a *addresses) resolve(host string) {
	if net.ParseIP(host) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveWait)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(found) == 0 {
		return // the name itself has to do
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	slices.SortStableFunc(found, func(x, y netip.Addr) int { return x.BitLen() - y.BitLen() })
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ip) < maxAddresses || a.ip[host] != nil {
		a.ip[host] = found[:min(len(found), maxPerHost)]
	}
}

// of are the addresses of a host, as far as they are known.
func (a *addresses) of(host string) []netip.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ip[host]
}

// first is the first address of a host, or nothing.
func (a *addresses) first(host string) string {
	if ip := a.of(host); len(ip) > 0 {
		return ip[0].String()
	}
	return ""
}

func (a *addresses) service(n yarn.NodeID) string {
	host := strings.ToLower(n.Host)
	if ip := a.of(n.Host); a.useIP && len(ip) > 0 && ip[0].Is4() {
		host = ip[0].String()
	}
	return host + ":" + strconv.Itoa(int(n.Port))
}
