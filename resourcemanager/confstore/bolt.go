package confstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/heddle-project/heddle/internal/sealed"
)

// The layout of the file. Buckets: heddle (layout, version, trial, file), values (property to value), history (number to Version as JSON),
// attempts (0: all as JSON).
const (
	layout       = "1"
	ownBucket    = "heddle"
	valueBucket  = "values"
	historyTable = "history"
	attemptTable = "attempts"

	layoutKey  = "layout"
	versionKey = "version"
	trialKey   = "trial"
	fileKey    = "file"
	allKey     = "all"
)

const advice = "Put a copy back together with its .witness; or set the file aside with `yarn resourcemanager -format-conf-store`, and the next start begins with the queue file"

type bolt struct {
	file *sealed.File
	kept *State // as it is in the file; nil: not known
}

func sealedOptions() sealed.Options {
	return sealed.Options{Kind: "scheduler configuration store", Holder: "ResourceManager", Advice: advice, Own: ownBucket, Prepare: prepare, Intact: intact,
		Owner: func(_, _ []byte) string { return "" }}
}

// intact looks at records that have a form.
func intact(_ bool, bucket string, _, value []byte) error {
	if bucket != valueBucket && !json.Valid(value) {
		return errors.New("it is not JSON")
	}
	return nil
}

// OpenBolt opens the file, and makes it and its directory if need be. It fails if another process uses the file or if it is damaged.
func OpenBolt(path string) (Store, error) {
	f, err := sealed.Open(path, sealedOptions())
	if err != nil {
		return nil, fmt.Errorf("open scheduler configuration store %s: %w", path, err)
	}
	return &bolt{file: f}, nil
}

// SetBoltAside renames the file, so that the next OpenBolt makes a new one, and returns its new name.
func SetBoltAside(path string, now time.Time) (string, error) {
	return sealed.SetAside(path, sealedOptions(), now)
}

func prepare(tx *sealed.Tx, _ bool) error {
	buckets := tx.Buckets()
	if len(buckets) > 0 && !slices.Contains(buckets, ownBucket) {
		return fmt.Errorf("bbolt file of another program: it has a bucket %q and none called %q", buckets[0], ownBucket)
	}
	if slices.Contains(buckets, ownBucket) {
		if found := string(tx.Get(ownBucket, layoutKey)); found != layout {
			return fmt.Errorf("its layout is %q, this program reads %q: use the program that wrote it", found, layout)
		}
	}
	for _, b := range []string{ownBucket, valueBucket, historyTable, attemptTable} {
		if err := tx.Make(b); err != nil {
			return err
		}
	}
	return tx.Put(ownBucket, layoutKey, []byte(layout))
}

// Load implements Store.
func (b *bolt) Load(context.Context) (*State, error) {
	s := &State{Values: map[string]string{}}
	err := b.file.View(func(tx *sealed.Tx) error { return s.read(tx) })
	if err == nil {
		err = s.sound()
	}
	if err != nil {
		return nil, fmt.Errorf("read scheduler configuration store %s: %w", b.file.Path(), err)
	}
	b.kept = s
	return s.Clone(), nil
}

func (s *State) read(tx reader) (err error) {
	if text := tx.Get(ownBucket, versionKey); text != nil {
		if s.Version, err = strconv.ParseInt(string(text), 10, 64); err != nil {
			return fmt.Errorf("its version %q is not a number", text)
		}
	}
	s.File = string(tx.Get(ownBucket, fileKey))
	if err := decode(tx.Get(ownBucket, trialKey), &s.Trial); err != nil {
		return err
	}
	if err := decode(tx.Get(attemptTable, allKey), &s.Attempts); err != nil {
		return err
	}
	err = tx.ForEach(valueBucket, func(key, value []byte) error {
		s.Values[string(key)] = string(value)
		return nil
	})
	if err != nil {
		return err
	}
	return tx.ForEach(historyTable, func(_, value []byte) error {
		var v Version
		err := decode(value, &v)
		s.History = append(s.History, v)
		return err
	})
}

func decode(text []byte, into any) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// Commit implements Store.
func (b *bolt) Commit(ctx context.Context, was int64, next *State) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.kept == nil {
		return errors.New("the scheduler configuration store was not loaded, or its last commit failed")
	}
	if b.kept.Version != was {
		return &ConflictError{was, b.kept.Version}
	}
	if err := b.file.InPlace(); err != nil {
		return fmt.Errorf("write scheduler configuration store: %w", err)
	}
	err := b.file.Update(func(tx *sealed.Tx) error { return next.write(tx, b.kept) })
	if err != nil {
		b.kept = nil
		return fmt.Errorf("write scheduler configuration store %s: %w", b.file.Path(), err)
	}
	b.kept = next.Clone()
	return nil
}

// write changes the file from one state to the next.
func (s *State) write(tx writer, from *State) error {
	for _, c := range Diff(from.Values, s.Values) {
		var err error
		if c.New == nil {
			err = tx.Delete(valueBucket, c.Name)
		} else {
			err = tx.Put(valueBucket, c.Name, []byte(*c.New))
		}
		if err != nil {
			return err
		}
	}
	if err := s.writeHistory(tx, from); err != nil {
		return err
	}
	trial, err := json.Marshal(s.Trial)
	if err != nil {
		return err
	}
	attempts, err := json.Marshal(s.Attempts)
	if err != nil {
		return err
	}
	return errors.Join(tx.Put(ownBucket, versionKey, strconv.AppendInt(nil, s.Version, 10)), tx.Put(ownBucket, fileKey, []byte(s.File)),
		tx.Put(ownBucket, trialKey, trial), tx.Put(attemptTable, allKey, attempts))
}

func (s *State) writeHistory(tx writer, from *State) error {
	key := func(n int64) string { return fmt.Sprintf("%020d", n) }
	had := map[int64]bool{}
	for _, v := range from.History {
		had[v.Number] = true
	}
	has := map[int64]bool{}
	for _, v := range s.History {
		has[v.Number] = true
		if had[v.Number] {
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := tx.Put(historyTable, key(v.Number), text); err != nil {
			return err
		}
	}
	for _, v := range from.History {
		if has[v.Number] {
			continue
		}
		if err := tx.Delete(historyTable, key(v.Number)); err != nil {
			return err
		}
	}
	return nil
}

// Close implements Store.
func (b *bolt) Close() error { return b.file.Close() }
