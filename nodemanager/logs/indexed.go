package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/filesystem"
)

// Indexed is what counts for files in the indexed format alone.
type Indexed struct {
	MaxBytes int64         // from which on a file is not appended to (indexedFile.log.roll-over.max-file-size-gb)
	Tries    int           // of removing the file that says up to where another is complete (indexedFile.fs.op.num-retries, and one)
	Pause    time.Duration // between them (indexedFile.fs.retry-interval-ms)
}

// maxTorn is how many bytes of failed rounds, which nobody can read, a file may end with and still be appended to. As each round
// collects the same logs again, one that always fails would fill the file system.
const maxTorn = 64 << 20

func (b *batch) rolls() bool { return b.a.u.cfg.Roll > 0 && b.a.wishes.rolls() }

// createIndexed begins an indexed file, or appends to one that has earlier rounds of an application whose logs are rolled.
//
// A new file has another name until it is complete, so nobody sees half of one. Before a file is appended to, the check says up to
// where it is complete, which it does until the round is; after a crash readers go on to see the earlier rounds.
func (b *batch) createIndexed() error {
	u := b.a.u
	about := aggregated.Collection{Application: b.a.ID, Owner: b.a.User, Node: u.cfg.Node, ACLs: b.a.acls(), Compression: u.cfg.Compression, Time: u.cfg.Clock.Now().Wall}
	if b.rolls() {
		if files, ok := b.files.(filesystem.Appender); ok {
			writer, err := b.appendIndexed(files, about)
			if err != nil {
				u.cfg.Log.Warn("earlier logs of an application cannot be appended to; a file of their own is begun", "application", b.a.ID, "error", err)
			}
			if writer != nil {
				b.writer = writer
				return nil
			}
		}
	}
	if err := b.createUnfinished(); err != nil {
		return err
	}
	writer, err := aggregated.NewIndexedWriter(b.out, about)
	b.writer = writer
	return err
}

func (b *batch) at(name string) string { return path.Join(b.dir.Path, name) }

func (b *batch) checkFile() string { return b.at(aggregated.CheckName(b.a.u.cfg.Node)) }

// appendIndexed continues this node's newest file; nil if there is none that can be.
func (b *batch) appendIndexed(files filesystem.Appender, about aggregated.Collection) (*aggregated.IndexedWriter, error) {
	name, end, checked, err := b.newest()
	if err != nil || name == "" {
		return nil, err
	}
	index, err := b.readIndex(name, end)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !index.Fits(about) {
		return nil, nil
	}
	if !checked {
		if err := b.writeCheck(name, end); err != nil {
			return nil, err
		}
	}
	out, err := files.Append(b.at(name))
	var info filesystem.Info
	if err == nil {
		if info, err = b.files.Stat(b.at(name)); err == nil && info.Size < end {
			err = fmt.Errorf("%s has %d bytes, and had %d", name, info.Size, end)
		}
	}
	if err != nil {
		if out != nil {
			out.Close()
		}
		if !checked {
			err = errors.Join(err, b.files.Remove(b.checkFile())) // nothing has been written
		}
		return nil, err
	}
	b.out, b.appended = out, true
	return aggregated.AppendIndexed(out, info.Size, about, index), nil
}

// newest is this node's file with the latest time in its name, unless it is large enough, and where it ends; "" if there is none.
// A file of which the check says that it was left in the middle of a round comes first.
func (b *batch) newest() (name string, end int64, checked bool, err error) {
	u := b.a.u
	all, err := b.files.List(b.dir.Path, aggregated.MaxNodes)
	if err != nil {
		return "", 0, false, err
	}
	sizes := map[string]int64{}
	for _, i := range all {
		if !i.Dir && !i.Link {
			sizes[i.Name] = i.Size
		}
	}
	if size, ok := sizes[aggregated.CheckName(u.cfg.Node)]; ok {
		left, complete, err := b.left(size, sizes)
		if err != nil || complete > 0 {
			return left, complete, true, err
		}
		delete(sizes, left)
	}
	latest := int64(-1)
	for n := range sizes {
		at, ok := aggregated.RolledAt(u.cfg.Node, n)
		if _, aside := sizes[aggregated.LastingCheckName(n)]; ok && !aside && at > latest {
			name, latest = n, at
		}
	}
	if name == "" || sizes[name] >= u.cfg.Indexed.MaxBytes {
		return "", 0, false, nil
	}
	return name, sizes[name], false, nil
}

// left is the file that a round was not finished in, and up to where it is complete. If that is 0, the file is not to be continued, and the check is gone:
// removed, or renamed where the file still needs one. As long as the check cannot be read it stays, because readers need it.
func (b *batch) left(checkSize int64, sizes map[string]int64) (string, int64, error) {
	name, complete, whole, err := b.readCheck(checkSize)
	if err != nil {
		return "", 0, fmt.Errorf("reading %s: %w", b.checkFile(), err)
	}
	size, known := sizes[name]
	switch {
	case !whole || !known || complete < 0: // no file was appended to yet, or it is not there
		name = ""
	case complete == 0: // what a NodeManager of Apache's had begun
		if err := b.files.Remove(b.at(name)); err != nil {
			return "", 0, err
		}
	case complete > size || size-complete > maxTorn:
		b.a.u.cfg.Log.Warn("rounds of logs of an application failed and left much behind; its file is not appended to again", "application", b.a.ID, "file", name, "bytes", size, "complete", complete)
		return name, 0, b.files.Rename(b.checkFile(), b.at(aggregated.LastingCheckName(name)))
	default:
		return name, complete, nil
	}
	return name, 0, b.files.Remove(b.checkFile())
}

// readCheck reads a check of that size; whole is false if it was not written to its end. An error does not tell that: HDFS gives the same one
// when a connection breaks.
func (b *batch) readCheck(size int64) (name string, end int64, whole bool, err error) {
	f, err := b.files.Open(b.checkFile())
	if err != nil {
		return "", 0, false, err
	}
	defer f.Close()
	content := make([]byte, min(size, aggregated.MaxCheckBytes))
	if _, err := io.ReadFull(f, content); err != nil {
		return "", 0, false, err
	}
	name, end, err = aggregated.ReadCheck(bytes.NewReader(content))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "", 0, false, nil
	}
	return name, end, err == nil, err
}

func (b *batch) readIndex(name string, end int64) (*aggregated.Index, error) {
	f, err := b.files.Open(b.at(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	seeker, ok := f.(io.ReadSeeker)
	if !ok {
		return nil, errors.New("it cannot be read from its end")
	}
	return aggregated.ReadIndex(seeker, end, b.a.ID)
}

func (b *batch) writeCheck(name string, end int64) error {
	f, err := b.files.Create(b.checkFile(), fileMode, true)
	if err != nil {
		return err
	}
	_, err = f.Write(aggregated.AppendCheck(nil, name, end))
	return errors.Join(err, closeSynced(f))
}

// closeSynced closes a file so that what comes next on the file system comes after its content, also after a loss of power.
func closeSynced(f io.WriteCloser) (err error) {
	if s, ok := f.(filesystem.Syncer); ok {
		err = s.Sync()
	}
	return errors.Join(err, f.Close())
}

// endRound makes what was appended visible.
func (b *batch) endRound() (err error) {
	c := b.a.u.cfg.Indexed
	for range max(c.Tries, 1) {
		if err = b.files.Remove(b.checkFile()); err == nil || errors.Is(err, fs.ErrPermission) {
			break
		}
		select {
		case <-b.ctx.Done():
			return errors.Join(err, context.Cause(b.ctx))
		case <-time.After(c.Pause):
		}
	}
	return err
}
