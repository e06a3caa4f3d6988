package client

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// books are a master's outstanding requests to the ResourceManager, and which
// of them have not been sent yet.
type books struct {
	wants    map[int64]*want
	releases map[yarn.ContainerID]bool // until their ends are reported
	avoided  map[string]bool           // blacklisted hosts and racks
	changes  map[yarn.ContainerID]Change
	url      string // of the master's page

	untold untold
}

// want is a request that is not over.
type want struct {
	Request
	told   bool // the ResourceManager has accepted it at least once
	before bool // some were still wanted after it was last told
}

// untold are the keys of what the next heartbeat has to send.
type untold struct {
	wants    map[int64]bool
	releases map[yarn.ContainerID]bool
	avoid    map[string]bool // and places that are avoided no more
	changes  map[yarn.ContainerID]bool
	url      bool
}

// sent is what a heartbeat carried, so that a failed one can be restored.
type sent = untold

func noneUntold() untold {
	return untold{wants: map[int64]bool{}, releases: map[yarn.ContainerID]bool{}, avoid: map[string]bool{}, changes: map[yarn.ContainerID]bool{}}
}

func newBooks() books {
	return books{wants: map[int64]*want{}, releases: map[yarn.ContainerID]bool{}, avoided: map[string]bool{},
		changes: map[yarn.ContainerID]Change{}, untold: noneUntold()}
}

// Want sets how many containers of a kind are wanted. Each grant lowers the
// count. Containers that are granted while the count is being changed may come
// in addition: release those that are too many. If the ResourceManager refuses
// a request, every heartbeat fails until the request is ended with a Count of
// 0.
func (m *Master) Want(r Request) error {
	if err := r.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.books.wants[r.ID]
	switch {
	case r.Count == 0 && (w == nil || !w.told): // this also drops a request that the ResourceManager refuses
		delete(m.books.wants, r.ID)
		delete(m.books.untold.wants, r.ID)
		return nil
	case w == nil:
		m.books.wants[r.ID] = &want{Request: r}
	case !w.alike(&r):
		return fmt.Errorf("request %d is under way: end it and use another id for another size or place", r.ID)
	default:
		w.Count = r.Count
	}
	m.books.untold.wants[r.ID] = true
	return nil
}

// Release gives containers back. Their ends are reported like those of other
// containers, with yarn.ExitAborted.
func (m *Master) Release(ids ...yarn.ContainerID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		m.books.releases[id], m.books.untold.releases[id] = true, true
		m.books.drop(id)
	}
}

// Avoid adds hosts and racks to the blacklist, or with avoid false removes
// them.
func (m *Master) Avoid(avoid bool, places ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range places {
		m.books.untold.avoid[p] = true
		if avoid {
			m.books.avoided[p] = true
		} else {
			delete(m.books.avoided, p)
		}
	}
}

// Change asks for another size or execution type of a container; a newer change
// of the same container replaces it. The answer is among Changed or Unchanged of
// an Allocation.
func (m *Master) Change(c Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.books.changes[c.Container], m.books.untold.changes[c.Container] = c, true
}

// SetTrackingURL changes where the master's page is.
func (m *Master) SetTrackingURL(url string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.books.url, m.books.untold.url = url, true
}

// write puts what is untold into a heartbeat and returns it.
func (b *books) write(in *pb.AllocateRequest) sent {
	told := b.untold
	b.untold = noneUntold()
	for _, id := range slices.Sorted(maps.Keys(told.wants)) {
		in.Ask = append(in.Ask, b.wants[id].rows()...)
	}
	for id := range told.releases {
		in.Release = append(in.Release, toContainerID(id))
	}
	if len(told.avoid) > 0 {
		in.BlacklistRequest = &pb.ResourceBlacklistRequest{}
	}
	for p := range told.avoid {
		if b.avoided[p] {
			in.BlacklistRequest.BlacklistAdditions = append(in.BlacklistRequest.BlacklistAdditions, p)
		} else {
			in.BlacklistRequest.BlacklistRemovals = append(in.BlacklistRequest.BlacklistRemovals, p)
		}
	}
	for id := range told.changes {
		c := b.changes[id]
		in.UpdateRequests = append(in.UpdateRequests, c.message())
	}
	if told.url {
		url := b.url
		in.TrackingUrl = &url
	}
	return told
}

// restore marks what a failed heartbeat carried as untold again.
func (b *books) restore(told sent) {
	for id := range told.wants {
		if b.wants[id] != nil { // not ended meanwhile
			b.untold.wants[id] = true
		}
	}
	for id := range told.releases {
		b.untold.releases[id] = true
	}
	for p := range told.avoid {
		b.untold.avoid[p] = true
	}
	for id := range told.changes {
		if _, ok := b.changes[id]; ok {
			b.untold.changes[id] = true
		}
	}
	b.untold.url = b.untold.url || told.url
}

// again marks everything as untold.
func (b *books) again() {
	all := untold{wants: map[int64]bool{}, releases: b.releases, avoid: b.avoided, changes: map[yarn.ContainerID]bool{}}
	for id := range b.wants {
		all.wants[id] = true
	}
	for id := range b.changes {
		all.changes[id] = true
	}
	b.restore(all)
}

// apply notes what an answer has changed.
func (b *books) apply(a *Allocation, told sent) {
	for _, g := range a.Granted {
		w := b.wants[g.RequestID]
		if w == nil {
			continue
		}
		if w.Count > 0 {
			w.Count--
		}
		if told.wants[g.RequestID] && w.before {
			// The grant was made before the ResourceManager had the new count, which did
			// not include it: send the count again.
			b.untold.wants[g.RequestID] = true
		}
	}
	for id := range told.wants {
		if w := b.wants[id]; w != nil {
			w.told, w.before = true, w.Count > 0
		}
	}
	for id, w := range b.wants {
		if w.Count == 0 && !b.untold.wants[id] {
			delete(b.wants, id)
		}
	}
	for _, c := range a.Completed {
		delete(b.releases, c.ID)
		b.drop(c.ID)
	}
	for _, c := range a.Changed {
		b.made(c.Grant.ID)
	}
	for _, c := range a.Unchanged {
		b.made(c.Container)
	}
}

// made ends a change, unless a newer one has replaced it meanwhile.
func (b *books) made(id yarn.ContainerID) {
	if !b.untold.changes[id] {
		delete(b.changes, id)
	}
}

// drop forgets the change of a container that is gone.
func (b *books) drop(id yarn.ContainerID) {
	delete(b.changes, id)
	delete(b.untold.changes, id)
}
