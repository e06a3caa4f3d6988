package localize

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/javaregexp"
)

// format is how a resource is packed.
type format uint8

const (
	plain format = iota
	zipped
	jarred // a zip file of which, under PATTERN, some entries are unpacked
	tarred
	tarGzipped
)

// formatOf goes by the end of the name, whatever its case.
func formatOf(t Type, name string) format {
	lower := strings.ToLower(name)
	switch {
	case t == File:
		return plain
	case strings.HasSuffix(lower, ".jar"):
		return jarred
	case strings.HasSuffix(lower, ".zip"):
		return zipped
	case strings.HasSuffix(lower, ".tar.gz"), strings.HasSuffix(lower, ".tgz"):
		return tarGzipped
	case strings.HasSuffix(lower, ".tar"):
		return tarred
	}
	return plain
}

// unpack downloads an archive and unpacks it to the directory of its name. A tar file is unpacked as it comes; a zip file
// has its directory at the end, so it lies beside its content meanwhile.
func (j *job) unpack(t *tree, f format, name string) error {
	if j.req.Type == Pattern && f != jarred {
		j.f.cfg.Log.Warn("unpacked whole: a pattern is for jars", "resource", j.req.String())
	}
	in, err := j.source.Open(j.req.URL.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := t.dir(name); err != nil {
		return err
	}
	below, err := t.root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer below.Close()
	content := *t
	content.root = below
	switch {
	case f == tarred || f == tarGzipped:
		err = content.untar(counted{in, &j.budget}, f == tarGzipped)
	case f == jarred && j.req.Type == Pattern:
		err = j.unpackMatching(&content, in, name)
	default:
		err = j.unpackZip(t.root, &content, in)
	}
	if err == nil {
		err = content.finish()
	}
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	return nil
}

// spool is the name of a zip file while it is unpacked. The directory for its content has another: it ends in .zip or .jar.
const spool = "spool"

func (j *job) unpackZip(at *os.Root, content *tree, in io.Reader) error {
	zip, size, err := j.download(at, spool, in)
	if err != nil {
		return err
	}
	defer zip.Close()
	if err := content.unzip(zip, size, func(string) bool { return true }); err != nil {
		return err
	}
	return at.Remove(spool)
}

// unpackMatching keeps the jar in the directory, beside the entries that match.
func (j *job) unpackMatching(content *tree, in io.Reader, name string) error {
	match := func(string) bool { return true }
	if j.req.Pattern != "" {
		var err error
		if match, err = javaregexp.ParseWhole(j.req.Pattern); err != nil {
			return err
		}
	}
	zip, size, err := j.download(content.root, name, in)
	if err != nil {
		return err
	}
	defer zip.Close()
	j.written += size
	clash := false
	err = content.unzip(zip, size, func(entry string) bool {
		if !match(entry) {
			return false
		}
		clean, err := content.clean(entry)
		clash = clash || err == nil && clean == name
		return !clash
	})
	if err == nil && clash {
		err = errors.New("one of the entries has the name of the jar itself")
	}
	if err != nil {
		return err
	}
	return zip.Chmod(content.modes.file)
}

// download brings an archive to disk. It counts as read; as written it counts only if it stays.
func (j *job) download(at *os.Root, name string, in io.Reader) (*os.File, int64, error) {
	f, err := at.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, 0, err
	}
	archive := budget{limits: j.limits, ctx: j.ctx} // another one, as these bytes are not what is unpacked
	if err := archive.copy(f, in); err != nil {
		f.Close()
		return nil, 0, err
	}
	j.read = max(archive.written, 1)
	return f, archive.written, nil
}

// sane is a time that file systems can keep; else the zero time.
func sane(t time.Time) time.Time {
	if t.Year() < 1970 || t.Year() > 2200 {
		return time.Time{}
	}
	return t
}
