package resourcemanager

import (
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
)

// following is what a standby has of the state store. Terms begin with it.
type following struct {
	mu   sync.Mutex
	copy store.Follower // nil: nothing is followed
}

// set has another copy followed, or none, and gives the former.
func (f *following) set(to store.Follower) store.Follower {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.copy
	f.copy = to
	return was
}

func (f *following) get() store.Follower {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.copy
}

// follow keeps a copy of the state store from now on, where there is one that can be followed, so that this ResourceManager need not read
// it all when it takes over. The caller has d.change.
func (d *Daemon) follow() {
	if !d.settings.HA.Enabled || !keeps(&d.settings.Recovery) || d.ctx.Err() != nil {
		return
	}
	r, err := d.records(d.site, d.settings, store.Options{Types: d.types})
	if err == nil {
		var f store.Follower
		if f, err = r.follow(); f != nil {
			d.unfollow(f)
		}
	}
	if err != nil { // whoever takes over says it, too
		d.Log.Warn("the standby keeps no copy of the state store", "error", err)
	}
}

// unfollow ends the copy that there is, in favor of another one or of none.
func (d *Daemon) unfollow(next store.Follower) {
	if f := d.following.set(next); f != nil {
		if err := f.Close(); err != nil {
			d.Log.Warn("cannot end the copy of the state store", "error", err)
		}
	}
}

// follow begins to follow the store; nil: it cannot be followed.
func (r *records) follow() (store.Follower, error) {
	if r.kind != storeZooKeeper {
		return nil, nil
	}
	return zookeeper.Follow(r.zookeeper)
}

// with has the store begin with a copy.
func (r *records) with(copy store.Follower) {
	if f, ok := copy.(*zookeeper.Follower); ok {
		r.zookeeper.Follower = f
	}
}

// copyNow tells what this one has of the state store, while it is a standby.
func (d *Daemon) copyNow() *access.Copy {
	f := d.following.get()
	if f == nil {
		return nil
	}
	c := access.Copy(f.Copy())
	return &c
}
