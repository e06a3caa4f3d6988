package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// batch is one upload: one file on the file system, created when the first log
// file is found.
type batch struct {
	a     *Application
	ctx   context.Context
	final bool

	files    filesystem.FileSystem // nil while there is nothing to write
	dir      filesystem.URL
	out      io.WriteCloser // nil unless open
	begun    bool           // the unfinished file exists
	appended bool           // the file already has earlier rounds
	writer   writer
	inside   yarn.ContainerID // whose record is being written
	took     []took

	missed  error // why the first log was not collected that should have been
	missing int   // how many there are
}

// writer is an aggregated.Writer, or an aggregated.IndexedWriter.
type writer interface {
	Container(id string) error
	File(f aggregated.File, content io.Reader) error
	Close() error
}

// took is a log file that was collected.
type took struct {
	logDir    string
	container Container
	file      view.LogFile
}

// container uploads a container's log files from all log directories. It
// returns an error only if the uploaded file cannot be written.
func (b *batch) container(c Container) error {
	var there []view.LogFile
	for _, logDir := range slices.Sorted(slices.Values(b.a.u.cfg.Dirs())) {
		dir, err := openContainer(logDir, c.ID)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			b.miss(c, logDir, err)
			continue
		}
		all, err := b.from(dir, logDir, c)
		dir.Close()
		if err != nil {
			return err
		}
		there = append(there, all...)
	}
	b.a.seen[c.ID].forget(there)
	return nil
}

// miss records a log that should have been uploaded and was not.
func (b *batch) miss(c Container, what string, err error) {
	b.warn(c, what, err)
	if b.missing++; b.missed == nil {
		b.missed = fmt.Errorf("%s of %s: %w", what, c.ID, err)
	}
}

func (b *batch) warn(c Container, what string, err error) {
	b.a.u.cfg.Log.Warn("some logs are not collected", "container", c.ID, "what", what, "error", err)
}

// from collects what a container has in one log directory, and tells what there
// is.
func (b *batch) from(dir *os.Root, logDir string, c Container) ([]view.LogFile, error) {
	all, others, err := listFiles(dir)
	if err != nil {
		b.miss(c, logDir, err)
	}
	if others > 0 {
		b.warn(c, logDir, fmt.Errorf("%d entries are no regular files", others))
	}
	for _, f := range all {
		if !b.a.wishes.selects(f.Name, c.Ended, b.final) || b.a.seen[c.ID][markOf(f)] {
			continue
		}
		if err := b.file(dir, logDir, c, f.Name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (b *batch) file(dir *os.Root, logDir string, c Container, name string) error {
	file, info, err := openFile(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted meanwhile
	}
	if err != nil {
		b.miss(c, name, err)
		return nil
	}
	defer file.Close()
	if err := b.begin(c); err != nil {
		return err
	}
	err = b.writer.File(aggregated.File{Name: name, Size: info.Size(), Modified: info.ModTime().UnixMilli()}, file)
	var short *aggregated.Short
	switch {
	case errors.As(err, &short) && short.Err != nil:
		b.miss(c, name, err)
	case errors.As(err, &short):
		b.warn(c, name, err)
	case err != nil:
		return err
	}
	b.took = append(b.took, took{logDir, c, logFile(info)})
	return nil
}

// node is the name of the finished file.
func (b *batch) node() string {
	u := b.a.u
	if u.cfg.Roll > 0 && u.cfg.Layout.TFile || b.rolls() {
		return aggregated.RolledName(u.cfg.Node, u.cfg.Clock.Now().Wall)
	}
	return aggregated.NodeName(u.cfg.Node)
}

func (b *batch) unfinished() string {
	return path.Join(b.dir.Path, aggregated.NodeName(b.a.u.cfg.Node)+aggregated.Unfinished)
}

// begin makes sure that the container's record is being written.
func (b *batch) begin(c Container) error {
	if b.writer == nil {
		if err := b.create(); err != nil {
			return err
		}
	}
	if b.inside == c.ID {
		return nil
	}
	b.inside = c.ID
	return b.writer.Container(c.ID.String())
}

func (b *batch) create() (err error) {
	if b.files, b.dir, err = b.a.connect(b.ctx); err != nil {
		return err
	}
	if b.a.u.cfg.Layout.Indexed {
		return b.createIndexed()
	}
	if err := b.createUnfinished(); err != nil {
		return err
	}
	b.writer, err = aggregated.NewWriter(b.out, b.a.u.cfg.Compression, b.a.User, b.a.acls())
	return err
}

func (b *batch) createUnfinished() (err error) {
	if b.out, err = b.files.Create(b.unfinished(), fileMode, true); err == nil {
		b.begun = true
	}
	return err
}

// finish gives the file its name.
func (b *batch) finish() error {
	err := b.writer.Close()
	err = errors.Join(err, closeSynced(b.out))
	b.out = nil
	if err != nil {
		return err
	}
	if b.appended {
		return b.endRound()
	}
	if b.rolls() && b.a.u.cfg.Layout.TFile {
		if err := dropOldest(b.files, b.dir, aggregated.NodeName(b.a.u.cfg.Node), b.a.u.cfg.Keep); err != nil {
			b.a.u.cfg.Log.Warn("old collections of logs stay", "application", b.a.ID, "error", err)
		}
	}
	if err := b.files.Rename(b.unfinished(), path.Join(b.dir.Path, b.node())); err != nil {
		return err
	}
	b.begun = false
	return nil
}

// abandon closes what is open, and removes a file that was not finished.
func (b *batch) abandon() {
	if b.out != nil {
		b.out.Close()
	}
	if b.begun {
		if err := b.files.Remove(b.unfinished()); err != nil {
			b.a.u.cfg.Log.Warn("an unfinished collection of logs stays", "application", b.a.ID, "error", err)
		}
	}
	if b.files != nil {
		b.files.Close()
	}
}

// commit remembers what was collected, and deletes it where logs are rolled.
func (b *batch) commit() {
	for _, t := range b.took {
		if b.a.seen[t.container.ID] == nil {
			b.a.seen[t.container.ID] = seen{}
		}
		b.a.seen[t.container.ID][markOf(t.file)] = true
		if !b.final && b.a.u.cfg.Cleanup {
			if err := removeFile(t); err != nil {
				b.a.u.cfg.Log.Warn("a log file was collected and cannot be deleted", "container", t.container.ID, "file", t.file.Name, "error", err)
			}
		}
	}
}

// removeFile deletes a collected file, unless something has been written to it
// since, or another file has taken its name.
func removeFile(t took) error {
	dir, err := openContainer(t.logDir, t.container.ID)
	if err != nil {
		return err
	}
	defer dir.Close()
	info, err := dir.Lstat(t.file.Name)
	if err != nil || logFile(info) != t.file {
		return err
	}
	return dir.Remove(t.file.Name)
}

// err reports the logs that were not uploaded, nil if there are none.
func (b *batch) err() error {
	switch b.missing {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("not collected: %w", b.missed)
	}
	return fmt.Errorf("%d logs are not collected, first %w", b.missing, b.missed)
}
