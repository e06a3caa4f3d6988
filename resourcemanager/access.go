package resourcemanager

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/groups"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/yarn"
)

// groupWait bounds how long a call waits for a user's groups.
const groupWait = 10 * time.Second

// rights say who may do what. A refresh swaps the rules; each question is answered by one set of them.
type rights struct {
	rules  atomic.Pointer[rules]
	groups *groups.Groups
	log    *slog.Logger
}

// queueRights are rights and the lists of queues, which are a term's.
type queueRights struct {
	*rights
	schedule atomic.Pointer[config.Config] // in force
}

type rules struct {
	enabled bool // yarn.acl.enable
	admins  yarn.ACL
	owner   string // whom the daemon runs as: always an administrator
	proxies []conf.ProxyUser
}

func newRules(rm *conf.ResourceManager, owner string) *rules {
	return &rules{enabled: rm.Security.ACLs, admins: rm.Security.Admin, owner: owner, proxies: rm.Security.ProxyUsers}
}

// KnownGroups are the user's groups if that is known without a look-up.
func (r *rights) KnownGroups(user string) ([]string, bool) { return r.groups.Known(user) }

// Groups are the user's groups, the primary one first; none when they cannot be found.
func (r *rights) Groups(user string) []string {
	if list, ok := r.groups.Known(user); ok {
		return list
	}
	ctx, cancel := context.WithTimeout(context.Background(), groupWait)
	defer cancel()
	list, err := r.groups.Of(ctx, user)
	if err != nil {
		r.log.Debug("no groups", "user", user, "error", err)
	}
	return list
}

// IsAdmin tells whether the caller is an administrator (yarn.admin.acl).
func (r *rights) IsAdmin(c *ipc.Identity) bool {
	return r.isAdmin(r.rules.Load(), c)
}

func (r *rights) isAdmin(x *rules, c *ipc.Identity) bool {
	return c.User == x.owner || x.admins.Allows(c.User, c.RealUser, r.groupsFor(x.admins, c.User))
}

// groupsFor spares looking groups up where a list names none.
func (r *rights) groupsFor(l yarn.ACL, user string) []string {
	if l.All() || len(l.Groups()) == 0 {
		return nil
	}
	return r.Groups(user)
}

// MayView tells whether the caller may see the inside of an application.
func (r *queueRights) MayView(c *ipc.Identity, a *view.Application) bool {
	return r.may(c, a, a.ViewACL)
}

// mayViewAll tells whether the caller may see the inside of every application.
func (r *rights) mayViewAll(c *ipc.Identity) bool {
	x := r.rules.Load()
	return !x.enabled || r.isAdmin(x, c)
}

// MayModify tells whether the caller may kill, move or change an application.
func (r *queueRights) MayModify(c *ipc.Identity, a *view.Application) bool {
	return r.may(c, a, a.ModifyACL)
}

func (r *queueRights) may(c *ipc.Identity, a *view.Application, text string) bool {
	x := r.rules.Load()
	if !x.enabled || c.User == a.User || r.isAdmin(x, c) {
		return true
	}
	if text != "" {
		if l := yarn.ParseACL(text); l.Allows(c.User, c.RealUser, r.groupsFor(l, c.User)) {
			return true
		}
	}
	return r.mayAdminister(c, a.Queue)
}

// Allow implements ipc.ProxyRules: a real user may act for another one if the
// address and either the user or one of its groups is allowed.
func (r *rights) Allow(realUser, user string, from netip.Addr) error {
	for _, p := range r.rules.Load().proxies {
		if p.User != realUser {
			continue
		}
		if !p.Hosts.Contains(from) && !resolvesTo(p.Hosts.Names, from) {
			return fmt.Errorf("Unauthorized connection for super-user: %s from IP %s: see hadoop.proxyuser.%s.hosts", realUser, from, realUser)
		}
		if p.Allowed.Allows(user, "", r.groupsFor(p.Allowed, user)) {
			return nil
		}
		break
	}
	return fmt.Errorf("User: %s is not allowed to impersonate %s: see hadoop.proxyuser.%s.users and .groups", realUser, user, realUser)
}

// resolvesTo tells whether one of the names is that of the address.
func resolvesTo(names []string, from netip.Addr) bool {
	ctx, cancel := context.WithTimeout(context.Background(), resolveWait)
	defer cancel()
	return slices.ContainsFunc(names, func(name string) bool {
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		return err == nil && slices.ContainsFunc(found, func(a netip.Addr) bool { return a.Unmap() == from.Unmap() })
	})
}

// QueueRights are the caller's rights on queues.
func (r *queueRights) QueueRights(c *ipc.Identity, paths []string) []client.Rights {
	out := make([]client.Rights, len(paths))
	x := r.rules.Load()
	for i, path := range paths {
		if !x.enabled {
			out[i] = client.Rights{Submit: true, Administer: true}
			continue
		}
		out[i] = client.Rights{Submit: r.listedForSubmit(c, path), Administer: r.mayAdminister(c, path)}
	}
	return out
}

// mayAdminister walks from the queue to the root: the right on any of them will
// do. A queue that the configuration does not know, because it was
// created on demand or is gone, has the rights of the nearest one above it.
func (r *queueRights) mayAdminister(c *ipc.Identity, path string) bool {
	return r.onQueue(path, func(q *queue.Settings) bool { return q.Admin.Allows(c.User, c.RealUser, r.Groups(c.User)) })
}

// listedForSubmit looks at the lists of submitters alone, as clients are told them: administrators may submit without being on any.
func (r *queueRights) listedForSubmit(c *ipc.Identity, path string) bool {
	return r.onQueue(path, func(q *queue.Settings) bool { return q.Submit.Allows(c.User, c.RealUser, r.Groups(c.User)) })
}

func (r *queueRights) onQueue(path string, permits func(*queue.Settings) bool) bool {
	return slices.ContainsFunc(r.schedule.Load().Way(path), permits)
}
