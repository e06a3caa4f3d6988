// Package memory is a state store that keeps its records in memory. A Disk outlives the
// stores opened on it, so that tests and simulations can crash a ResourceManager, or run
// two, and look at what is stored.
package memory

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// Disk is where memory stores keep their records. It is safe for concurrent use.
type Disk struct {
	mu     sync.Mutex
	values map[state.Key][]byte
	names  map[string]map[string]bool // attempt names by state.AttemptPrefix
	epoch  int64                      // of the next load
	loaded bool
	owner  *memory // the store that was loaded last; all others are fenced
}

// NewDisk returns an empty disk.
func NewDisk() *Disk {
	return &Disk{values: map[state.Key][]byte{}, names: map[string]map[string]bool{}}
}

// Open returns a store on the disk. Its Load fences the store that was in use.
func (d *Disk) Open(o store.Options) store.Store {
	return &memory{disk: d, options: o.WithDefaults()}
}

// New returns a store with a disk of its own.
func New(o store.Options) store.Store { return NewDisk().Open(o) }

// Overwrite replaces the stored bytes of a record by any others, for tests of damaged
// stores.
func (d *Disk) Overwrite(key state.Key, value []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(key, value)
}

// Values is a copy of the keys and bytes stored.
func (d *Disk) Values() map[state.Key][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.values)
}

// Value is the stored bytes of a record, which must not be changed; nil: there are none.
func (d *Disk) Value(key state.Key) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.values[key]
}

type memory struct {
	disk    *Disk
	options store.Options
	loaded  bool // guarded by disk.mu, as is closed
	closed  bool
}

func (m *memory) Load(ctx context.Context) (*state.Snapshot, error) {
	d := m.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case m.closed:
		return nil, store.ErrClosed
	case m.loaded:
		return nil, store.ErrLoaded
	case ctx.Err() != nil:
		return nil, &store.UnavailableError{Err: context.Cause(ctx)}
	}
	if !d.loaded {
		d.epoch, d.loaded = m.options.Epochs.Base, true
	}
	reader := m.options.Reader(d.epoch)
	d.epoch = m.options.Epochs.Next(d.epoch)
	d.owner, m.loaded = m, true
	for key, value := range d.values {
		reader.Add(key, value)
	}
	return reader.Snapshot(), nil
}

func (m *memory) Commit(ctx context.Context, ops []state.Op) error {
	changes, err := m.options.Changes(ops)
	if err != nil {
		return err
	}
	d := m.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case m.closed:
		return store.ErrClosed
	case !m.loaded:
		return store.ErrNotLoaded
	case d.owner != m:
		return store.ErrFenced
	case ctx.Err() != nil:
		return &store.UnavailableError{Err: context.Cause(ctx)}
	}
	for _, c := range changes {
		d.apply(c)
	}
	return nil
}

func (m *memory) Close() error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	m.closed = true
	return nil
}

func (d *Disk) apply(c store.Change) {
	switch {
	case c.Value != nil:
		d.put(c.Key, c.Value)
	case c.Prefix:
		for name := range d.names[c.Key.Name] {
			delete(d.values, state.Key{Table: c.Key.Table, Name: name})
		}
		delete(d.names, c.Key.Name)
	default:
		d.remove(c.Key)
	}
}

func (d *Disk) put(key state.Key, value []byte) {
	d.values[key] = value
	if key.Table == state.Attempts {
		p := prefix(key.Name)
		if d.names[p] == nil {
			d.names[p] = map[string]bool{}
		}
		d.names[p][key.Name] = true
	}
}

func (d *Disk) remove(key state.Key) {
	delete(d.values, key)
	if key.Table == state.Attempts {
		p := prefix(key.Name)
		delete(d.names[p], key.Name)
		if len(d.names[p]) == 0 {
			delete(d.names, p)
		}
	}
}

// prefix is what state.AttemptPrefix gives for the attempt's application.
func prefix(attempt string) string { return attempt[:strings.LastIndexByte(attempt, '_')+1] }
