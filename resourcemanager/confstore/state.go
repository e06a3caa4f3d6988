package confstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Store is where a configuration is kept. It has one user at a time.
type Store interface {
	// Load is what is kept; Version 0 if nothing is. The caller may change it.
	Load(ctx context.Context) (*State, error)
	// Commit replaces what is kept, durably, as a whole or not at all. was is the version that must be there; another one is a *ConflictError. An
	// error that is neither this nor ErrFenced leaves open which of the two is kept; Load tells.
	Commit(ctx context.Context, was int64, next *State) error
	Close() error
}

// ErrFenced is the outcome of a commit when another ResourceManager has taken over.
var ErrFenced = errors.New("another ResourceManager has taken over the configuration store")

// ConflictError tells that somebody else has changed the configuration.
type ConflictError struct{ Expected, Found int64 }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("the configuration has version %d by now, not %d: look at it again, then repeat the change", e.Found, e.Expected)
}

// Bounds of what is kept.
const (
	MaxHistory = 1000    // accepted changes that can be gone back to
	MaxValues  = 200_000 // properties of one configuration
)

// State is all that is kept.
type State struct {
	Version  int64
	Values   map[string]string // none is empty: that is as good as not there
	History  []Version         // accepted changes, the oldest first; the last one made Version
	Attempts []Attempt         // what was asked for, refused changes too, the oldest first
	Trial    *Trial            // nil: nothing is to be confirmed
	// File is a digest of the queue file when it was looked at last (Digest). In file mode it shows whether somebody has edited it since.
	File string
}

// Version is an accepted change. Times are milliseconds since 1970.
type Version struct {
	Number  int64    `json:"version"`
	User    string   `json:"user"`
	At      int64    `json:"time"`
	Source  string   `json:"source"` // one of the Sources
	Reason  string   `json:"reason,omitempty"`
	Changes []Change `json:"changes,omitempty"`
}

// Where changes come from.
const (
	FromFile     = "file"     // the queue file was read
	FromAPI      = "api"      // add, remove, update queues or properties
	FromApply    = "apply"    // a whole configuration was given
	FromRollback = "rollback" // an earlier version was taken again
	FromFormat   = "format"   // the queue file was read again instead of what was kept
	FromExpiry   = "expiry"   // a change was not confirmed in time
)

// Change is one property that was changed; nil: it was not set.
type Change struct {
	Name string  `json:"name"`
	Old  *string `json:"old,omitempty"`
	New  *string `json:"new,omitempty"`
}

// Attempt is a change that somebody asked for. A nil value removes the property.
type Attempt struct {
	User    string             `json:"user"`
	At      int64              `json:"time"`
	Updates map[string]*string `json:"updates"`
	Refused string             `json:"refused,omitempty"` // why; empty: it was accepted
}

// Trial is an accepted change that is taken back unless it is confirmed.
type Trial struct {
	Version  int64  `json:"version"` // the change
	Before   int64  `json:"before"`  // the version that is taken again
	User     string `json:"user"`
	Deadline int64  `json:"deadline"` // milliseconds since 1970
}

// Clone is a copy that shares nothing that changes.
func (s *State) Clone() *State {
	c := *s
	c.Values = maps.Clone(s.Values)
	c.History = slices.Clone(s.History)
	c.Attempts = slices.Clone(s.Attempts)
	if s.Trial != nil {
		t := *s.Trial
		c.Trial = &t
	}
	return &c
}

// Accept makes values the next version.
func (s *State) Accept(values map[string]string, v Version) {
	v.Number = s.Version + 1
	v.Changes = Diff(s.Values, values)
	s.Version, s.Values = v.Number, maps.Clone(values)
	s.History = append(s.History, v)
	if extra := len(s.History) - MaxHistory; extra > 0 {
		s.History = slices.Clone(s.History[extra:])
	}
}

// Note adds an attempt to the log, which keeps the last ones, at most so many.
func (s *State) Note(a Attempt, most int) {
	s.Attempts = append(s.Attempts, a)
	if extra := len(s.Attempts) - max(most, 0); extra > 0 {
		s.Attempts = slices.Clone(s.Attempts[extra:])
	}
}

// At is the configuration of an earlier version.
func (s *State) At(version int64) (map[string]string, error) {
	first := s.Version
	if len(s.History) > 0 {
		first = s.History[0].Number
	}
	if version < first || version > s.Version {
		return nil, fmt.Errorf("version %d is not kept: there are %d to %d", version, first, s.Version)
	}
	out := maps.Clone(s.Values)
	for i := len(s.History) - 1; i >= 0 && s.History[i].Number > version; i-- {
		for _, c := range s.History[i].Changes {
			if c.Old == nil {
				delete(out, c.Name)
			} else {
				out[c.Name] = *c.Old
			}
		}
	}
	return out, nil
}

// Diff is what leads from one configuration to another, by name.
func Diff(from, to map[string]string) []Change {
	var out []Change
	for name, old := range from {
		if now, ok := to[name]; !ok {
			out = append(out, Change{Name: name, Old: &old})
		} else if now != old {
			out = append(out, Change{Name: name, Old: &old, New: &now})
		}
	}
	for name, now := range to {
		if _, ok := from[name]; !ok {
			out = append(out, Change{Name: name, New: &now})
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

// Digest identifies a configuration.
func Digest(values map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(h, "%d %s %d %s\n", len(name), name, len(values[name]), values[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sound fails if a state cannot have been written by this package.
func (s *State) sound() error {
	if n := len(s.History); n > 0 && s.History[n-1].Number != s.Version {
		return fmt.Errorf("the last change in the history made version %d, but the configuration has version %d", s.History[n-1].Number, s.Version)
	}
	for i := 1; i < len(s.History); i++ {
		if s.History[i].Number != s.History[i-1].Number+1 {
			return fmt.Errorf("the history has version %d right after %d", s.History[i].Number, s.History[i-1].Number)
		}
	}
	return nil
}
