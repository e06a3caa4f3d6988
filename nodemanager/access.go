package nodemanager

import (
	"context"
	"time"

	"github.com/heddle-project/heddle/internal/groups"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// groupWait bounds how long a request waits for a user's groups.
const groupWait = 10 * time.Second

// access says who may see what.
type access struct {
	enabled bool // yarn.acl.enable
	admins  yarn.ACL
	owner   string // whom the daemon runs as: always an administrator
	groups  *groups.Groups
}

func (d *Daemon) prepareAccess() error {
	s := &d.settings.Security
	found, err := groups.New(groups.Options{Mapping: s.GroupMapping, Static: s.StaticGroups, Timeout: s.GroupTimeout, CacheFor: s.GroupCache,
		NegativeFor: s.GroupNegativeCache, Log: d.Log})
	d.access = access{enabled: s.ACLs, admins: s.Admin, owner: d.User, groups: found}
	return err
}

// isAdmin tells whether the caller is an administrator (yarn.admin.acl).
func (a *access) isAdmin(c webgate.Caller) bool {
	return !c.Anonymous && c.User == a.owner || a.allows(a.admins, c)
}

func (a *access) allows(l yarn.ACL, c webgate.Caller) bool {
	if l.Allows(c.User, "", nil) {
		return true // whatever groups there are, and whether they can be found or not
	}
	if len(l.Groups()) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), groupWait)
	defer cancel()
	list, err := a.groups.Of(ctx, c.User)
	return err == nil && l.Allows(c.User, "", list)
}

// MayView implements web.Source: owner, administrators, and whom the application allows.
func (d *Daemon) MayView(c webgate.Caller, app view.Application) bool {
	a := &d.access
	if !a.enabled || !c.Anonymous && c.User == app.User || a.isAdmin(c) {
		return true
	}
	known, ok := d.application(app.ID)
	text := known.ACLs["VIEW_APP"]
	return ok && text != "" && a.allows(yarn.ParseACL(text), c)
}
