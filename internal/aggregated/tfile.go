package aggregated

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Limits of records.
const (
	maxKeyBytes = 64 << 10
	maxACLs     = 64
)

// The keys that are no container's.
const (
	keyVersion = "VERSION"
	keyACLs    = "APPLICATION_ACL"
	keyOwner   = "APPLICATION_OWNER"
)

// version is the value of keyVersion.
const version = 1

// tfile reads a TFile from its first record to its last.
type tfile struct {
	blocks *blocks
	value  *value // of the record at hand; nil before the first
	file   File
	left   int64 // of file, to be read
	err    error

	owner string
	acls  []ACL
}

func openTFile(file io.Reader) (*tfile, error) {
	b, err := openBlocks(file)
	if err != nil {
		return nil, err
	}
	return &tfile{blocks: b}, nil
}

func (r *tfile) Owner() string { return r.owner }

func (r *tfile) Node() string { return "" }

func (r *tfile) ACLs() []ACL { return r.acls }

func (r *tfile) NextContainer() (string, error) {
	for r.err == nil {
		var key string
		if key, r.err = r.nextKey(); r.err != nil {
			break
		}
		switch key {
		case keyVersion:
			r.err = r.readVersion()
		case keyOwner:
			r.owner, r.err = readText(r.value)
			r.err = unexpected(r.err)
		case keyACLs:
			r.err = r.readACLs()
		default:
			r.file, r.left = File{}, 0
			return key, nil
		}
		if r.err != nil {
			r.err = fmt.Errorf("the record %s: %w", key, r.err)
		}
	}
	return "", r.err
}

// nextKey passes over what is left of the record at hand.
func (r *tfile) nextKey() (string, error) {
	if r.value != nil {
		if err := r.value.skip(); err != nil {
			return "", fmt.Errorf("after %s: %w", r.file.Name, err)
		}
		r.value = nil
	}
	if err := r.blocks.next(); err != nil {
		return "", err
	}
	size, err := readVint(r.blocks.plain)
	if err != nil {
		return "", unexpected(err)
	}
	if size < 2 || size > maxKeyBytes {
		return "", fmt.Errorf("a key of %d bytes; 2 to %d are allowed", size, maxKeyBytes)
	}
	key, err := readText(io.LimitReader(r.blocks.plain, size))
	if err != nil {
		return "", fmt.Errorf("a key: %w", unexpected(err))
	}
	r.value = &value{blocks: r.blocks}
	return key, nil
}

func (r *tfile) readVersion() error {
	var b [4]byte
	if _, err := io.ReadFull(r.value, b[:]); err != nil {
		return unexpected(err)
	}
	if v := binary.BigEndian.Uint32(b[:]); v != version {
		return fmt.Errorf("version %d is not known here", v)
	}
	return nil
}

func (r *tfile) readACLs() error {
	for {
		access, err := readText(r.value)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		list, err := readText(r.value)
		if err != nil {
			return unexpected(err)
		}
		if len(r.acls) == maxACLs {
			return fmt.Errorf("more than %d lists", maxACLs)
		}
		r.acls = append(r.acls, ACL{access, list})
	}
}

// NextFile ends the container at a last file that is shorter than announced, which is how
// Hadoop writes one that shrinks at the wrong moment.
func (r *tfile) NextFile() (File, error) {
	if r.err != nil {
		return File{}, r.err
	}
	if r.value == nil {
		return File{}, io.EOF
	}
	if r.left > 0 {
		if err := r.value.discard(r.left); errors.Is(err, errValueEnded) {
			return File{}, r.endContainer(nil)
		} else if err != nil {
			return File{}, r.endContainer(err)
		}
		r.left = 0
	}
	name, err := readText(r.value)
	if errors.Is(err, io.EOF) {
		return File{}, r.endContainer(nil)
	}
	var size int64
	if err == nil {
		size, err = r.readSize()
	}
	if err != nil {
		return File{}, r.endContainer(err)
	}
	r.file, r.left = File{Name: name, Size: size}, size
	return r.file, nil
}

// endContainer leaves nothing to be read of it; a failure ends all.
func (r *tfile) endContainer(err error) error {
	r.left = 0
	if err == nil {
		return io.EOF
	}
	r.err = fmt.Errorf("after %s: %w", r.file.Name, err)
	return r.err
}

func (r *tfile) readSize() (int64, error) {
	text, err := readText(r.value)
	if err != nil {
		return 0, unexpected(err)
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("%.40q is no size of a file", text)
	}
	return size, nil
}

func (r *tfile) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.value.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if err != nil {
		r.left = 0
		return n, unexpected(err)
	}
	return n, nil
}

func (r *tfile) Skip(n int64) error {
	n = min(n, r.left)
	err := r.value.discard(n)
	if r.left -= n; err != nil {
		r.left = 0
		return unexpected(err)
	}
	return nil
}
