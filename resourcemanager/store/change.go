package store

import (
	"fmt"
	"slices"
	"sync"

	"github.com/heddle-project/heddle/internal/giveway"
	"github.com/heddle-project/heddle/internal/intern"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store/record"
)

// Change is a change of a store of keys and values: put a value, or remove a key or all
// keys with a prefix.
type Change struct {
	Key    state.Key
	Prefix bool   // remove all keys whose names begin with Key.Name
	Value  []byte // nil: remove
	Op     int    // of the batch, from 0
	Record state.Record
}

// Changes encodes a batch, in order, and checks it against the limits. Its errors are
// those of Commit: *PoisonError and *BatchError.
func (o Options) Changes(ops []state.Op) ([]Change, error) { return o.ChangesIn(nil, ops) }

// ChangesIn is Changes, but appends encoded records to *memory, which the caller may reuse once nobody needs the values of the changes. Only our own
// encoding (record.Codec) is written there; other codecs allocate.
func (o Options) ChangesIn(memory *[]byte, ops []state.Op) ([]Change, error) {
	if len(ops) > MaxOps {
		return nil, &BatchError{Ops: len(ops)}
	}
	encode := o.codec().Encode
	if own, ok := o.codec().(record.Codec); ok && memory != nil {
		encode = func(r state.Record) ([]byte, error) {
			b, err := own.AppendTo(*memory, r)
			if err != nil {
				return nil, err
			}
			value := b[len(*memory):len(b):len(b)]
			*memory = b
			return value, nil
		}
	}
	changes := make([]Change, 0, len(ops))
	total := 0
	for i, op := range ops {
		giveway.After(i)
		if err := op.Check(); err != nil {
			return nil, &PoisonError{Index: i, Err: err}
		}
		size := 0
		var err error
		had := len(changes)
		if changes, size, err = o.change(encode, changes, op); err != nil {
			return nil, &PoisonError{Index: i, Key: op.Record.Key(), Err: err}
		}
		for j := range changes[had:] {
			changes[had+j].Op, changes[had+j].Record = i, op.Record
		}
		if total += size; total > MaxBatchBytes {
			return nil, &BatchError{Ops: len(ops), Bytes: total}
		}
	}
	return changes, nil
}

func (o Options) change(encode func(state.Record) ([]byte, error), to []Change, op state.Op) (changes []Change, size int, err error) {
	key := op.Record.Key()
	if len(key.Name) > MaxName {
		return nil, 0, fmt.Errorf("name of %d bytes is longer than %d", len(key.Name), MaxName)
	}
	switch op.Kind {
	case state.OpPut:
		value, err := encode(op.Record)
		if err != nil {
			return nil, 0, err
		}
		if len(value) > o.MaxRecord {
			return nil, 0, &SizeError{Size: len(value), Limit: o.MaxRecord}
		}
		return append(to, Change{Key: key, Value: value}), len(value), nil
	case state.OpRemove:
		to = append(to, Change{Key: key})
		if app, ok := op.Record.(state.Application); ok {
			to = append(to, Change{Key: state.Key{Table: state.Attempts, Name: state.AttemptPrefix(app.ID)}, Prefix: true})
		}
		return to, 0, nil
	}
	return nil, 0, fmt.Errorf("no way to %s a record", op.Kind)
}

// Codec makes stored values of records, and records of them. Its errors are permanent.
type Codec interface {
	Encode(state.Record) ([]byte, error)
	Decode(key state.Key, value []byte) (state.Record, error)
}

func (o Options) codec() Codec {
	if o.Codec != nil {
		return o.Codec
	}
	return record.Codec{Types: o.Types}
}

// Reader builds a snapshot from keys and values in any order. Several goroutines may
// use it at once, except for Expect and Snapshot.
type Reader struct {
	codec Codec
	read  func(*state.Application) any // Options.Read

	mu       sync.Mutex
	snapshot state.Snapshot
}

// Reader returns an empty reader. epoch is that of the snapshot.
func (o Options) Reader(epoch int64) *Reader {
	return &Reader{codec: o.codec(), read: o.Read, snapshot: state.Snapshot{Epoch: epoch}}
}

// Add decodes one record or quarantines it. It keeps no reference to value. The size
// limit does not apply: records that were stored before it was lowered must be read.
func (r *Reader) Add(key state.Key, value []byte) {
	rec, err := r.codec.Decode(key, value)
	if err != nil {
		r.Quarantine(key, err.Error())
		return
	}
	if app, ok := rec.(state.Application); ok {
		app.User, app.Queue = intern.Text(app.User), intern.Text(app.Queue)
		var made any
		if r.read != nil {
			made = r.read(&app)
		}
		r.enter(&app, made)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshot.Add(rec)
}

// AddApplication is a quicker Add for an application in the form of package record. The caller has checked that value is intact. It keeps no reference to
// name or value.
func (r *Reader) AddApplication(name, value []byte) {
	var p Part
	r.ReadApplication(name, value, &p)
	for _, q := range p.Quarantined {
		r.Quarantine(q.Key, q.Reason)
	}
	for i, app := range p.Applications {
		var made any
		if r.read != nil {
			made = p.Made[i]
		}
		r.enter(app, made)
	}
}

// ReadApplication is AddApplication, but adds to a part instead of the snapshot. It may be called after Snapshot.
func (r *Reader) ReadApplication(name, value []byte, to *Part) {
	app := to.room()
	if err := record.Application(name, value, app, to.texts()); err != nil {
		to.Quarantined = append(to.Quarantined, state.Quarantined{Key: state.Key{Table: state.Applications, Name: string(name)}, Reason: err.Error()})
		return
	}
	if r.read != nil {
		to.Made = append(to.Made, r.read(app))
	}
	app.Context = slices.Clone(app.Context) // it shares memory with value
	to.Applications = append(to.Applications, app)
}

// enter adds an application to the snapshot.
func (r *Reader) enter(app *state.Application, made any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshot.Applications = append(r.snapshot.Applications, app)
	if r.read != nil {
		r.snapshot.Made = append(r.snapshot.Made, made)
	}
}

// Expect sets Snapshot.Coming.
func (r *Reader) Expect(c state.Coming) { r.snapshot.Coming = c }

// Quarantine adds a record that cannot be passed to Add, with the reason.
func (r *Reader) Quarantine(key state.Key, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshot.Quarantine(key, reason)
}

// Snapshot returns the result. Nothing may be added to it afterwards.
func (r *Reader) Snapshot() *state.Snapshot {
	r.snapshot.Finish()
	return &r.snapshot
}
