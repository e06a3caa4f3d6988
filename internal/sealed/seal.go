package sealed

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"math/bits"
	"slices"
)

// sealKey is where the seal is, in the bucket of the file's own.
const sealKey = "seal"

// sealVersion is the first byte of a seal.
const sealVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is how many records a bucket has and the sum of their hashes modulo
// 2^128. The order in which records come and go does not matter.
type sum struct{ count, high, low uint64 }

func (s sum) plus(h [2]uint64) sum {
	low, carry := bits.Add64(s.low, h[1], 0)
	high, _ := bits.Add64(s.high, h[0], carry)
	return sum{s.count + 1, high, low}
}

func (s sum) minus(h [2]uint64) sum {
	low, borrow := bits.Sub64(s.low, h[1], 0)
	high, _ := bits.Sub64(s.high, h[0], borrow)
	return sum{s.count - 1, high, low}
}

func (s sum) add(t sum) sum {
	x := s.plus([2]uint64{t.high, t.low})
	x.count = s.count + t.count
	return x
}

// hasher hashes records; it keeps the memory that this takes.
type hasher struct{ b []byte }

// of is the first half of the SHA-256 of bucket, key and two CRCs of the value.
// CRCs alone are linear and could not tell two exchanged values; a SHA-256 of
// the value alone would take several times as long, and nobody forges damage.
func (h *hasher) of(bucket string, key, value []byte) [2]uint64 {
	h.b = binary.AppendUvarint(h.b[:0], uint64(len(bucket)))
	h.b = append(h.b, bucket...)
	h.b = binary.BigEndian.AppendUint32(h.b, uint32(len(value)))
	h.b = binary.BigEndian.AppendUint32(h.b, crc32.Checksum(value, castagnoli))
	h.b = binary.BigEndian.AppendUint32(h.b, crc32.ChecksumIEEE(value))
	h.b = append(h.b, key...)
	d := sha256.Sum256(h.b)
	return [2]uint64{binary.BigEndian.Uint64(d[:8]), binary.BigEndian.Uint64(d[8:16])}
}

// seal is what must be true of a file after a transaction.
type seal struct {
	number  uint64 // of the transaction, over the file's repairs, too
	txid    uint64 // bbolt's number of it
	buckets map[string]sum
}

func (s *seal) clone() *seal {
	next := *s
	next.buckets = maps.Clone(s.buckets)
	return &next
}

func (s *seal) encode() []byte {
	b := binary.BigEndian.AppendUint64([]byte{sealVersion}, s.number)
	b = binary.BigEndian.AppendUint64(b, s.txid)
	b = binary.AppendUvarint(b, uint64(len(s.buckets)))
	for _, name := range slices.Sorted(maps.Keys(s.buckets)) {
		b = appendText(b, []byte(name))
		x := s.buckets[name]
		for _, v := range []uint64{x.count, x.high, x.low} {
			b = binary.BigEndian.AppendUint64(b, v)
		}
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

var errSeal = errors.New("its checksum does not match")

func decodeSeal(b []byte) (*seal, error) {
	body, ok := summed(b)
	if !ok {
		return nil, errSeal
	}
	r := reader{b: body}
	if v := r.bytes(1); len(v) != 1 || v[0] != sealVersion {
		return nil, errors.New("this program does not know its format")
	}
	s := &seal{number: r.uint64(), txid: r.uint64(), buckets: map[string]sum{}}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		name := string(r.text())
		s.buckets[name] = sum{r.uint64(), r.uint64(), r.uint64()}
	}
	if r.bad || len(r.b) > 0 {
		return nil, errors.New("it is not well formed")
	}
	return s, nil
}

// summed cuts the CRC-32C off.
func summed(b []byte) (body []byte, ok bool) {
	if len(b) < crc32.Size {
		return nil, false
	}
	at := len(b) - crc32.Size
	return b[:at], crc32.Checksum(b[:at], castagnoli) == binary.BigEndian.Uint32(b[at:])
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// reader takes fields off b; bad tells that one was not there.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) uint64() uint64 {
	if b := r.bytes(8); len(b) == 8 {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) text() []byte { return r.bytes(r.uvarint()) }
