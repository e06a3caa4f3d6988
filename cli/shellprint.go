package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/cli/shell"
	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/yarn"
)

// maxShellLine is how much of a line without an end is kept until it is printed.
const maxShellLine = 64 << 10

// shellWaits is how long the application must wait before the reason is
// printed, and the least time until another reason is printed.
const shellWaits = 5 * time.Second

// shellPrinter prints what a shell tells: as text, or as one object a line.
type shellPrinter struct {
	json     bool
	out, err io.Writer
	now      func() time.Time
	last     yarn.PublicState
	waits    time.Time              // when the next reason for waiting is due
	reason   string                 // that was printed last
	partial  map[shellStream][]byte // lines that have not ended
	order    []shellStream          // of partial
}

// shellStream is one of the two outputs of a container.
type shellStream struct {
	number int
	name   string
}

func newShellPrinter(c *call) *shellPrinter {
	return &shellPrinter{json: c.json, out: c.Stdout, err: c.Stderr, now: c.Now, partial: map[shellStream][]byte{}}
}

// tell prints one event.
func (p *shellPrinter) tell(event string, d document, format string, args ...any) {
	if !p.json {
		fmt.Fprintln(p.err, visible.Text(fmt.Sprintf("yarn shell: "+format, args...)))
		return
	}
	fmt.Fprintf(p.out, "%s", p.object(event, d))
}

// object is one line of JSON.
func (p *shellPrinter) object(event string, d document) []byte {
	line, err := json.Marshal(append(document{{"schema", Schema}, {"kind", "shell"}, {"event", event}}, d...))
	if err != nil {
		p.warn("%s: %v", event, err)
		return nil
	}
	return append([]byte(visible.Line(string(line))), '\n')
}

// warn prints a message that is not an event.
func (p *shellPrinter) warn(format string, args ...any) {
	fmt.Fprintln(p.err, visible.Text(fmt.Sprintf("WARN yarn shell: "+format, args...)))
}

// state prints a new state of the application, except its end, and the reason
// if it waits for long.
func (p *shellPrinter) state(a *client.Application) {
	why := ""
	if a.Diagnostics != nil {
		why = *a.Diagnostics
	}
	d := document{{"application", a.ID.String()}, {"state", a.State.String()}, {"diagnostics", why}}
	switch {
	case a.State >= yarn.PublicFinished:
	case a.State != p.last:
		p.last, p.waits = a.State, p.now().Add(shellWaits)
		where := ""
		if a.State == yarn.PublicRunning && a.Host != nil {
			where = ", its master on " + *a.Host
		}
		p.tell("state", d, "%s is %s%s", a.ID, a.State, where)
	case a.State < yarn.PublicRunning && why != p.reason && !p.now().Before(p.waits):
		p.reason, p.waits = why, p.now().Add(shellWaits)
		p.tell("waiting", d, "%s still waits: %s", a.ID, firstLine(why))
	}
}

// firstLine is what a reason says without a stack trace.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// withoutTraces is what a reason says, each line after the first indented, without stack traces.
func withoutTraces(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\r\n")
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(line, "\tat ") && !strings.HasPrefix(line, "\t... ") {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n  ")
}

func (p *shellPrinter) event(e shell.Event) {
	d := document{{"time", e.Time}, {"number", e.Number}, {"try", e.Try}, {"container", e.Container}, {"node", e.Node}}
	switch e.Kind {
	case shell.Output:
		p.output(e)
	case shell.Started:
		p.tell("started", d, "container %d runs as %s on %s", e.Number, e.Container, e.Node)
	case shell.Lost, shell.Ended:
		p.flushOf(e.Number)
		d = append(d, field{"exitCode", e.Exit}, field{"reason", e.Detail})
		text := fmt.Sprintf("container %d ended with exit code %d", e.Number, e.Exit)
		if e.Kind == shell.Lost {
			text = fmt.Sprintf("container %d was lost with exit status %d and is asked for again", e.Number, e.Exit)
		}
		if e.Detail != "" {
			text += ": " + firstLine(e.Detail)
		}
		p.tell(string(e.Kind), d, "%s", text)
	}
}

// output prints whole lines, in one piece, and keeps the rest.
func (p *shellPrinter) output(e shell.Event) {
	s := shellStream{e.Number, e.Stream}
	if _, ok := p.partial[s]; !ok {
		p.order = append(p.order, s)
	}
	text := append(p.partial[s], e.Data...)
	var lines []byte
	for {
		end := bytes.IndexByte(text, '\n')
		switch {
		case end >= 0 && end <= maxShellLine:
			lines = p.appendLine(lines, s, text[:end])
			text = text[end+1:]
			continue
		case len(text) > maxShellLine:
			lines = p.appendLine(lines, s, text[:maxShellLine])
			text = text[maxShellLine:]
			continue
		}
		break
	}
	p.partial[s] = bytes.Clone(text)
	p.write(s, lines)
}

func (p *shellPrinter) appendLine(b []byte, s shellStream, line []byte) []byte {
	if p.json {
		return append(b, p.object("output", document{{"number", s.number}, {"stream", s.name}, {"line", string(line)}})...)
	}
	b = append(strconv.AppendInt(append(b, '['), int64(s.number), 10), "] "...)
	return append(append(b, line...), '\n')
}

func (p *shellPrinter) write(s shellStream, lines []byte) {
	to := p.out
	if s.name == "stderr" && !p.json {
		to = p.err
	}
	if len(lines) > 0 {
		fmt.Fprintf(to, "%s", lines)
	}
}

// flushOf prints the unfinished lines of one container that has ended.
func (p *shellPrinter) flushOf(number int) {
	var rest []shellStream
	for _, s := range p.order {
		if s.number != number {
			rest = append(rest, s)
			continue
		}
		if text := p.partial[s]; len(text) > 0 {
			p.write(s, p.appendLine(nil, s, text))
		}
		delete(p.partial, s)
	}
	p.order = rest
}

// flush prints every line that has not ended.
func (p *shellPrinter) flush() {
	for len(p.order) > 0 {
		p.flushOf(p.order[0].number)
	}
}
