package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds of what is read.
const (
	MaxLine   = 8 << 20   // bytes of one line
	MaxBytes  = 512 << 20 // of a whole trace, uncompressed
	MaxEvents = 1_000_000
)

// Reader reads a trace line by line. Its errors name the trace and the line.
type Reader struct {
	name   string
	lines  *bufio.Scanner
	limit  *io.LimitedReader
	line   int
	events int
	header Header
	plan   *PlanHeader
}

// NewReader reads the header of a trace, which may be compressed by gzip. name
// is for errors.
func NewReader(in io.Reader, name string) (*Reader, error) {
	buffered := bufio.NewReader(in)
	r := &Reader{name: name}
	in = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%s: not a gzip file: %w", name, err)
		}
		in = z
	}
	r.limit = &io.LimitedReader{R: in, N: MaxBytes + 1}
	r.lines = bufio.NewScanner(r.limit)
	r.lines.Buffer(make([]byte, 0, 64<<10), MaxLine)
	line, err := r.next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty; a trace begins with a header such as {\"trace\":%d,…}", name, Version)
	}
	if err != nil {
		return nil, err
	}
	return r, r.head(line)
}

// head reads the header, which is that of a plan if it has a field of that name.
func (r *Reader) head(line []byte) error {
	var kind struct{ Plan *int }
	version, header := &r.header.Version, any(&r.header)
	if json.Unmarshal(line, &kind) == nil && kind.Plan != nil {
		r.plan = &PlanHeader{}
		version, header = &r.plan.Version, r.plan
	}
	if err := strict(line, header); err != nil {
		return r.fail("header: %w", err)
	}
	if *version != Version {
		return r.fail("header: trace version %d, only %d can be read", *version, Version)
	}
	return nil
}

// Header is the description of the cluster. Of the trace of a plan it is empty.
func (r *Reader) Header() *Header { return &r.header }

// Plan is the description of the plan, nil if it is the trace of a cluster.
func (r *Reader) Plan() *PlanHeader { return r.plan }

// Next is the next event of a cluster, or io.EOF. Events without a number get theirs.
func (r *Reader) Next() (*Event, error) {
	e := &Event{}
	return e, r.event(e, &e.Common)
}

// NextOfPlan is the next event of a plan, or io.EOF. Events without a number get theirs.
func (r *Reader) NextOfPlan() (*PlanEvent, error) {
	e := &PlanEvent{}
	return e, r.event(e, &e.Common)
}

func (r *Reader) event(into any, c *Common) error {
	line, err := r.next()
	if err != nil {
		return err
	}
	if r.events++; r.events > MaxEvents {
		return r.fail("more than %d events", MaxEvents)
	}
	c.Line, c.Raw = r.line, bytes.Clone(line)
	if err := strict(line, into); err != nil {
		return r.fail("%w", err)
	}
	if c.Do == "" {
		return r.fail(`an event without "do"`)
	}
	if c.N == 0 {
		c.N = r.events
	}
	return nil
}

// next is the next line that is not blank.
func (r *Reader) next() ([]byte, error) {
	for r.lines.Scan() {
		r.line++
		if r.limit.N <= 0 {
			return nil, r.fail("the trace is larger than %d bytes", int64(MaxBytes))
		}
		if line := bytes.TrimSpace(r.lines.Bytes()); len(line) > 0 {
			return line, nil
		}
	}
	if err := r.lines.Err(); err != nil {
		r.line++
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, r.fail("longer than %d bytes", MaxLine)
		}
		return nil, r.fail("%w", err)
	}
	return nil, io.EOF
}

func (r *Reader) fail(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", r.name, r.line, fmt.Errorf(format, args...))
}

// At puts the name of the trace and the event's line before an error.
func (r *Reader) At(e *Common, err error) error {
	return fmt.Errorf("%s:%d: event %d (%s): %w", r.name, e.Line, e.N, e.Do, err)
}
