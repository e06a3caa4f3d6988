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

// sealField is the first field of the first message of a mirror: the number of the
// change that wrote the file and a checksum of the whole file. Apache's ResourceManager
// does not know it and skips it. A mirror without it was written by Apache's.
const sealField = protowire.Number(7000)

const (
	numberLen = 8
	sumLen    = 16 // the first bytes of a SHA-256 of the file with zeros in this place
)

// emptySeal is the field with zeros in place of the checksum.
func emptySeal(number uint64) []byte {
	b := protowire.AppendTag(nil, sealField, protowire.BytesType)
	b = protowire.AppendVarint(b, numberLen+sumLen)
	b = binary.BigEndian.AppendUint64(b, number)
	return append(b, make([]byte, sumLen)...)
}

// findSeal is the position of the number in a mirror's seal.
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

// fillSeal writes the checksum into a mirror's seal.
func fillSeal(b []byte) error {
	at, ok := findSeal(b)
	if !ok {
		return errNoSeal
	}
	sum := sha256.Sum256(b)
	copy(b[at+numberLen:], sum[:sumLen])
	return nil
}

// checkSeal checks the checksum of a mirror and returns the number in its seal. A mirror
// without a seal is no error.
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

// readSealed reads a mirror and checks it against its seal and the witness.
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

// witness is what the witness file says about the last change that was acknowledged.
type witness struct {
	exists        bool   // there is a file
	number        uint64 // of the change; 0: not known
	labels, nodes int    // how many there were after it
}

const witnessFormat = "heddle 1 %d %d %d"

// readWitness reads the witness. A damaged one only shows that there was a mirror.
func (f *files) readWitness(sys filesystem.FileSystem) (w witness, err error) {
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
		f.o.Log.Warn("the number of the last change of node labels cannot be read; the file is written anew", "file", f.o.URL.At(f.at(witnessFile)).String())
		return w, nil
	}
	_, err = fmt.Sscanf(string(text), witnessFormat, &w.number, &w.labels, &w.nodes)
	return w, err
}

func sumOf(text []byte) string {
	return fmt.Sprintf("%08x\n", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// prepareWitness writes the next witness, of change number, beside the present one.
func (f *files) prepareWitness(sys filesystem.FileSystem, number uint64, l state.Labels) error {
	text := fmt.Appendf(nil, witnessFormat, number, len(l.Known), len(l.Nodes))
	return f.write(sys, newWitness, append(append(text, " sum "...), sumOf(text)...))
}

// replaceWitness puts the next witness in place of the present one.
func (f *files) replaceWitness(sys filesystem.FileSystem) error {
	return sys.Rename(f.at(newWitness), f.at(witnessFile))
}

// hasUnknown tells whether a message has unknown fields; the seal is one.
func hasUnknown(m *pb.AddToClusterNodeLabelsRequest) bool {
	return len(m.ProtoReflect().GetUnknown()) > 0
}
