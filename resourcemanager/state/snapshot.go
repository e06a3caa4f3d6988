package state

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/yarn"
)

// Snapshot is everything that was durable when a store was loaded. Lists are
// ordered by key. Every attempt's application is present.
type Snapshot struct {
	// Epoch is the epoch of this start of the ResourceManager, and of no other: the
	// store already has the next one for the next start. It is part of container ids.
	Epoch int64

	Applications       []*Application // there are many, and they are large
	Made               []any          // what store.Options.Read returned for each application; empty without such a function
	Coming             Coming         // applications that are not in the list
	Attempts           []Attempt
	MasterKeys         MasterKeys // no bytes: none were stored
	DelegationKeys     []DelegationKey
	DelegationTokens   []DelegationToken
	DelegationSequence int32
	NodeDeadlines      []NodeDeadline
	Config             ConfigVersion // version 0: none was stored
	Labels             Labels
	Reservations       []Reservation

	// Quarantined are records that could not be used. They stay in the store
	// as they are until overwritten or removed, and never stop a start.
	Quarantined []Quarantined
}

// Coming are applications that are still being read when the snapshot is there; see store.Stream.
type Coming struct {
	Count         int
	LastTimestamp int64 // the greatest cluster timestamp of them
}

// Quarantined is a record that was left out of a snapshot.
type Quarantined struct {
	Key    Key
	Reason string
}

// Add adds a record that was read. Finish must be called after the last one.
func (s *Snapshot) Add(r Record) {
	switch r := r.(type) {
	case Application:
		s.Applications = append(s.Applications, &r)
	case Attempt:
		s.Attempts = append(s.Attempts, r)
	case MasterKeys:
		s.MasterKeys = r
	case DelegationKey:
		s.DelegationKeys = append(s.DelegationKeys, r)
	case DelegationToken:
		s.DelegationTokens = append(s.DelegationTokens, r)
	case DelegationSequence:
		s.DelegationSequence = r.Last
	case NodeDeadline:
		s.NodeDeadlines = append(s.NodeDeadlines, r)
	case ConfigVersion:
		s.Config = r
	case Labels:
		s.Labels = r
	case Reservation:
		s.Reservations = append(s.Reservations, r)
	}
}

// Quarantine enters that the record with that key could not be used, and why.
func (s *Snapshot) Quarantine(key Key, reason string) {
	s.Quarantined = append(s.Quarantined, Quarantined{key, reason})
}

// Finish sorts the lists, quarantines attempts without an application unless applications are coming, and raises the
// sequence number to that of the last known token if it is smaller.
func (s *Snapshot) Finish() {
	order := orderBy(s.Applications, func(a **Application) yarn.ApplicationID { return (*a).ID })
	s.Applications = reordered(s.Applications, order)
	if len(s.Made) > 0 {
		s.Made = reordered(s.Made, order)
	}
	s.Attempts = reordered(s.Attempts, orderBy(s.Attempts, func(a *Attempt) yarn.AttemptID { return a.ID }))
	slices.SortFunc(s.DelegationKeys, func(a, b DelegationKey) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.DelegationTokens, func(a, b DelegationToken) int { return cmp.Compare(a.Sequence, b.Sequence) })
	slices.SortFunc(s.NodeDeadlines, func(a, b NodeDeadline) int { return a.Node.Compare(b.Node) })
	slices.SortFunc(s.Reservations, func(a, b Reservation) int { return a.ID.Compare(b.ID) })
	if s.Coming.Count == 0 {
		s.Attempts = slices.DeleteFunc(s.Attempts, s.orphaned)
	}
	if n := len(s.DelegationTokens); n > 0 {
		// No number may be used twice, even if the record of the sequence is quarantined.
		s.DelegationSequence = max(s.DelegationSequence, s.DelegationTokens[n-1].Sequence)
	}
	slices.SortFunc(s.Quarantined, func(a, b Quarantined) int {
		return cmp.Or(cmp.Compare(a.Key.Table, b.Key.Table), cmp.Compare(a.Key.Name, b.Key.Name))
	})
}

