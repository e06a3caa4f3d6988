package localize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/heddle-project/heddle/internal/filesystem"
)

// Limits bounds one fetch. A zero field has the default named beside it. They are far above what jobs need: Apache's
// NodeManager has none.
type Limits struct {
	Time    time.Duration // from beginning to end; 24 h
	Bytes   int64         // downloaded, and again unpacked; 256 GiB
	Entries int           // files, directories and links of an archive or directory; 1,000,000
	Names   int64         // bytes of their names together; 256 MiB
	Path    int           // bytes of one entry's path; 4095
	Depth   int           // of an entry, or of a directory; 100
	// Ratio is how much larger than the archive its content may be, beyond RatioFree bytes; 250. (No compression of
	// zeros that gzip and zip know does better than 1032.)
	Ratio     int64
	RatioFree int64 // bytes that count for no ratio; 1 GiB
	Index     int64 // bytes of a zip file's directory; 64 MiB
	Headers   int64 // bytes of what a tar file says about one entry, held in memory; 2 MiB
	Listed    int   // entries of directories that are held in memory while they are copied; 50,000

	// What a fetch may have of these without being a large one. Of large ones only a few go on at once on the node, see
	// Config.Large: the others wait.
	Small        int   // of Entries; 50,000
	SmallHeaders int64 // 32 KiB
	SmallListed  int   // 2,000
}

func (l Limits) filled() Limits {
	fill(&l.Time, 24*time.Hour)
	fill(&l.Bytes, 256<<30)
	fill(&l.Entries, 1_000_000)
	fill(&l.Names, 256<<20)
	fill(&l.Path, 4095)
	fill(&l.Depth, 100)
	fill(&l.Ratio, 250)
	fill(&l.RatioFree, 1<<30)
	fill(&l.Index, 64<<20)
	fill(&l.Headers, 2<<20)
	fill(&l.Listed, 50_000)
	fill(&l.Small, 50_000)
	fill(&l.SmallHeaders, 32<<10)
	fill(&l.SmallListed, 2000)
	return l
}

func fill[T time.Duration | int64 | int](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

// budget counts what one fetch has cost so far.
type budget struct {
	limits  Limits
	ctx     context.Context
	entries int
	names   int64
	written int64 // bytes, of files alone
	read    int64 // bytes of an archive, packed; 0 where nothing is unpacked
	listed  int   // entries of directories that are held

	large   *seats // where large fetches take theirs; nil: all may go on
	user    string // whose fetch it is
	waits   func() // called when it has to wait for one
	isLarge bool   // it has one
	buffer  []byte // of copy
}

// enlarge counts the fetch as a large one, which may have to wait until other
// large fetches end.
func (b *budget) enlarge() error {
	if b.isLarge || b.large == nil {
		return nil
	}
	if err := b.large.take(b.ctx, b.user, b.waits); err != nil {
		return fmt.Errorf("it waited for other large resources: %w", err)
	}
	b.isLarge = true
	return nil
}

// end releases the seat that others wait for.
func (b *budget) end() {
	if b.isLarge {
		b.large.give(b.user)
	}
}

// entry counts a file, directory or link.
func (b *budget) entry(name string) error {
	if err := context.Cause(b.ctx); err != nil {
		return err
	}
	if b.entries++; b.entries > b.limits.Entries {
		return fmt.Errorf("it has more than %d entries", b.limits.Entries)
	}
	if b.names += int64(len(name)); b.names > b.limits.Names {
		return fmt.Errorf("the names of its entries are longer than %d bytes together", b.limits.Names)
	}
	if b.entries > b.limits.Small {
		return b.enlarge()
	}
	return nil
}

// list lists a directory of the source with at most so many entries. They are held until unlist.
func (b *budget) list(from filesystem.FileSystem, dir string, most int) ([]filesystem.Info, error) {
	infos, err := from.List(dir, max(min(most, b.limits.SmallListed-b.listed), 0))
	if errors.Is(err, filesystem.ErrTooMany) {
		if err := b.enlarge(); err != nil {
			return nil, err
		}
		infos, err = from.List(dir, max(min(most, b.limits.Listed-b.listed), 0))
	}
	if errors.Is(err, filesystem.ErrTooMany) {
		err = fmt.Errorf("%w: more than %d in all, or %d in directories that lie in each other", err, b.limits.Entries, b.limits.Listed)
	}
	b.listed += len(infos)
	return infos, err
}

func (b *budget) unlist(infos []filesystem.Info) { b.listed -= len(infos) }

func (b *budget) write(n int) error {
	b.written += int64(n)
	if b.written > b.limits.Bytes {
		return fmt.Errorf("it has more than %d bytes", b.limits.Bytes)
	}
	return b.grown(b.written)
}

// grown judges how many bytes have come of those that were read of an archive.
func (b *budget) grown(n int64) error {
	if b.read > 0 && n > b.limits.RatioFree && n/b.limits.Ratio > b.read {
		return fmt.Errorf("it unpacks to more than %d times its size", b.limits.Ratio)
	}
	return context.Cause(b.ctx)
}

// copyBuffer is the unit of copying, and of looking whether a fetch goes on.
const copyBuffer = 128 << 10

// copy copies all of r, within the budget.
func (b *budget) copy(w io.Writer, r io.Reader) error {
	if b.buffer == nil {
		b.buffer = make([]byte, copyBuffer)
	}
	for {
		n, err := r.Read(b.buffer)
		if n > 0 {
			if err := b.write(n); err != nil {
				return err
			}
			if _, err := w.Write(b.buffer[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF { //nolint:errorlint // a wrapped one is a failure
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// counted counts what is read of an archive.
type counted struct {
	r io.Reader
	b *budget
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.b.read += int64(n); c.b.read > c.b.limits.Bytes {
		return 0, fmt.Errorf("it has more than %d bytes", c.b.limits.Bytes)
	}
	return n, err
}

// inflated judges what comes out of a decompressor before anybody looks at it: headers without end count, too.
type inflated struct {
	r io.Reader
	b *budget
	n *int64
}

func (i inflated) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	*i.n += int64(n)
	if e := i.b.grown(*i.n); e != nil {
		return 0, e
	}
	return n, err
}
