package labelfiles

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/pb"
)

// Report is what Check and Repair found.
type Report struct {
	Directory string
	Damage    *DamageError // nil: all is whole
	// Readable is what can be read. If a file is damaged some of it may be wrong: single
	// entries have no checksum.
	Readable          state.Labels
	WantLabels, Nodes int      // how many there were at the last change; -1: not known
	Aside             []string // Repair: names of the copies of the damaged files
	Repaired          bool     // Repair: there is a new mirror
}

// Check reads the directory and changes nothing.
func Check(ctx context.Context, o Options) (*Report, error) {
	return inspect(ctx, o, func(*files, filesystem.FileSystem, *Report) error { return nil })
}

// Repair copies damaged files and writes a mirror of what can be read; files
// that are whole are left alone.
func Repair(ctx context.Context, o Options, now time.Time) (*Report, error) {
	return inspect(ctx, o, func(f *files, sys filesystem.FileSystem, r *Report) error {
		if r.Damage == nil {
			return nil
		}
		suffix := ".damaged-" + now.UTC().Format("20060102T150405Z")
		for _, name := range []string{mirrorFile, newMirror, oldMirror, logFile} {
			b, err := f.bytes(sys, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				err = f.write(sys, name+suffix, b)
			}
			if err != nil {
				return fmt.Errorf("keep a copy of %s: %w; nothing was changed", f.o.URL.At(f.at(name)), err)
			}
			r.Aside = append(r.Aside, f.o.URL.At(f.at(name+suffix)).String())
		}
		if err := f.replace(sys, r.Readable); err != nil {
			return err
		}
		if err := sys.Remove(f.at(logFile)); err != nil {
			return err
		}
		r.Repaired = true
		return f.clear(sys, false, false)
	})
}

// inspect reads the directory and then calls do, while the directory is locked.
func inspect(ctx context.Context, o Options, do func(*files, filesystem.FileSystem, *Report) error) (*Report, error) {
	f := &files{o: o}
	f.o.URL = o.Systems.Resolve(o.URL)
	r := &Report{Directory: f.o.URL.String(), WantLabels: -1, Nodes: -1}
	err := f.with(ctx, func(sys filesystem.FileSystem) error {
		if _, err := sys.Stat(f.o.URL.Path); err != nil {
			return err
		}
		if f.local() {
			if err := f.lock(); err != nil {
				return err
			}
			defer f.claim.Close()
		}
		if err := f.look(sys, r); err != nil {
			return err
		}
		return do(f, sys, r)
	})
	if err != nil {
		return nil, fmt.Errorf("the directory of node labels %s: %w", f.o.URL, err)
	}
	return r, nil
}

// look reads the files as a start does; if one is damaged, what can be read of it.
func (f *files) look(sys filesystem.FileSystem, r *Report) error {
	w, err := f.readWitness(sys)
	if err != nil {
		return err
	}
	if w.number > 0 {
		r.WantLabels, r.Nodes = w.labels, w.nodes
	}
	f.number = w.number
	c := newContent(f.o.Limits)
	_, err = f.readMirrors(sys, c, w)
	if errors.As(err, &r.Damage) {
		c, err = f.salvage(sys)
	}
	if err != nil {
		return err
	}
	if _, _, err = f.readLog(sys, c); err != nil && !errors.As(err, &r.Damage) {
		return err
	}
	r.Readable = c.record()
	return nil
}

// bytes is the content of a file.
func (f *files) bytes(sys filesystem.FileSystem, name string) ([]byte, error) {
	file, err := sys.Open(f.at(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, 2*maxMessage+2*binary.MaxVarintLen64+1))
}

// salvage reads the entries of a damaged mirror one by one and leaves out those that
// make no sense.
func (f *files) salvage(sys filesystem.FileSystem) (*content, error) {
	c := newContent(f.o.Limits)
	b, err := f.bytes(sys, mirrorFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rest := entries(b, func(number protowire.Number, value []byte) {
		var l pb.NodeLabel
		if number == 2 && proto.Unmarshal(value, &l) == nil && len(l.ProtoReflect().GetUnknown()) == 0 {
			_ = c.add(&pb.AddToClusterNodeLabelsRequest{NodeLabels: []*pb.NodeLabel{&l}})
		}
	})
	if f.o.Nodes {
		entries(rest, func(number protowire.Number, value []byte) {
			var n pb.NodeIdToLabels
			if number == 1 && proto.Unmarshal(value, &n) == nil && len(n.ProtoReflect().GetUnknown()) == 0 {
				_ = c.replace(&pb.ReplaceLabelsOnNodeRequest{NodeToLabels: []*pb.NodeIdToLabels{&n}})
			}
		})
	}
	return c, nil
}

// entries calls each with the byte strings of the message at the beginning of b, and
// returns what follows the message.
func entries(b []byte, each func(protowire.Number, []byte)) (rest []byte) {
	size, n := binary.Uvarint(b)
	if n <= 0 {
		return nil
	}
	b = b[n:]
	b, rest = b[:min(size, uint64(len(b)))], b[min(size, uint64(len(b))):]
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return rest
		}
		m := protowire.ConsumeFieldValue(number, kind, b[n:])
		if m < 0 {
			return rest
		}
		if kind == protowire.BytesType {
			if value, _ := protowire.ConsumeBytes(b[n:]); len(value) > 0 {
				each(number, bytes.Clone(value))
			}
		}
		b = b[n+m:]
	}
	return rest
}
