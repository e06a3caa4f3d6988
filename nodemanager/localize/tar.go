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
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
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
