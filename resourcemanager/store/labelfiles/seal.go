package labelfiles

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/pb"
)

// The mirror begins, within its first message, with a field that Apache's
// ResourceManager does not know and passes over: the number of the change that
// wrote the file and a sum of the whole file. A mirror without it is Apache's.
const sealField = protowire.Number(7000)

const (
	numberLen = 8
	sumLen    = 16 // of a SHA-256 of the file with zeros in this place
)

// emptySeal is the field without its sum.
func emptySeal(number uint64) []byte {
	b := protowire.AppendTag(nil, sealField, protowire.BytesType)
	b = protowire.AppendVarint(b, numberLen+sumLen)
	b = binary.BigEndian.AppendUint64(b, number)
	return append(b, make([]byte, sumLen)...)
}

// findSeal is where a mirror has its seal: from the number on.
func findSeal(b []byte) (at int, ok bool) {
	_, n := binary.Uvarint(b)
	head := emptySeal(0)
	head = head[:len(head)-numberLen-sumLen]
	if n <= 0 || !bytes.HasPrefix(b[n:], head) || len(b) < n+len(head)+numberLen+sumLen {
		return 0, false
	}
	return n + len(head), true
}

var errNoSeal = errors.New("a mirror was made without a seal")

// fillSeal puts the sum in.
func fillSeal(b []byte) error {
	at, ok := findSeal(b)
	if !ok {
		return errNoSeal
	}
	sum := sha256.Sum256(b)
	copy(b[at+numberLen:], sum[:sumLen])
	return nil
}

// checkSeal is the number of a mirror that has a seal, if its sum is right.
func checkSeal(b []byte) (number uint64, sealed bool, err error) {
	at, ok := findSeal(b)
	if !ok {
		return 0, false, nil
	}
	bare := bytes.Clone(b)
	clear(bare[at+numberLen:][:sumLen])
	sum := sha256.Sum256(bare)
	if !bytes.Equal(sum[:sumLen], b[at+numberLen:][:sumLen]) {
		return 0, true, errors.New("its sum does not match: the stored bytes are not those that were written")
	}
	return binary.BigEndian.Uint64(b[at:]), true, nil
}

// readSealed reads a mirror and compares it with its seal and the witness.
func (c *content) readSealed(s *source, nodes bool, w witness) (number uint64, sealed bool, err error) {
	b, err := io.ReadAll(io.LimitReader(s.r, 2*maxMessage+2*binary.MaxVarintLen64+1))
	if err != nil {
		return 0, false, err
	}
	if number, sealed, err = checkSeal(b); err != nil {
		return 0, true, err
	}
	if sealed && number < w.number {
		return 0, true, fmt.Errorf("it is an older one: it was written by change %d, and %d was acknowledged", number, w.number)
	}
	inner := newSource(bytes.NewReader(b))
	err = c.readMirror(inner, nodes)
	s.began = inner.began
	if err == nil && !sealed && w.exists && c.unknown {
		err = errors.New("it has no seal, and fields that are not known")
	}
	return number, sealed, err
}

// witness tells of the last change that was acknowledged.
type witness struct {
	exists        bool
	number        uint64
	labels, nodes int
}

const witnessFormat = "heddle 1 %d %d %d"

// hear reads the witness. One that cannot be read shows that there was a mirror, and no more.
func (f *files) hear(sys filesystem.FileSystem) (w witness, err error) {
	file, err := sys.Open(f.at(witnessFile))
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	defer file.Close()
	w.exists = true
	b, err := io.ReadAll(io.LimitReader(file, 200))
	if err != nil {
		return w, err
	}
	text, sum, _ := bytes.Cut(b, []byte(" sum "))
	if string(sum) != sumOf(text) {
		f.o.Log.Warn("what tells which change of node labels was the last cannot be read, and is made anew", "file", f.o.URL.At(f.at(witnessFile)).String())
		return w, nil
	}
	_, err = fmt.Sscanf(string(text), witnessFormat, &w.number, &w.labels, &w.nodes)
	return w, err
}

func sumOf(text []byte) string {
	return fmt.Sprintf("%08x\n", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// prepareWitness writes down what the witness is to say of change number.
func (f *files) prepareWitness(sys filesystem.FileSystem, number uint64, l state.Labels) error {
	text := fmt.Appendf(nil, witnessFormat, number, len(l.Known), len(l.Nodes))
	return f.write(sys, newWitness, append(append(text, " sum "...), sumOf(text)...))
}

// testify makes that the witness.
func (f *files) testify(sys filesystem.FileSystem) error {
	return sys.Rename(f.at(newWitness), f.at(witnessFile))
}

// strange tells whether a message has fields that nobody knows but for the seal.
func strange(m *pb.AddToClusterNodeLabelsRequest) bool { return len(m.ProtoReflect().GetUnknown()) > 0 }
