package shuffle

import (
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/wire/token"
)

const (
	// bufferSize is what a request gathers before it writes. Small answers are
	// read while they are checked, and written at once.
	bufferSize = 64 << 10
	// copySize is the largest partition that goes through the buffer, and not by
	// sendfile, which costs two more calls of the kernel.
	copySize = 32 << 10
	// maxHead is the longest that the header of a partition can be.
	maxHead = 9 + maxAttempt + 9 + 9 + 5
)

// fetch is one request in service. Fetches are pooled together with their
// buffers.
type fetch struct {
	server *Server
	job    *job
	reduce int32
	outputs
	buf  []byte // sent first
	rest []part // sent after buf
	held int    // files open in rest
	head []byte
}

// part is one partition that has been checked.
type part struct {
	attempt string
	rec     record
	file    file // closed if not held
	held    bool
}

func (s *Server) takeFetch() *fetch {
	if f, ok := s.scratch.Get().(*fetch); ok {
		return f
	}
	return &fetch{server: s, buf: make([]byte, 0, bufferSize)}
}

func (s *Server) giveFetch(f *fetch) {
	for i := range f.rest {
		f.release(&f.rest[i])
	}
	clear(f.rest)
	f.outputs.close()
	f.job, f.buf, f.rest = nil, f.buf[:0], f.rest[:0]
	s.scratch.Put(f)
}

func (f *fetch) release(p *part) {
	if p.held {
		p.file.close()
		p.held = false
		f.held--
	}
}

// prepare finds and checks all outputs that are asked for and returns the
// length of the body. It already reads into the buffer what fits.
func (f *fetch) prepare(j *job, q query) (length int64, err error) {
	owner, err := f.server.cfg.Owner(j.User)
	if err != nil {
		return 0, fmt.Errorf("who owns the files of %s: %w", j.User, err)
	}
	f.job, f.reduce = j, q.reduce
	f.outputs.reset(j.User, j.App.String(), owner, f.server.cfg.LocalDirs())
	for _, attempt := range q.maps {
		p, err := f.locate(attempt)
		if err == nil {
			length += int64(len(f.headOf(p))) + p.rec.part
			err = f.keep(p)
		}
		if err == nil && length < 0 {
			err = errors.New("the outputs are larger than can be sent")
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", attempt, err)
		}
	}
	return length, nil
}

// keep reads a checked partition, whose file is open, into the buffer. If it
// does not fit, it is put into the list of partitions to send later.
func (f *fetch) keep(p part) error {
	if len(f.rest) == 0 && int64(len(f.buf)+len(f.head))+p.rec.part <= bufferSize {
		defer p.file.close()
		f.buf = append(f.buf, f.head...)
		return f.fill(p)
	}
	if p.held = f.held < f.server.cfg.OpenFiles; p.held {
		f.held++
	} else {
		p.file.close()
	}
	f.rest = append(f.rest, p)
	return nil
}

// fill appends a partition to the buffer, which must have room for it.
func (f *fetch) fill(p part) error {
	n := len(f.buf)
	f.buf = f.buf[:n+int(p.rec.part)]
	if err := readFull(p.file, f.buf[n:], p.rec.start); err != nil {
		return fmt.Errorf("read %s: %w", dataFile, err)
	}
	return nil
}

// headOf is the header that precedes a partition: the map attempt, the
// partition's length as sent and when decompressed, and its number. It is valid
// until the next call.
func (f *fetch) headOf(p part) []byte {
	b := token.AppendText(f.head[:0], p.attempt)
	b = token.AppendVInt(b, p.rec.part)
	b = token.AppendVInt(b, p.rec.raw)
	f.head = token.AppendVInt(b, int64(f.reduce))
	return f.head
}

// locate finds the partition of a map output and leaves its file open.
func (f *fetch) locate(attempt string) (part, error) {
	key := indexKey{f.job.App, attempt}
	if known := f.server.indexes.get(key); known != nil {
		if p, ok := f.located(known, attempt); ok {
			return p, nil
		}
		f.server.indexes.drop(key)
	}
	data, err := f.find(attempt, dataFile)
	if err != nil {
		return part{}, err
	}
	rec, err := f.readIndex(key, data)
	if err != nil {
		data.close()
		return part{}, err
	}
	return part{attempt: attempt, rec: rec, file: data}, nil
}

// located opens an output whose index is cached, if it is still the same file.
func (f *fetch) located(known *index, attempt string) (part, bool) {
	rec, err := known.table.record(f.reduce)
	if err != nil {
		return part{}, false
	}
	for dir, name := range f.dirs {
		if name != known.dir {
			continue
		}
		data, err := f.open(dir, attempt, dataFile)
		if err != nil {
			return part{}, false
		}
		if data.id == known.file {
			return part{attempt: attempt, rec: rec, file: data}, true
		}
		data.close()
	}
	return part{}, false
}

// readIndex reads a partition's place from the index of an open output.
func (f *fetch) readIndex(key indexKey, data file) (record, error) {
	in, err := f.find(key.attempt, indexFile)
	if err != nil {
		return record{}, err
	}
	defer in.close()
	rec, t, err := readIndex(in, in.id.size, f.reduce, f.server.indexes.keeps())
	if err == nil {
		err = rec.check(data.id.size)
	}
	if err != nil {
		return record{}, err
	}
	if t != nil {
		f.server.indexes.put(&index{key: key, dir: f.dirs[data.dir], file: data.id, table: t})
	}
	return rec, nil
}
