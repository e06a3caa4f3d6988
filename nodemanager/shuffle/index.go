package shuffle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// An index file tells where the partitions of a map output lie: for each, three
// numbers of eight bytes, highest first (where it begins, how long it is when
// decompressed, how long it is in the file); then the CRC-32 of all that, as one
// more number.
const (
	recordSize   = 24
	checksumSize = 8
	// MaxIndex bounds an index file, in bytes; it is room for a million partitions.
	MaxIndex = 1<<20*recordSize + checksumSize
)

// record is the place of one partition in a map output.
type record struct{ start, raw, part int64 }

func readRecord(b []byte) record {
	return record{
		start: int64(binary.BigEndian.Uint64(b)),
		raw:   int64(binary.BigEndian.Uint64(b[8:])),
		part:  int64(binary.BigEndian.Uint64(b[16:])),
	}
}

// check tells whether the partition lies within a file of that size.
func (r record) check(size int64) error {
	if r.start < 0 || r.raw < 0 || r.part < 0 || r.part > size || r.start > size-r.part {
		return fmt.Errorf("the index is corrupt: %d bytes at %d (%d decompressed) in a file of %d", r.part, r.start, r.raw, size)
	}
	return nil
}

// table is the records of an index file whose checksum has been verified.
type table []byte

// record is that of a partition.
func (t table) record(partition int32) (record, error) {
	if int(partition) >= len(t)/recordSize {
		return record{}, noPartition(partition, int64(len(t)/recordSize))
	}
	return readRecord(t[int(partition)*recordSize:]), nil
}

func noPartition(partition int32, of int64) error {
	return fmt.Errorf("there is no partition %d: the index has %d", partition, of)
}

var errChecksum = errors.New("the index is corrupt: wrong checksum")

// chunk is how much of a large index is read at a time, a multiple of recordSize.
const chunk = 1024 * recordSize

// readIndex reads and verifies an index file of size bytes for one partition's
// record. If the records take at most keep bytes, they are answered as a table;
// otherwise little memory is taken and the table is nil.
func readIndex(r io.ReaderAt, size int64, partition int32, keep int64) (rec record, t table, err error) {
	n := size - checksumSize
	switch {
	case size > MaxIndex:
		return record{}, nil, fmt.Errorf("the index has %d bytes, more than the limit of %d", size, MaxIndex)
	case n < 0 || n%recordSize != 0:
		return record{}, nil, fmt.Errorf("the index is corrupt: %d bytes are no whole records and a checksum", size)
	}
	buf := make([]byte, min(n, chunk))
	if n <= keep {
		buf = make([]byte, n)
		t = buf
	}
	wanted, crc := int64(partition)*recordSize, uint32(0)
	for at := int64(0); at < n; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), n-at)]
		if err := readFull(r, buf, at); err != nil {
			return record{}, nil, fmt.Errorf("read the index: %w", err)
		}
		crc = crc32.Update(crc, crc32.IEEETable, buf)
		if wanted >= at && wanted < at+int64(len(buf)) {
			rec = readRecord(buf[wanted-at:])
		}
	}
	var sum [checksumSize]byte
	if err := readFull(r, sum[:], n); err != nil {
		return record{}, nil, fmt.Errorf("read the index: %w", err)
	}
	if binary.BigEndian.Uint64(sum[:]) != uint64(crc) {
		return record{}, nil, errChecksum
	}
	if wanted >= n {
		return record{}, nil, noPartition(partition, n/recordSize)
	}
	return rec, t, nil
}

// readFull fills b from offset at, or fails.
func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
