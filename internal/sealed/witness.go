package sealed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// slot is the room of one seal in a witness. There are two, used in turn, so
// that a write that does not come to its end leaves the seal before it.
const slot = 4096

// testimony is what a witness says.
type testimony struct {
	exists bool
	seal   *seal             // the newest; nil if none can be read
	own    map[string][]byte // the records of the file's own bucket at that time
}

func (t *testimony) number() uint64 {
	if t.seal == nil {
		return 0
	}
	return t.seal.number
}

func witnessOf(path string) string { return path + ".witness" }

// hear reads the witness of the file at path.
func hear(path string) (t testimony, err error) {
	file, err := os.Open(witnessOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	defer file.Close()
	t.exists = true
	b, err := io.ReadAll(io.LimitReader(file, 2*slot))
	if err != nil {
		return t, err
	}
	for at := 0; at+slot <= len(b); at += slot {
		if s, own, ok := decodeSlot(b[at : at+slot]); ok && s.number >= t.number() {
			t.seal, t.own = s, own
		}
	}
	return t, nil
}

// encodeSlot is length, seal, own records, CRC-32C.
func encodeSlot(s *seal, own map[string][]byte) []byte {
	b := appendText(make([]byte, 4, slot), s.encode())
	b = binary.AppendUvarint(b, uint64(len(own)))
	for _, key := range slices.Sorted(maps.Keys(own)) {
		b = appendText(appendText(b, []byte(key)), own[key])
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)+crc32.Size))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeSlot(b []byte) (*seal, map[string][]byte, bool) {
	n := binary.BigEndian.Uint32(b)
	if n < 4 || uint64(n) > uint64(len(b)) {
		return nil, nil, false
	}
	body, ok := summed(b[:n])
	if !ok {
		return nil, nil, false
	}
	r := reader{b: body[4:]}
	s, err := decodeSeal(r.text())
	own := map[string][]byte{}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		key := string(r.text())
		own[key] = r.text()
	}
	return s, own, err == nil && !r.bad
}

// testify puts the seal into its slot of the witness, and makes the witness if there is none.
func (f *File) testify() error {
	b := encodeSlot(f.seal, f.own)
	if len(b) > slot {
		return fmt.Errorf("a seal of %d bytes does not fit into %s", len(b), witnessOf(f.path))
	}
	if f.witness == nil {
		return f.makeWitness(b)
	}
	_, err := f.witness.WriteAt(b, int64(f.seal.number%2)*slot)
	return err
}

func (f *File) makeWitness(b []byte) error {
	all := make([]byte, 2*slot)
	copy(all[f.seal.number%2*slot:], b)
	path := witnessOf(f.path)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(all)
	if err == nil {
		err = f.o.sync(file)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err == nil {
		err = f.o.syncDir(path)
	}
	if err != nil {
		file.Close()
		return err
	}
	f.witness = file
	return nil
}
