package aggregated

import (
	"errors"
	"io"
)

// Copy copies n bytes of a log, or what there is of them. wrong is why they cannot be written, err why they cannot be read.
func Copy(w io.Writer, r io.Reader, n int64) (wrong, err error) {
	buf := make([]byte, 64<<10)
	for n > 0 {
		got, err := r.Read(buf[:min(n, int64(len(buf)))])
		if _, wrong := w.Write(buf[:got]); wrong != nil {
			return wrong, nil
		}
		n -= int64(got)
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}
