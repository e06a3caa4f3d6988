package aggregated

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
)

// errVint is a first byte that begins no number.
var errVint = errors.New("a number that is not well formed")

// appendVint appends n as TFiles encode numbers: one to nine bytes, of which
// the first tells how many follow (org.apache.hadoop.io.file.tfile.Utils). It
// is not the encoding of Hadoop's other formats.
func appendVint(b []byte, n int64) []byte {
	magnitude := uint64(n ^ n>>63)
	switch {
	case -32 <= n && n < 128:
		return append(b, byte(n))
	case magnitude < 20<<8:
		return append(b, byte(n>>8-52), byte(n))
	case magnitude < 16<<16:
		return append(b, byte(n>>16-88), byte(n>>8), byte(n))
	case magnitude < 8<<24:
		return append(b, byte(n>>24-112), byte(n>>16), byte(n>>8), byte(n))
	}
	size := bits.Len64(magnitude)/8 + 1
	var all [8]byte
	binary.BigEndian.PutUint64(all[:], uint64(n))
	return append(append(b, byte(size-129)), all[8-size:]...)
}

// readVint reads what appendVint wrote. The error is io.EOF only where nothing
// at all follows.
func readVint(r io.ByteReader) (int64, error) {
	first, err := r.ReadByte()
	if err != nil {
		return 0, err
	}
	head := int64(int8(first))
	var more int
	switch {
	case head >= -32:
		return head, nil
	case head >= -72:
		head, more = head+52, 1
	case head >= -104:
		head, more = head+88, 2
	case head >= -120:
		head, more = head+112, 3
	default:
		if more = int(head) + 129; more < 4 {
			return 0, errVint
		}
		next, err := r.ReadByte()
		if err != nil {
			return 0, unexpected(err)
		}
		head, more = int64(int8(next)), more-1
	}
	for range more {
		next, err := r.ReadByte()
		if err != nil {
			return 0, unexpected(err)
		}
		head = head<<8 | int64(next)
	}
	return head, nil
}

// unexpected is err where more had to follow.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
