package sealed

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"
)

// Report is what Check and Repair found.
type Report struct {
	Path     string
	Damage   *DamageError // nil: it is whole
	Odd      string       // what is odd but no damage
	Tables   []Table
	Lost     []Record // records that are known to be missing, as far as any are known by name
	Aside    string   // Repair: where the damaged file is now; "" if there was none
	Repaired bool     // Repair: there is a new file

	records map[string]map[string][]byte // readable, by bucket; own ones without the seal
}

// Keys are the keys of the records of a bucket that can be read, sorted.
func (r *Report) Keys(bucket string) []string { return slices.Sorted(maps.Keys(r.records[bucket])) }

// Table is a bucket in numbers.
type Table struct {
	Name     string
	Want     int64 // records that it must have; -1: not known
	Readable int64
	Proven   bool // what is readable is all that was sealed, and as it was
}

// Record names one.
type Record struct{ Bucket, Key string }

// Check reads a file and changes nothing. It fails when a daemon holds the file,
// or when there is none and never was.
func Check(path string, o Options) (*Report, error) {
	s, err := salvageFrom(path, &o, os.O_RDONLY, syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return &s.report, nil
}

// Repair sets a damaged file aside, under its name and the time, and writes a
// new one of what can be read of it; a file that is whole is left alone. Until
// the new one is whole and durable nothing is changed.
func Repair(path string, o Options, now time.Time) (*Report, error) {
	s, err := salvageFrom(path, &o, os.O_RDWR, syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.report.Damage == nil {
		return &s.report, nil
	}
	making := path + ".repaired"
	if err := s.rebuild(making); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w; the damaged file is as it was", making, err), remove(making), remove(witnessOf(making)))
	}
	if s.file != nil {
		s.report.Aside = path + ".damaged-" + now.UTC().Format("20060102T150405Z")
		if err := os.Link(path, s.report.Aside); err != nil {
			return nil, fmt.Errorf("keep the damaged file as %s: %w; it is as it was, what can be read of it is in %s", s.report.Aside, err, making)
		}
	}
	// There is always a file at path. Its seal has a higher number than the old
	// witness, so an end between the two renames is no damage.
	err = os.Rename(making, path)
	if err == nil {
		err = os.Rename(witnessOf(making), witnessOf(path))
	}
	if err == nil {
		err = o.syncDir(path)
	}
	if err != nil {
		return nil, fmt.Errorf("put %s in the place of %s: %w", making, path, err)
	}
	s.report.Repaired = true
	return &s.report, nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// salvage is what can be read of a file.
type salvage struct {
	o      *Options
	file   *os.File // nil: it is gone
	report Report
	said   testimony
	last   uint64 // the highest number of a seal that was seen
}

func (s *salvage) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// salvageFrom reads all that can be read.
func salvageFrom(path string, o *Options, flag, how int) (*salvage, error) {
	said, err := hear(path)
	if err != nil {
		return nil, err
	}
	s := &salvage{o: o, said: said, last: said.number()}
	s.report.Path, s.report.records = path, map[string]map[string][]byte{}
	s.file, err = o.lock(path, flag, 0, how)
	var size int64
	if err == nil {
		var info fs.FileInfo
		if info, err = s.file.Stat(); err == nil {
			size = info.Size()
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && said.exists, err == nil && size == 0 && said.exists:
		err = o.gone(path, s.file != nil)
		errors.As(err, &s.report.Damage)
		for key, value := range said.own {
			s.take(o.Own, []byte(key), value)
		}
		s.count(said.seal, nil)
		return s, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no %s at %s", o.Kind, path)
	case err != nil:
		s.close()
		return nil, err
	}
	x := o.examine(s.file, nil, size, said)
	s.report.Odd = x.warning
	if !x.found.None() {
		s.report.Damage = &DamageError{path, o.Kind, x.found, o.Advice}
	}
	s.salvage(s.file, x, size)
	return s, nil
}

// salvage reads from the meta page of the last transaction, or, if that cannot
// be read, from the root that such a page would lead to: a transaction's pages
// are durable before its meta page is written.
func (s *salvage) salvage(file io.ReaderAt, x *reading, size int64) {
	if x.image == nil {
		x.image = newImage(file, size)
	}
	if x.image.pageSize == 0 {
		x.image.pageSize = uint64(os.Getpagesize())
	}
	from, best := x.meta, uint64(0)
	if x.seal != nil {
		best = x.seal.number
	}
	for id := uint64(2); s.report.Damage != nil && id < x.image.size/x.image.pageSize; id++ {
		number := x.image.sealAt(id, s.o.Own)
		// What is above the witness may be half a transaction.
		if number > best && (number <= s.said.number() || !s.said.exists && x.meta == meta{}) {
			best, from = number, meta{root: id, freelist: noFreelist, pages: x.image.size / x.image.pageSize}
		}
	}
	y := &reading{sums: map[string]sum{}, own: map[string][]byte{}, walk: walk{image: x.image}}
	if from != (meta{}) {
		y.read(s.o, x.image, from, s.said, s.take)
	}
	if y.seal != nil {
		s.last = max(s.last, y.seal.number)
	}
	truth := y.seal
	if truth == nil || s.said.number() > truth.number {
		truth = s.said.seal
	}
	if s.report.Damage != nil {
		s.strays(y, truth)
	}
	for key, value := range s.said.own {
		if y.own[key] == nil && truth != nil {
			s.take(s.o.Own, []byte(key), value)
		}
	}
	s.count(truth, y)
}

// take keeps a copy of a record that can be read.
func (s *salvage) take(bucket string, key, value []byte) {
	if s.report.records[bucket] == nil {
		s.report.records[bucket] = map[string][]byte{}
	}
	s.report.records[bucket][string(key)] = slices.Clone(value)
}

// strays looks for records on pages that are neither free nor led to, because
// what leads to them is damaged. They are taken if the list of free pages can be
// trusted, or if a bucket is exactly as it was sealed with them: otherwise they
// may be of an earlier time. Where nothing at all tells how it was they are
// better than nothing.
func (s *salvage) strays(y *reading, truth *seal) {
	found := map[string]map[string][]byte{}
	for id := uint64(2); id < y.image.size/y.image.pageSize; id++ {
		if y.seen.has(id) {
			continue
		}
		p, err := y.image.read(id, y.image.size/y.image.pageSize, leafPage)
		if err != nil {
			continue
		}
		for i := range int(p.count) {
			e, err := p.element(i)
			if err != nil || e.flags != 0 || len(e.key) == 0 { // bolt has no empty keys
				continue
			}
			bucket := s.o.Owner(e.key, e.value)
			if bucket == "" || s.o.intact(s.last > 0, bucket, e.key, e.value) != nil || s.report.records[bucket][string(e.key)] != nil {
				continue
			}
			if found[bucket] == nil {
				found[bucket] = map[string][]byte{}
			}
			found[bucket][string(e.key)] = slices.Clone(e.value)
		}
	}
	for bucket, more := range found {
		before := maps.Clone(s.report.records[bucket])
		for key, value := range more {
			s.take(bucket, []byte(key), value)
		}
		if len(y.free) == 0 && truth != nil && !s.proven(bucket, truth) {
			s.report.records[bucket] = before
		}
	}
}

func (s *salvage) proven(bucket string, truth *seal) bool {
	if truth == nil {
		return false
	}
	var h hasher
	var have sum
	for key, value := range s.report.records[bucket] {
		have = have.plus(h.of(bucket, []byte(key), value))
	}
	return have == truth.buckets[bucket]
}

// count fills the report in.
func (s *salvage) count(truth *seal, y *reading) {
	names := map[string]bool{}
	for name := range s.report.records {
		names[name] = true
	}
	if truth != nil {
		for name := range truth.buckets {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t := Table{Name: name, Want: -1, Readable: int64(len(s.report.records[name])), Proven: s.proven(name, truth)}
		if truth != nil {
			t.Want = int64(truth.buckets[name].count)
		}
		s.report.Tables = append(s.report.Tables, t)
	}
	if y == nil {
		return
	}
	for _, r := range y.spoilt {
		if s.report.records[r.Bucket][r.Key] == nil {
			s.report.Lost = append(s.report.Lost, r)
		}
	}
}

// rebuild writes what was salvaged into a new file.
func (s *salvage) rebuild(path string) error {
	o := *s.o
	sealed, known := s.last > 0, len(s.report.records[o.Own]) > 0
	o.Prepare = func(tx *Tx, _ bool) error {
		if !known { // not even of which time the file is
			if err := s.o.Prepare(tx, false); err != nil {
				return err
			}
		}
		for name, records := range s.report.records {
			if err := tx.Make(name); err != nil {
				return err
			}
			for key, value := range records {
				if !known && s.o.intact(true, name, []byte(key), value) != nil {
					continue
				}
				if err := tx.Put(name, key, value); err != nil {
					return err
				}
			}
		}
		if known {
			return s.o.Prepare(tx, sealed)
		}
		return nil
	}
	if err := errors.Join(remove(path), remove(witnessOf(path))); err != nil {
		return err
	}
	f, err := o.create(path, s.last)
	if err != nil {
		return err
	}
	return f.Close()
}
