package localize

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
)

// untar unpacks a tar file as it comes: files, directories, symbolic and hard links. A second entry of a name replaces
// the first. Devices and pipes are refused.
func (t *tree) untar(in io.Reader, gzipped bool) error {
	if gzipped {
		z, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("it is not compressed by gzip: %w", err)
		}
		defer z.Close()
		in = inflated{z, t.budget, new(int64)}
	}
	headers := &headerReader{r: in, b: t.budget}
	r := tar.NewReader(headers)
	for {
		headers.begin()
		h, err := r.Next()
		headers.end()
		if err == io.EOF { //nolint:errorlint // a wrapped one is a failure
			return nil
		}
		if err == nil {
			err = t.untarOne(h, r)
		}
		if err != nil {
			return err
		}
	}
}

func (t *tree) untarOne(h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		return t.file(h.Name, sane(h.ModTime), content)
	case tar.TypeDir:
		return t.dir(h.Name)
	case tar.TypeSymlink:
		return t.symlink(h.Name, h.Linkname)
	case tar.TypeLink:
		return t.link(h.Name, h.Linkname)
	case tar.TypeXGlobalHeader, 'V': // remarks, and the volume's label
		return t.entry(h.Name)
	}
	return fmt.Errorf("entry %q is neither a file, a directory nor a link (type %q)", h.Name, h.Typeflag)
}

// headerReader counts what is read between two entries: the reader holds it in memory, and several times its size where it
// is a list of the parts of a sparse file.
type headerReader struct {
	r    io.Reader
	b    *budget
	on   bool
	read int64
}

func (h *headerReader) begin() { h.on, h.read = true, 0 }
func (h *headerReader) end()   { h.on = false }

func (h *headerReader) Read(p []byte) (int, error) {
	if !h.on {
		return h.r.Read(p)
	}
	if h.read > h.b.limits.Headers {
		return 0, fmt.Errorf("what it says about one entry is longer than %d bytes", h.b.limits.Headers)
	}
	if h.read > h.b.limits.SmallHeaders {
		if err := h.b.enlarge(); err != nil {
			return 0, err
		}
	}
	n, err := h.r.Read(p)
	h.read += int64(n)
	return n, err
}
