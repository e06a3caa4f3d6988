package sealed

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// many is a file with enough records for branches.
func many(t *testing.T) (path string, k kept) {
	t.Helper()
	path, k = filepath.Join(t.TempDir(), "file"), kept{}
	f := mustOpen(t, path)
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range 40 {
		err := f.Update(func(tx *Tx) error {
			for j := range 20 {
				for _, bucket := range []string{"a", "b"} {
					key, v := fmt.Sprintf("%s%05d", bucket, i*20+j), value(rng, 150)
					k[bucket+"/"+key] = string(v)
					if err := tx.Put(bucket, key, v); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, f)
	return path, k
}

// pagesOf are the pages in use of a kind in one bucket, "" for any.
func pagesOf(t *testing.T, x files, kind uint16) (ids []int) {
	t.Helper()
	o := testOptions()
	r := o.examine(bytes.NewReader(x.file), nil, int64(len(x.file)), testimony{})
	for id := range uint64(len(x.file)) / r.image.pageSize {
		if _, free := r.free[id]; free || !r.seen.has(id) {
			continue
		}
		if p, err := r.image.first(id); err == nil && p.flags == kind {
			ids = append(ids, int(id))
		}
	}
	return ids
}

// repaired repairs and says what is there then.
func repaired(t *testing.T, path string, damaged files) (*Report, kept) {
	t.Helper()
	damaged.put(t, path)
	checked, err := Check(path, testOptions())
	if err != nil || checked.Damage == nil {
		t.Fatalf("checked: %+v, %v", checked, err)
	}
	if after := optional(path); !bytes.Equal(after, damaged.file) {
		t.Fatal("a check has changed the file")
	}
	r, err := Repair(path, testOptions(), noon)
	if err != nil {
		t.Fatal(err)
	}
	if damaged.file != nil {
		aside, err := os.ReadFile(r.Aside)
		if want := path + ".damaged-20260102T120000Z"; r.Aside != want || err != nil || !bytes.Equal(aside, damaged.file) {
			t.Errorf("the damaged file is %q (%v)", r.Aside, err)
		}
		if err := os.Remove(r.Aside); err != nil {
			t.Fatal(err)
		}
	}
	f := mustOpen(t, path)
	k := f.content(t)
	mustClose(t, f)
	if again, err := Check(path, testOptions()); err != nil || again.Damage != nil {
		t.Errorf("after the repair: %+v, %v", again, err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || !reflect.DeepEqual(left, []string{witnessOf(path)}) {
		t.Errorf("left besides: %v", left)
	}
	return r, k
}

func optional(path string) []byte {
	b, _ := os.ReadFile(path)
	return b
}

// proven tells whether the report promises that nothing of the buckets is lost.
func (r *Report) proven() bool {
	return !slices.ContainsFunc(r.Tables, func(x Table) bool { return !x.Proven && x.Name != testOwn })
}

// What can be read in one way or another is not lost, and the report says so.
func TestRepairLosesNothing(t *testing.T) {
	path, k := many(t)
	good := take(t, path)
	ps := os.Getpagesize()
	o := testOptions()
	x := o.examine(bytes.NewReader(good.file), nil, int64(len(good.file)), testimony{})
	newest := int(x.meta.txid % 2)
	damage := map[string]func(b []byte){
		"the newest meta page": func(b []byte) { clear(b[newest*ps : (newest+1)*ps]) },
		"the free pages":       func(b []byte) { clear(b[int(x.meta.freelist)*ps:][:ps]) },
		"both meta pages":      func(b []byte) { clear(b[:2*ps]) },
		"the list of buckets":  func(b []byte) { clear(b[int(x.meta.root)*ps:][:ps]) },
		"all that leads there": func(b []byte) {
			clear(b[:2*ps])
			for _, id := range append(pagesOf(t, good, branchPage), pagesOf(t, good, freelistPage)...) {
				clear(b[id*ps:][:ps])
			}
			for id := range len(b) / ps { // roots of earlier transactions, too
				if newImage(bytes.NewReader(good.file), int64(len(good.file))).sealAt(uint64(id), testOwn) > 0 {
					clear(b[id*ps:][:ps])
				}
			}
		},
	}
	branches := pagesOf(t, good, branchPage)
	if len(branches) < 2 {
		t.Fatal("there are no branches")
	}
	for _, id := range branches {
		damage[fmt.Sprint("branch ", id)] = func(b []byte) { clear(b[id*ps:][:ps]) }
	}
	for name, do := range damage {
		d := files{bytes.Clone(good.file), good.witness}
		do(d.file)
		r, got := repaired(t, path, d)
		if !reflect.DeepEqual(got, k) || !r.proven() || len(r.Lost) > 0 {
			t.Errorf("%s: %d of %d records are left, lost %v, %+v", name, len(got), len(k), r.Lost, r.Tables)
		}
	}
}

// What cannot be read is counted, and named where its name is known.
func TestRepairTellsWhatIsLost(t *testing.T) {
	path, k := many(t)
	good := take(t, path)
	ps := os.Getpagesize()

	d := files{bytes.Clone(good.file), good.witness}
	at := bytes.Index(d.file, []byte(k["a/a00007"]))
	d.file[at+3] ^= 4
	r, got := repaired(t, path, d)
	if len(got) != len(k)-1 || got["a/a00007"] != "" || !reflect.DeepEqual(r.Lost, []Record{{"a", "a00007"}}) || r.proven() {
		t.Errorf("one record: %d of %d are left, lost %v", len(got), len(k), r.Lost)
	}

	d = files{bytes.Clone(good.file), good.witness}
	leaf := pagesOf(t, good, leafPage)[0]
	clear(d.file[leaf*ps:][:ps])
	r, got = repaired(t, path, d)
	told := int64(0)
	for _, x := range r.Tables {
		told += x.Want - x.Readable
	}
	if lost := len(k) - len(got); lost == 0 || int64(lost) != told || !strings.Contains(r.Damage.Error(), fmt.Sprintf("page %d", leaf)) {
		t.Errorf("a leaf: %d are lost, told %d: %v", lost, told, r.Damage)
	}

	for _, gone := range [][]byte{nil, {}} {
		r, got = repaired(t, path, files{gone, good.witness})
		told = 0
		for _, x := range r.Tables {
			if x.Name != testOwn {
				told += x.Want - x.Readable
			}
		}
		if len(got) != 0 || told != int64(len(k)) {
			t.Errorf("a file that is gone: %d are left, told of %d", len(got), told)
		}
	}
}

// After any damage there is a file that opens, and nothing in it that never was
// or that the report does not count.
func TestRepairAnything(t *testing.T) {
	path, k := many(t)
	good := take(t, path)
	rng := rand.New(rand.NewPCG(2, 9))
	ps := os.Getpagesize()
	tried := 0
	for range 120 {
		d := files{bytes.Clone(good.file), good.witness}
		p := rng.IntN(len(d.file) / ps)
		switch rng.IntN(4) {
		case 0:
			d.file = d.file[:rng.IntN(len(d.file))]
		case 1:
			for i := range ps {
				d.file[p*ps+i] = byte(rng.Uint32())
			}
		case 2:
			copy(d.file[p*ps:], d.file[rng.IntN(len(d.file)/ps)*ps:][:ps])
		case 3:
			d.file[p*ps+rng.IntN(40)] ^= 1 << rng.IntN(8)
		}
		if verdict(t, path, d, k) != "refused" {
			continue
		}
		tried++
		r, got := repaired(t, path, d)
		missing := 0
		for name, v := range k {
			if got[name] != v {
				missing++
			}
		}
		told := int64(0)
		for _, x := range r.Tables {
			if x.Name != testOwn {
				told += x.Want - x.Readable
			}
		}
		if int64(missing) != told || len(got) > len(k) {
			t.Errorf("%d records are missing or changed, told %d; %v", missing, told, r.Damage)
		}
	}
	if tried < 30 {
		t.Errorf("only %d damages were refused", tried)
	}
}

// A repair that fails leaves the damaged file as it was, and one that is
// repeated does its work.
func TestRepairFails(t *testing.T) {
	path, k := many(t)
	good := take(t, path)
	d := files{bytes.Clone(good.file), good.witness}
	clear(d.file[:os.Getpagesize()])
	if verdict(t, path, d, k) == "harmless" {
		clear(d.file[os.Getpagesize() : 2*os.Getpagesize()])
	}
	d.put(t, path)
	for _, in := range []string{path + ".repaired/x", path + ".repaired.new/x"} {
		if err := os.MkdirAll(in, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Repair(path, testOptions(), noon); err == nil || !strings.Contains(err.Error(), "the damaged file is as it was") {
			t.Errorf("%v", err)
		}
		if err := os.RemoveAll(filepath.Dir(in)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path+".damaged-20260102T120000Z", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Repair(path, testOptions(), noon); !errors.Is(err, os.ErrExist) {
		t.Errorf("another damaged file has the name: %v", err)
	}
	if !bytes.Equal(optional(path), d.file) || !bytes.Equal(optional(witnessOf(path)), d.witness) {
		t.Error("a repair that failed has changed the file")
	}
	if err := os.Remove(path + ".damaged-20260102T120000Z"); err != nil {
		t.Fatal(err)
	}
	// Killed between the two renames: the new file is there with the old witness.
	if _, got := repaired(t, path, d); !reflect.DeepEqual(got, k) {
		t.Errorf("%d of %d records are left", len(got), len(k))
	}
	if v := verdict(t, path, files{optional(path), d.witness}, k); v != "harmless" {
		t.Errorf("the repaired file beside the old witness: %s", v)
	}
	if r, err := Repair(path, testOptions(), noon); err != nil || r.Damage != nil || r.Aside != "" {
		t.Errorf("a file that is whole: %+v, %v", r, err)
	}
}
