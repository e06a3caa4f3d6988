package aggregated

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// errValueEnded is a value that ends before what was to be passed over.
var errValueEnded = fmt.Errorf("the record ends: %w", io.EOF)

// value reads one record's value, which is written in chunks: each with its
// size before it, negative unless it is the last.
type value struct {
	blocks *blocks
	left   int64 // of the chunk at hand
	last   bool
}

// chunk makes sure that there is something left of the chunk at hand; the error
// is io.EOF at the end of the value.
func (v *value) chunk() error {
	for v.left == 0 {
		if v.last {
			return io.EOF
		}
		size, err := readVint(v.blocks.plain)
		if err != nil {
			return unexpected(err)
		}
		if size > math.MaxInt32 || size < -math.MaxInt32 {
			return fmt.Errorf("a chunk of %d bytes", size)
		}
		if v.last = size >= 0; !v.last {
			size = -size
		}
		v.left = size
	}
	return nil
}

// Read implements io.Reader.
func (v *value) Read(p []byte) (int, error) {
	if err := v.chunk(); err != nil {
		return 0, err
	}
	n, err := v.blocks.plain.Read(p[:min(int64(len(p)), v.left)])
	v.left -= int64(n)
	return n, unexpected(err)
}

// discard passes over n bytes.
func (v *value) discard(n int64) error {
	for n > 0 {
		switch err := v.chunk(); {
		case errors.Is(err, io.EOF):
			return errValueEnded
		case err != nil:
			return err
		}
		step := min(n, v.left)
		if err := v.blocks.skip(step); err != nil {
			return err
		}
		v.left -= step
		n -= step
	}
	return nil
}

// skip passes over all that is left.
func (v *value) skip() error {
	if err := v.discard(math.MaxInt64); !errors.Is(err, errValueEnded) {
		return err
	}
	return nil
}
