package sealed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// kept is what a file holds: bucket/key → value.
type kept map[string]string

const testOwn = "own"

func testOptions() Options {
	return Options{Kind: "test store", Holder: "test", Advice: "Check it, or repair it.", Own: testOwn, Lock: 50 * time.Millisecond, unsynced: true,
		Prepare: func(tx *Tx, sealed bool) error {
			if err := tx.Make(testOwn, "a", "b", "empty"); err != nil {
				return err
			}
			return tx.Put(testOwn, "version", []byte("2"))
		},
		Intact: func(_ bool, _ string, _, value []byte) error {
			if _, ok := summed(value); !ok {
				return errors.New("its sum is wrong")
			}
			return nil
		},
		Owner: func(key, value []byte) string { return string(key[:1]) }}
}

// value is one of size bytes or a few more, with its sum.
func value(rng *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// change does some changes to a file and to what it must hold.
func (k kept) change(t testing.TB, f *File, rng *rand.Rand, n int) {
	t.Helper()
	err := f.Update(func(tx *Tx) error {
		for range n {
			bucket := []string{"a", "b"}[rng.IntN(2)]
			key := fmt.Sprintf("%s%0*d", bucket, 1+rng.IntN(60), rng.IntN(400))
			switch rng.IntN(10) {
			case 0, 1, 2:
				if err := tx.Delete(bucket, key); err != nil {
					return err
				}
				delete(k, bucket+"/"+key)
			case 3:
				prefix := fmt.Sprintf("%s%d", bucket, rng.IntN(100))
				if err := tx.DeleteAll(bucket, prefix); err != nil {
					return err
				}
				maps.DeleteFunc(k, func(name, _ string) bool { return strings.HasPrefix(name, bucket+"/"+prefix) })
			default:
				v := value(rng, []int{0, 3, 40, 700, 9000}[rng.IntN(5)])
				if err := tx.Put(bucket, key, v); err != nil {
					return err
				}
				k[bucket+"/"+key] = string(v)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *File) content(t testing.TB) kept {
	t.Helper()
	k := kept{}
	err := f.View(func(tx *Tx) error {
		for _, bucket := range []string{"a", "b"} {
			if err := tx.ForEach(bucket, func(key, value []byte) error {
				k[bucket+"/"+string(key)] = string(value)
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustOpen(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustClose(t testing.TB, f *File) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// lives is a file after some lives of random changes.
func lives(t testing.TB, seed uint64, n, each int) (path string, k kept) {
	t.Helper()
	path, k = filepath.Join(t.TempDir(), "dir", "file"), kept{}
	rng := rand.New(rand.NewPCG(seed, 1))
	for range n {
		f := mustOpen(t, path)
		if got := f.content(t); !reflect.DeepEqual(got, k) {
			t.Fatalf("%d records, want %d", len(got), len(k))
		}
		for range 6 {
			k.change(t, f, rng, 1+rng.IntN(each))
		}
		mustClose(t, f)
	}
	return path, k
}

// However records come and go, the file agrees with its seal.
func TestLives(t *testing.T) {
	for seed := range uint64(6) {
		path, k := lives(t, seed, 6, 120)
		f := mustOpen(t, path)
		if got := f.content(t); !reflect.DeepEqual(got, k) {
			t.Errorf("%d records, want %d", len(got), len(k))
		}
		mustClose(t, f)
		r, err := Check(path, testOptions())
		if err != nil || r.Damage != nil || r.Odd != "" || slices.ContainsFunc(r.Tables, func(x Table) bool { return !x.Proven || x.Want != x.Readable }) {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// files are the bytes of a file and of its witness.
type files struct{ file, witness []byte }

func take(t testing.TB, path string) (x files) {
	t.Helper()
	var err1, err2 error
	x.file, err1 = os.ReadFile(path)
	x.witness, err2 = os.ReadFile(witnessOf(path))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return x
}

// put writes them, nil for one that is not there.
func (x files) put(t testing.TB, path string) {
	t.Helper()
	for name, b := range map[string][]byte{path: x.file, witnessOf(path): x.witness} {
		err := os.Remove(name)
		if b != nil {
			err = os.WriteFile(name, b, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// verdict opens files and says what came of it: refused, harmless or silent.
func verdict(t testing.TB, path string, x files, want kept) string {
	t.Helper()
	x.put(t, path)
	f, err := Open(path, testOptions())
	var damage *DamageError
	switch {
	case errors.As(err, &damage):
		after, _ := os.ReadFile(path)
		if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), damage.Advice) || damage.Findings.None() || len(damage.Findings.Told) == 0 || !bytes.Equal(after, x.file) {
			t.Errorf("refused with %v", err)
		}
		return "refused"
	case err != nil:
		t.Errorf("%v", err)
		return "refused"
	}
	got := f.content(t)
	mustClose(t, f)
	if !reflect.DeepEqual(got, want) {
		return "silent"
	}
	return "harmless"
}

// One bit of the file or of its witness is not what it was.
func TestFlips(t *testing.T) {
	path, k := lives(t, 7, 3, 100)
	good := take(t, path)
	rng := rand.New(rand.NewPCG(3, 4))
	count := map[string]int{}
	used := 0
	for i, b := range good.file {
		if b != 0 {
			used = i
		}
	}
	for n := range 600 {
		x := files{bytes.Clone(good.file), bytes.Clone(good.witness)}
		where, what := x.file[:used], "file "
		if n%10 == 0 {
			where, what = x.witness, "witness "
		}
		at := rng.IntN(len(where))
		if n%7 == 0 {
			at = rng.IntN(2*4096) % len(where) // the meta pages
		}
		where[at] ^= 1 << rng.IntN(8)
		v := verdict(t, path, x, k)
		if v == "silent" {
			t.Errorf("%sbyte %d", what, at)
		}
		count[what+v]++
	}
	t.Log(count)
	if count["file refused"] == 0 || count["witness refused"] > 0 {
		t.Error("a flip in the file is never noticed, or one in the witness stops a start")
	}
}

func TestGrossDamage(t *testing.T) {
	path, k := lives(t, 9, 4, 100)
	f := mustOpen(t, path)
	early := take(t, path) // a few transactions before the end
	rng := rand.New(rand.NewPCG(5, 6))
	for range 4 {
		k.change(t, f, rng, 10)
	}
	mustClose(t, f)
	good := take(t, path)
	ps := os.Getpagesize()
	pages := len(good.file) / ps
	count := map[string]int{}
	for n := range 300 {
		x := files{bytes.Clone(good.file), good.witness}
		p, q := rng.IntN(pages), rng.IntN(pages)
		if n%5 == 0 {
			p = rng.IntN(2)
		}
		page := func(i int) []byte { return x.file[i*ps : (i+1)*ps] }
		kind := ""
		switch n % 8 {
		case 0:
			kind = "cut"
			x.file = x.file[:rng.IntN(len(x.file))]
		case 1:
			kind = "zeros"
			clear(page(p))
		case 2:
			kind = "garbage"
			for i := range page(p) {
				page(p)[i] = byte(rng.Uint32())
			}
		case 3:
			kind = "swapped"
			tmp := bytes.Clone(page(p))
			copy(page(p), page(q))
			copy(page(q), tmp)
		case 4:
			kind = "older page"
			if (p+1)*ps <= len(early.file) {
				copy(page(p), early.file[p*ps:(p+1)*ps])
			}
		case 5:
			kind = "empty"
			x.file = []byte{}
			if n%2 == 0 {
				x.file = nil
			}
		case 6:
			kind = "longer"
			x.file = append(x.file, value(rng, rng.IntN(3*ps))...)
		case 7:
			kind = "older file"
			x.file = early.file
		}
		v := verdict(t, path, x, k)
		if v == "silent" {
			t.Errorf("%s: page %d", kind, p)
		}
		count[kind+" "+v]++
	}
	t.Log(count)
	for _, kind := range []string{"empty harmless", "older file harmless", "longer refused"} {
		if count[kind] > 0 {
			t.Errorf("%s: %d", kind, count[kind])
		}
	}
}

// A process that is killed, or a machine that goes down, leaves any of the
// pages of a transaction and then, when these are durable, half a meta page:
// the file opens and holds what was acknowledged.
func TestCrashes(t *testing.T) {
	path, k := lives(t, 11, 2, 80)
	rng := rand.New(rand.NewPCG(7, 8))
	ps := os.Getpagesize()
	for range 6 {
		f := mustOpen(t, path)
		before, old := take(t, path), maps.Clone(k)
		k.change(t, f, rng, 30)
		after := take(t, path)
		mustClose(t, f)
		done := take(t, path)
		meta := int(f.seal.txid % 2)
		grown := append(bytes.Clone(before.file), make([]byte, max(0, len(after.file)-len(before.file)))...)
		partly := func(chance int) []byte { // the pages of the transaction, some of them torn
			b := bytes.Clone(grown)
			for p := 2; p < len(after.file)/ps; p++ {
				if rng.IntN(100) < chance {
					copy(b[p*ps:(p+1)*ps], after.file[p*ps : (p+1)*ps][:ps>>rng.IntN(3)])
				}
			}
			return b
		}
		whole := func(n int) []byte { // all pages, and n bytes of the meta page
			b := bytes.Clone(after.file)
			copy(b[meta*ps:(meta+1)*ps], before.file[meta*ps:(meta+1)*ps])
			copy(b[meta*ps:meta*ps+n], after.file[meta*ps:])
			return b
		}
		states := []files{{before.file, before.witness}, {grown, before.witness}, {after.file, before.witness}, {after.file, nil}, {before.file, nil}}
		for chance := range 11 {
			states = append(states, files{partly(chance * 10), before.witness})
		}
		for n := 0; n <= pageHeader+metaSize; n += 4 {
			states = append(states, files{whole(n), before.witness})
		}
		for i, x := range states {
			if a, b := verdict(t, path, x, old), verdict(t, path, x, k); a != "harmless" && b != "harmless" {
				t.Errorf("state %d: %s before the transaction, %s after it", i, a, b)
			}
		}
		for range 20 { // of the witness's slot any part is written, after the transaction was durable
			w := bytes.Clone(before.witness)
			from := int(f.seal.number%2) * slot
			copy(w[from:from+rng.IntN(slot)], after.witness[from:])
			if v := verdict(t, path, files{after.file, w}, k); v != "harmless" {
				t.Errorf("torn witness: %s", v)
			}
		}
		done.put(t, path)
	}
}

// A start that makes a file may end anywhere.
func TestCrashesAtBirth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	mustClose(t, mustOpen(t, path))
	good := take(t, path)
	for n := 0; n < len(good.file); n += 1500 {
		files{}.put(t, path)
		if err := os.WriteFile(path+".new", good.file[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		f := mustOpen(t, path)
		mustClose(t, f)
	}
	if v := verdict(t, path, files{good.file, nil}, kept{}); v != "harmless" {
		t.Errorf("before there was a witness: %s", v)
	}
	if v := verdict(t, path, files{[]byte{}, nil}, kept{}); v != "harmless" {
		t.Errorf("an empty file that never was a store: %s", v)
	}
}

// A file of the time before there were seals is sealed when it is opened.
func TestUnsealed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	rng := rand.New(rand.NewPCG(1, 1))
	want := kept{}
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, bucket := range []string{testOwn, "a", "b"} {
			b, err := tx.CreateBucket([]byte(bucket))
			if err != nil {
				return err
			}
			for i := 0; i < 300 && bucket != testOwn; i++ {
				key, v := fmt.Sprint(bucket, i), value(rng, 100)
				want[bucket+"/"+key] = string(v)
				if err := b.Put([]byte(key), v); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	file, _ := os.ReadFile(path)
	for n := range 100 {
		x := files{file: bytes.Clone(file)}
		at := rng.IntN(len(file))
		if n%2 == 0 {
			at %= 2 * os.Getpagesize()
		}
		x.file[at] ^= 1 << rng.IntN(8)
		if v := verdict(t, path, x, want); v == "silent" && n%2 == 0 {
			t.Errorf("a flip of a meta page at %d", at)
		}
	}
	if v := verdict(t, path, files{file: file}, want); v != "harmless" {
		t.Fatal(v)
	}
	x := take(t, path)
	if v := verdict(t, path, files{file, x.witness}, want); v != "refused" {
		t.Errorf("the unsealed file beside its witness: %s", v)
	}
}

// What was replaced or is held is told.
func TestHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f := mustOpen(t, path)
	for _, try := range []func() error{
		func() error { return second(Open(path, testOptions())) },
		func() error { return second(Check(path, testOptions())) },
		func() error { return second(Repair(path, testOptions(), time.Now())) },
	} {
		if err := try(); !errors.As(err, new(*HeldError)) || !strings.Contains(err.Error(), "is a test running already?") {
			t.Errorf("%v", err)
		}
	}
	if err := f.InPlace(); err != nil {
		t.Error(err)
	}
	if err := os.Rename(path, path+".x"); err != nil {
		t.Fatal(err)
	}
	if err := f.InPlace(); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Error(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.InPlace(); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Error(err)
	}
	mustClose(t, f)
	if _, err := Check(filepath.Join(t.TempDir(), "none"), testOptions()); err == nil || !strings.Contains(err.Error(), "there is no test store") {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }
