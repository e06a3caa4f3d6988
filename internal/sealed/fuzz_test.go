package sealed

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"os"
	"testing"
)

// FuzzExamine reads a file with some of its bytes replaced, whose meta pages may
// be made whole again: nothing panics, and what is read in spite of the damage
// is bounded by the file.
func FuzzExamine(f *testing.F) {
	path, _ := lives(f, 21, 2, 60)
	file, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{1, 2, 3}, true)
	f.Add(uint32(4096+40), bytes.Repeat([]byte{0xff}, 24), true)
	f.Add(uint32(5*4096), bytes.Repeat([]byte{0xff}, 64), false)
	o := testOptions()
	f.Fuzz(func(t *testing.T, at uint32, with []byte, mend bool) {
		b := bytes.Clone(file)
		copy(b[int(at)%len(b):], with)
		for i := 0; mend && i < 2; i++ {
			m := b[i*os.Getpagesize()+pageHeader:][:metaSize]
			h := fnv.New64a()
			h.Write(m[:metaSize-8])
			binary.NativeEndian.PutUint64(m[metaSize-8:], h.Sum64())
		}
		x := o.examine(bytes.NewReader(b), nil, int64(len(b)), testimony{exists: true})
		if len(x.found.Told) > maxTold {
			t.Errorf("%d findings are told", len(x.found.Told))
		}
		s := &salvage{o: &o}
		s.report.records = map[string]map[string][]byte{}
		if !x.found.None() {
			s.report.Damage = &DamageError{path, o.Kind, x.found, o.Advice}
		}
		s.salvage(bytes.NewReader(b), x, int64(len(b)))
		n := 0
		for _, records := range s.report.records {
			for _, v := range records {
				n += len(v)
			}
		}
		if n > 2*len(b) {
			t.Errorf("%d bytes were read from %d", n, len(b))
		}
	})
}
