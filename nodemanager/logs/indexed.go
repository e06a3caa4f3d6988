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

// Indexed has the settings that apply only to files in the indexed format.
type Indexed struct {
	MaxBytes int64         // a file of this size or more is not appended to (indexedFile.log.roll-over.max-file-size-gb)
	Tries    int           // how often removing the check is tried (indexedFile.fs.op.num-retries, plus one)
	Pause    time.Duration // between two tries (indexedFile.fs.retry-interval-ms)
}

// maxTorn is how many bytes of failed rounds, which nobody can read, a file may end with and still be appended to. As each round
// collects the same logs again, one that always fails would fill the file system.
const maxTorn = 64 << 20

func (b *batch) rolls() bool { return b.a.u.cfg.Roll > 0 && b.a.wishes.rolls() }

// createIndexed begins an indexed file, or appends to one with earlier rounds if the application's logs are rolled.
//
// A new file has a temporary name until it is complete, so nobody sees half of one. While a round is appended to a file, another file, the check,
// says up to which byte the file is complete, so that readers still see the earlier rounds after a crash.
func (b *batch) createIndexed() error {
	u := b.a.u
	about := aggregated.Collection{Application: b.a.ID, Owner: b.a.User, Node: u.cfg.Node, ACLs: b.a.acls(), Compression: u.cfg.Compression, Time: u.cfg.Clock.Now().Wall}
	if b.rolls() {
		if files, ok := b.files.(filesystem.Appender); ok {
			writer, err := b.appendIndexed(files, about)
			if err != nil {
				u.cfg.Log.Warn("cannot append to the file with earlier logs of an application; a new file is begun", "application", b.a.ID, "error", err)
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

// appendIndexed begins a round in this node's newest file; nil if there is none to which one can be appended.
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
			err = fmt.Errorf("%s has %d bytes, but had at least %d", name, info.Size, end)
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

// newest returns the name of the file to append to, and where its last complete round ends: this node's file with the latest time in its name, unless that has
// reached its maximum size; "" if there is none. A file that the check says was left in the middle of a round comes first.
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

// left returns the file in which a round was left unfinished, and up to which byte the file is complete. If that is 0, nobody appends to the file again, and
// the check is removed, or renamed if readers of the file still need it. A check that cannot be read stays.
func (b *batch) left(checkSize int64, sizes map[string]int64) (string, int64, error) {
	name, complete, whole, err := b.readCheck(checkSize)
	if err != nil {
		return "", 0, fmt.Errorf("reading %s: %w", b.checkFile(), err)
	}
	size, known := sizes[name]
	switch {
	case !whole || !known || complete < 0: // nothing was appended, or the file does not exist
		name = ""
	case complete == 0: // a NodeManager of Apache's had begun the file
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

// readCheck reads a check of the given size; whole is false if its writer did not finish it. An error cannot tell that: HDFS gives the same one
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
		return nil, errors.New("the file cannot be read from its end")
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

// endRound removes the check, which makes the appended round visible.
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
