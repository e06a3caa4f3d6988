// Package logs writes log lines in the layout of Hadoop's daemons, so that
// whatever ships and parses those logs goes on working:
//
//	2026-11-22 02:10:04,123+0000 INFO  resourcemanager: message key=value
//
// Unlike Hadoop's, the time bears its zone.
package logs

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/heddle-project/heddle/internal/visible"
)

// MaxLine bounds a line in bytes; the rest is cut.
const MaxLine = 16 << 10

const timeLayout = "2006-01-02 15:04:05,000-0700"

// Handler writes lines to one writer. It is safe for concurrent use.
type Handler struct {
	out    *output
	level  slog.Leveler
	name   string // the logger's: set by the attribute "logger"
	prefix string // attributes of With, formatted
	group  string
}

type output struct {
	mu sync.Mutex
	w  io.Writer
}

// New is a handler for lines of at least the level.
func New(w io.Writer, level slog.Leveler) *Handler {
	return &Handler{out: &output{w: w}, level: level, name: "yarn"}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	var b strings.Builder
	b.WriteString(h.prefix)
	for _, a := range attrs {
		if a.Key == "logger" {
			c.name = a.Value.String()
			continue
		}
		appendAttr(&b, h.group, a)
	}
	c.prefix = b.String()
	return &c
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	c := *h
	c.group = h.group + name + "."
	return &c
}

// Handle implements slog.Handler.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Time.Format(timeLayout))
	b.WriteByte(' ')
	b.WriteString(level(r.Level))
	b.WriteByte(' ')
	b.WriteString(h.name)
	b.WriteString(": ")
	b.WriteString(visible.Line(r.Message)) // what others wrote must not look like lines of ours
	b.WriteString(h.prefix)
	r.Attrs(func(a slog.Attr) bool {
		appendAttr(&b, h.group, a)
		return true
	})
	line := b.String()
	if len(line) > MaxLine {
		line = strings.ToValidUTF8(line[:MaxLine], "")
	}
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	_, err := io.WriteString(h.out.w, line+"\n")
	return err
}

func appendAttr(b *strings.Builder, group string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		for _, x := range v.Group() {
			appendAttr(b, group+a.Key+".", x)
		}
		return
	}
	b.WriteByte(' ')
	b.WriteString(group + a.Key)
	b.WriteByte('=')
	s := v.String()
	if s == "" || strings.ContainsAny(s, ` ="`) || !utf8.ValidString(s) || strings.ContainsFunc(s, visible.Hides) {
		s = strconv.Quote(s)
	}
	b.WriteString(s)
}

func level(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "ERROR"
	case l >= slog.LevelWarn:
		return "WARN "
	case l >= slog.LevelInfo:
		return "INFO "
	}
	return "DEBUG"
}