// place is the index of a record in a list.
type place[ID any] struct {
	id ID
	at int
}

// orderBy returns the places of records in the order of their ids. It moves no records, which may be large.
func orderBy[R any, ID interface{ Compare(ID) int }](list []R, id func(*R) ID) []place[ID] {
	order := make([]place[ID], len(list))
	for i := range list {
		order[i] = place[ID]{id(&list[i]), i}
	}
	slices.SortFunc(order, func(a, b place[ID]) int { return a.id.Compare(b.id) })
	return order
}

// reordered returns the list in the given order.
func reordered[R, ID any](list []R, order []place[ID]) []R {
	if len(list) == 0 {
		return list
	}
	out := make([]R, len(list))
	for i, p := range order {
		out[i] = list[p.at]
	}
	return out
}

// orphaned quarantines an attempt whose application is not in the snapshot.
func (s *Snapshot) orphaned(a Attempt) bool {
	_, found := slices.BinarySearchFunc(s.Applications, a.ID.Application,
		func(app *Application, id yarn.ApplicationID) int { return app.ID.Compare(id) })
	if !found {
		s.Quarantine(a.Key(), a.Orphaned())
	}
	return !found
}

// Orphaned is why an attempt is quarantined whose application is not there.
func (r *Attempt) Orphaned() string {
	return fmt.Sprintf("its application %s is missing or quarantined", r.ID.Application)
}

// Started is the cluster timestamp for a ResourceManager that starts at this moment, in milliseconds since 1970, with what is in the
// snapshot. However clocks were set meanwhile it is later than that of any application, and also another one than that of the start before,
// of which no application may have been stored: no application id comes again.
func (s *Snapshot) Started(now int64) int64 {
	for i := range s.Applications {
		if last := s.Applications[i].ID.ClusterTimestamp; now <= last {
			now = last + 1 + s.Epoch
		}
	}
	if last := s.Coming.LastTimestamp; s.Coming.Count > 0 && now <= last {
		now = last + 1 + s.Epoch
	}
	return now
}

// Empty tells whether nothing is stored but an epoch.
func (s *Snapshot) Empty() bool {
	return len(s.Ops()) == 0 && len(s.Quarantined) == 0
}

// Ops are the changes that make an empty store have what the snapshot has, except for the epoch and what is quarantined. An application
// stands before its attempts.
func (s *Snapshot) Ops() (ops []Op) {
	if len(s.MasterKeys.Current.Bytes) > 0 {
		ops = append(ops, Put(s.MasterKeys))
	}
	ops = puts(ops, s.DelegationKeys)
	if s.DelegationSequence != 0 {
		ops = append(ops, Put(DelegationSequence{Last: s.DelegationSequence}))
	}
	ops = puts(ops, s.DelegationTokens)
	for _, a := range s.Applications {
		ops = append(ops, Put(*a))
	}
	ops = puts(ops, s.Attempts)
	ops = puts(ops, s.Reservations)
	ops = puts(ops, s.NodeDeadlines)
	if s.Config.Version != 0 {
		ops = append(ops, Put(s.Config))
	}
	if len(s.Labels.Known)+len(s.Labels.Nodes) > 0 {
		ops = append(ops, Put(s.Labels))
	}
	return ops
}

func puts[R Record](ops []Op, records []R) []Op {
	for _, r := range records {
		ops = append(ops, Put(r))
	}
	return ops
}

// DropUnknown drops what the records have that is not known here, for a store whose form is another one.
func (s *Snapshot) DropUnknown() {
	s.MasterKeys.Unknown = nil
	for i := range s.Applications {
		s.Applications[i].Unknown = nil
	}
	for i := range s.Attempts {
		s.Attempts[i].Unknown = nil
	}
	for i := range s.DelegationKeys {
		s.DelegationKeys[i].Unknown = nil
	}
	for i := range s.DelegationTokens {
		s.DelegationTokens[i].Unknown = nil
	}
	for i := range s.Reservations {
		s.Reservations[i].Unknown = nil
	}
}
