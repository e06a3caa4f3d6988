package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/hosts"
	"github.com/heddle-project/heddle/yarn"
)

// listProperties are the properties that name the files of the lists.
var listProperties = [...]string{hosts.Include: "yarn.resourcemanager.nodes.include-path", hosts.Exclude: "yarn.resourcemanager.nodes.exclude-path"}

// readLists reads the include and exclude lists but does not put them in force. When the ResourceManager starts a missing file counts as an
// empty list, as in Apache, with a warning; in a refresh it is an error.
func (p *process) readLists(site *conf.Properties, starting bool) (*hosts.Lists, error) {
	r := conf.NewReader(site)
	var paths [len(listProperties)]string
	for role, property := range listProperties {
		paths[role] = r.String(property, "")
	}
	unnamed := p.settings.Nodes.UntrackedWithoutInclude && paths[hosts.Include] == ""
	for {
		lists, err := hosts.Read(paths[hosts.Include], paths[hosts.Exclude])
		if err == nil {
			lists.Unnamed = unnamed
			return &lists, nil
		}
		var failed *hosts.Error
		if !errors.As(err, &failed) {
			return nil, err
		}
		property := listProperties[failed.Role]
		if !starting || !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot read the %s list (%s): %w", failed.Role, property, err)
		}
		without := [...]string{hosts.Include: "every node may join", hosts.Exclude: "no node is excluded"}[failed.Role]
		p.Log.Warn("the "+failed.Role.String()+" list of nodes is missing: "+without+" until there is a file and yarn rmadmin -refreshNodes has read it",
			"file", failed.Path, "property", property)
		paths[failed.Role] = ""
	}
}

// adopt puts lists in force for nodes that register from now on. RefreshNodes applies them to the others.
func (p *process) adopt(lists *hosts.Lists) {
	p.lists.Store(lists)
	p.Log.Info("the lists of nodes have been read", "included", lists.Include.Len(), "excluded", lists.Exclude.Len())
}

// Bounds of the look-up of addresses.
const (
	maxLookups     = 32               // at a time
	lookupPatience = 10 * time.Second // all look-ups of a refresh together
)

// nodeAddresses are the IP addresses of nodes' hosts, as far as the lists need them.
type nodeAddresses struct {
	lists  *hosts.Lists
	lookup func(ctx context.Context, host string) (string, error)
	before func(host string) string // the address when a node of the host registered, or ""; used if the look-up fails

	known           map[string]string // by host; "" if there is no address
	failed, unknown int               // hosts whose look-up failed, and those of them that have no address from before either
	example         error             // why one look-up failed
}

// of is the address of a host, or "" if it is not needed or not known.
func (a *nodeAddresses) of(host string) string { return a.known[host] }

// find looks up the addresses of the nodes' hosts that are needed and not known yet. When ctx ends the rest count as failed.
func (a *nodeAddresses) find(ctx context.Context, nodes []yarn.NodeID) {
	var wanted []string
	for _, n := range nodes {
		if _, ok := a.known[n.Host]; !ok && a.lists.NeedAddress(n.Host) {
			a.known[n.Host] = ""
			wanted = append(wanted, n.Host)
		}
	}
	found, errs := make([]string, len(wanted)), make([]error, len(wanted))
	next := make(chan int)
	var lookups sync.WaitGroup
	for range min(maxLookups, len(wanted)) {
		lookups.Go(func() {
			for i := range next {
				found[i], errs[i] = a.lookup(ctx, wanted[i])
			}
		})
	}
	for i := range wanted {
		next <- i
	}
	close(next)
	lookups.Wait()
	for i, host := range wanted {
		if errs[i] != nil {
			a.failed++
			a.example = errs[i]
			if found[i] = a.before(host); found[i] == "" {
				a.unknown++
			}
		}
		a.known[host] = found[i]
	}
}

// warn logs how many look-ups failed, if any.
func (a *nodeAddresses) warn(log *slog.Logger) {
	if a.failed > 0 {
		log.Warn("the addresses of some hosts cannot be looked up: their nodes' addresses at registration are used instead; where there is none, entries by address do not apply",
			"hosts", a.failed, "withoutAddress", a.unknown, "of", len(a.known), "error", a.example)
	}
}

// lookUp returns an address of a host, of IPv4 if the host has one.
func lookUp(ctx context.Context, host string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", err
	}
	best := netip.Addr{}
	for _, a := range found {
		if a = a.Unmap(); !best.IsValid() || a.Is4() && !best.Is4() {
			best = a
		}
	}
	if !best.IsValid() {
		return "", fmt.Errorf("%s has no address", host)
	}
	return best.String(), nil
}
