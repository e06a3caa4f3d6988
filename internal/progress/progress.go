// Package progress shows the progress of long operations: a bar with an estimate on a terminal, a line every ten seconds elsewhere. Short
// operations show nothing.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// When something is shown.
const (
	quiet     = time.Second            // work that ends before shows nothing
	redraw    = 200 * time.Millisecond // between two bars
	lineEvery = 10 * time.Second       // between two lines
	barWidth  = 30
)

// Meter shows one piece of work. A nil Meter shows nothing. It is for one goroutine.
type Meter struct {
	out     io.Writer
	columns int // of the terminal; 0: it is none
	now     func() time.Time
	what    string
	unit    Unit
	began   time.Time
	shown   time.Time
	drawn   bool
	done    int64
	total   int64
}

// Unit says how amounts are written.
type Unit func(n int64) string

// Bytes writes an amount of bytes.
func Bytes(n int64) string {
	const k = 1024
	switch {
	case n < k:
		return fmt.Sprintf("%d B", n)
	case n < k*k:
		return fmt.Sprintf("%.1f KiB", float64(n)/k)
	case n < k*k*k:
		return fmt.Sprintf("%.1f MiB", float64(n)/k/k)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/k/k/k)
}

// Count writes a number of things.
func Count(things string) Unit {
	return func(n int64) string { return fmt.Sprintf("%d %s", n, things) }
}

// Terminal is a writer that is a terminal of so many columns. A file that is one need not be wrapped.
type Terminal struct {
	io.Writer
	Columns int
}

// New begins work. what names it; out is a terminal if it is a Terminal or a file that is one.
func New(out io.Writer, now func() time.Time, what string, unit Unit) *Meter {
	t := now()
	m := &Meter{out: out, now: now, what: what, unit: unit, began: t, shown: t}
	switch w := out.(type) {
	case Terminal:
		m.columns = w.Columns
	case *os.File:
		if columns, _, err := term.GetSize(int(w.Fd())); err == nil {
			m.columns = max(columns, 20)
		}
	}
	return m
}

// Set tells how much is done of how much. A total of 0 is not known.
func (m *Meter) Set(done, total int64) {
	if m == nil {
		return
	}
	m.done, m.total = done, total
	t := m.now()
	switch {
	case m.columns > 0 && t.Sub(m.began) >= quiet && t.Sub(m.shown) >= redraw:
		m.draw(t)
	case m.columns == 0 && t.Sub(m.shown) >= lineEvery:
		m.shown, m.drawn = t, true
		_, _ = fmt.Fprintln(m.out, m.text(t))
	}
}

// Add tells that n more are done; the total is the one of Set.
func (m *Meter) Add(n int64) {
	if m != nil {
		m.Set(m.done+n, m.total)
	}
}

// Total sets the total alone.
func (m *Meter) Total(total int64) {
	if m != nil {
		m.Set(m.done, total)
	}
}

// Writer passes to w and adds the bytes; w itself if m is nil.
func (m *Meter) Writer(w io.Writer) io.Writer {
	if m == nil {
		return w
	}
	return counted{w, m}
}

// Reader adds the bytes that are read of r; r itself if m is nil.
func (m *Meter) Reader(r io.Reader) io.Reader {
	if m == nil {
		return r
	}
	return counting{r, m}
}

type counted struct {
	io.Writer
	m *Meter
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.m.Add(int64(n))
	return n, err
}

type counting struct {
	io.Reader
	m *Meter
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.m.Add(int64(n))
	return n, err
}

// End takes the bar away; what follows stands in its place. Lines end with one more.
func (m *Meter) End() {
	switch {
	case m == nil || !m.drawn:
	case m.columns > 0:
		_, _ = fmt.Fprint(m.out, "\r\x1b[K")
	default:
		t := m.now()
		_, _ = fmt.Fprintf(m.out, "%s: %s in %s\n", m.what, m.unit(m.done), t.Sub(m.began).Round(time.Second))
	}
}

func (m *Meter) draw(t time.Time) {
	m.shown, m.drawn = t, true
	line := m.text(t)
	if m.total > 0 {
		full := int(min(m.done, m.total) * barWidth / m.total)
		line = "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] " + line
	}
	_, _ = fmt.Fprintf(m.out, "\r\x1b[K%s", line[:min(len(line), max(m.columns-1, 1))])
}

func (m *Meter) text(t time.Time) string {
	if m.total <= 0 {
		return fmt.Sprintf("%s: %s", m.what, m.unit(m.done))
	}
	text := fmt.Sprintf("%s: %d%%, %s of %s", m.what, min(m.done, m.total)*100/m.total, m.unit(m.done), m.unit(m.total))
	if left, ok := m.left(t); ok {
		text += ", about " + left.String() + " left"
	}
	return text
}

// left is the time until the end if the rest goes as fast as what is done.
func (m *Meter) left(t time.Time) (time.Duration, bool) {
	if m.done <= 0 || m.done >= m.total {
		return 0, false
	}
	seconds := t.Sub(m.began).Seconds() / float64(m.done) * float64(m.total-m.done)
	if seconds > 1e7 {
		return 0, false
	}
	return (time.Duration(seconds) * time.Second).Round(time.Second), true
}
