package engine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// cache is what has been localized, or is about to be.
type cache struct {
	byNumber  map[int64]*resource
	byKey     map[[2]string]*resource // owner and key
	numbers   int64                   // the last resource's
	places    map[string]int64        // owner → n of its last numbered directory
	abandoned map[int64]abandoned     // fetches that nobody waits for, by number, in case they succeed all the same
}

type abandoned struct {
	dir string
	app yarn.ApplicationID // whose directories it is in; zero for those of users and of everybody
}

// resource is one file or directory of the cache.
type resource struct {
	state.Resource
	ready   bool
	refs    int          // containers that use it or wait for it
	waiting []*container // for its arrival
	retired bool         // nobody else gets it; it is deleted when its last container gives it up
}

func (c *cache) init() {
	c.byNumber, c.byKey, c.places, c.abandoned = map[int64]*resource{}, map[[2]string]*resource{}, map[string]int64{}, map[int64]abandoned{}
}

// shared tells whether a resource outlives applications: it is a user's or everybody's.
func (x *resource) shared() bool { return !strings.HasPrefix(x.Owner, "application/") }

// owned names whom a resource of that visibility belongs to.
func owned(v Visibility, user string, app yarn.ApplicationID) string {
	switch v {
	case Public:
		return ""
	case Private:
		return "user/" + user
	}
	return "application/" + app.String()
}

// want gives a container a resource, or has it wait for one.
func (e *Engine) want(c *container, r Request) {
	s := c.spec
	owner := owned(r.Visibility, s.User, s.ID.Attempt.Application)
	at := [2]string{owner, r.Key}
	x := e.cache.byKey[at]
	if x != nil && x.ready && !e.within(x.Dir) {
		e.retire(x)
		x = nil
	}
	if x == nil {
		x = e.fetch(c, owner, r)
	}
	c.uses = append(c.uses, use{x, r.Name, !x.ready})
	x.refs++
	if !x.ready {
		x.waiting = append(x.waiting, c)
		c.pending++
	}
}

// within tells whether a directory is on a good disk.
func (e *Engine) within(dir string) bool {
	return slices.ContainsFunc(e.disks.Local, func(local string) bool { return strings.HasPrefix(dir, local+"/") })
}

func (e *Engine) fetch(c *container, owner string, r Request) *resource {
	s := c.spec
	app := s.ID.Attempt.Application
	e.cache.numbers++
	place := max(e.cache.places[owner]+1, e.set.FirstPlace)
	e.cache.places[owner] = place
	at := strconv.FormatInt(place, 10)
	if r.Visibility != Application {
		at = e.set.Placed(place)
	}
	x := &resource{Resource: state.Resource{Number: e.cache.numbers, Owner: owner, Key: r.Key, Place: place,
		Dir: cacheDir(e.localDir(), r.Visibility, s.User, app) + "/" + at}}
	e.cache.byNumber[x.Number] = x
	e.cache.byKey[[2]string{owner, r.Key}] = x
	e.emit(Fetch{x.Number, r.Resource, r.Visibility, s.User, app, s.ID, s.Launch, x.Dir})
	return x
}

func (e *Engine) fetched(f Fetched) {
	if x, given := e.cache.abandoned[f.Number]; given {
		delete(e.cache.abandoned, f.Number)
		if f.Failure == "" {
			e.emit(Remove{Paths: []string{x.dir}})
		}
		if a := e.apps[x.app]; a != nil {
			e.clearIfOver(a)
		}
		return
	}
	x := e.cache.byNumber[f.Number]
	if x == nil || x.ready {
		return
	}
	waiting := x.waiting
	x.waiting = nil
	if f.Failure != "" {
		e.cache.drop(x)
		for _, c := range waiting {
			e.localizationFailed(c, f.Failure)
		}
		return
	}
	x.ready, x.Path, x.Bytes, x.Used = true, f.Path, f.Bytes, e.now.Wall
	e.save(state.PutResource{Resource: x.Resource})
	for _, c := range waiting {
		c.pending--
		e.maybeLaunch(c)
	}
}

// release gives up what a container uses or waits for.
func (e *Engine) release(c *container) {
	for _, u := range c.uses {
		x := u.resource
		x.refs--
		x.Used = e.now.Wall
		x.waiting = slices.DeleteFunc(x.waiting, func(w *container) bool { return w == c })
		switch {
		case x.refs > 0:
		case x.retired:
			e.emit(Remove{Paths: []string{x.Dir}})
		case !x.ready && e.cache.byNumber[x.Number] == x:
			e.cache.drop(x)
			e.cache.abandoned[x.Number] = abandoned{x.Dir, e.ownerOf(x, c)}
			e.emit(Abandon{x.Number})
		}
	}
	c.uses, c.pending = nil, 0
}

func (c *cache) drop(x *resource) {
	delete(c.byNumber, x.Number)
	delete(c.byKey, [2]string{x.Owner, x.Key})
}

// ownerOf is the application whose directories a resource of one of its containers lies in; zero if it is shared.
func (e *Engine) ownerOf(x *resource, c *container) yarn.ApplicationID {
	if x.Owner == owned(Application, c.spec.User, c.app.ID) {
		return c.app.ID
	}
	return yarn.ApplicationID{}
}

// fetchingFor tells whether an abandoned fetch may still write into an application's directories.
func (c *cache) fetchingFor(app yarn.ApplicationID) bool {
	for _, x := range c.abandoned { //tidy:unordered one is enough
		if x.app == app {
			return true
		}
	}
	return false
}

// gone is called when a resource is not where it was.
func (e *Engine) gone(path string) {
	for _, x := range e.cache.sorted() {
		if x.ready && x.Path == path {
			e.retire(x)
		}
	}
}

// retire takes a resource out of the cache. It is deleted once no container uses it.
func (e *Engine) retire(x *resource) {
	e.cache.drop(x)
	e.save(state.DropResource{Number: x.Number})
	if x.retired = x.refs > 0; !x.retired {
		e.emit(Remove{Paths: []string{x.Dir}})
	}
}

// dropOwned forgets what belonged to an application. Its directories are deleted as a whole.
func (e *Engine) dropOwned(owner string) {
	for _, x := range e.cache.sorted() {
		if x.Owner == owner {
			e.cache.drop(x)
			if x.ready {
				e.save(state.DropResource{Number: x.Number})
			}
		}
	}
	delete(e.cache.places, owner)
}

// sweepCache deletes unused public and private resources, those unused for longest first, until the others fit the target.
func (e *Engine) sweepCache() {
	var total int64
	var unused []*resource
	for _, x := range e.cache.sorted() {
		if x.ready && x.shared() {
			total += x.Bytes
			if x.refs == 0 {
				unused = append(unused, x)
			}
		}
	}
	swept := Swept{Before: total}
	slices.SortStableFunc(unused, func(a, b *resource) int { return cmp.Compare(a.Used, b.Used) })
	for _, x := range unused {
		if total <= e.set.CacheTarget {
			break
		}
		total -= x.Bytes
		if x.Owner == "" {
			swept.Public += x.Bytes
		} else {
			swept.Private += x.Bytes
		}
		e.retire(x)
	}
	e.emit(swept)
}

func (c *cache) sorted() []*resource {
	out := make([]*resource, 0, len(c.byNumber))
	for _, x := range c.byNumber { //tidy:unordered sorted below
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *resource) int { return cmp.Compare(a.Number, b.Number) })
	return out
}
