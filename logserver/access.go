package logserver

import (
	"context"
	"log/slog"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/groups"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/yarn"
)

// groupWait bounds how long a request waits for a user's groups.
const groupWait = 10 * time.Second

// viewApp is the kind of access that reading logs takes.
const viewApp = "VIEW_APP"

// access says who may see what.
type access struct {
	enabled bool // yarn.acl.enable
	admins  yarn.ACL
	owner   string // whom the daemon runs as: always an administrator
	groups  *groups.Groups
}

func newAccess(s conf.Security, owner string, log *slog.Logger) (access, error) {
	found, err := groups.New(groups.Options{Mapping: s.GroupMapping, Static: s.StaticGroups, Timeout: s.GroupTimeout, CacheFor: s.GroupCache,
		NegativeFor: s.GroupNegativeCache, Log: log})
	return access{enabled: s.ACLs, admins: s.Admin, owner: owner, groups: found}, err
}

// isAdmin tells whether the caller is an administrator (yarn.admin.acl).
func (a *access) isAdmin(c webgate.Caller) bool {
	return !c.Anonymous && c.User == a.owner || a.allows(a.admins, c)
}

func (a *access) allows(l yarn.ACL, c webgate.Caller) bool {
	if l.Allows(c.User, "", nil) { // known without groups, which may not be found
		return true
	}
	if len(l.Groups()) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), groupWait)
	defer cancel()
	list, err := a.groups.Of(ctx, c.User)
	return err == nil && l.Allows(c.User, "", list)
}

// mayView tells whether the caller may read logs with that owner and those lists, as they stand in the
// file itself: the owner, administrators, and whom VIEW_APP names. Without yarn.acl.enable everybody may.
func (a *access) mayView(c webgate.Caller, owner string, lists []aggregated.ACL) bool {
	if !a.enabled || !c.Anonymous && owner != "" && c.User == owner || a.isAdmin(c) {
		return true
	}
	for _, l := range lists {
		if l.Access == viewApp {
			return a.allows(yarn.ParseACL(l.List), c)
		}
	}
	return false
}
