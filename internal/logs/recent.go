package logs

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Bounds of Recent: for how long it remembers, how many messages of a level, and how much of a line.
const (
	remembered  = 24 * time.Hour
	maxMessages = 250
	maxLastLine = 2 << 10
)

const minutes = int64(remembered / time.Minute)

// Recent counts the warnings and errors of the last 24 hours, to the minute. Lines with one logger and message, whatever their
// attributes, are one message; of more than 250 messages of a level the one that came last the longest ago is forgotten. Its
// methods are safe for concurrent use.
type Recent struct {
	mu     sync.Mutex
	levels [2]recentLevel // warnings, errors
}

type recentLevel struct {
	all      counts
	messages map[recentKey]*recentMessage
}

type recentKey struct{ logger, message string }

type recentMessage struct {
	counts
	line string // the last one, without time and level
	last time.Time
}

// counts are numbers by minute since 1970, in their order; those longer ago than remembered are dropped as new ones come.
type counts []minuteCount

type minuteCount struct {
	minute int64
	n      int
}

func (c *counts) add(minute int64) {
	if at := len(*c) - 1; at >= 0 && (*c)[at].minute >= minute { // the clock may have been set back
		(*c)[at].n++
		return
	}
	old, _ := slices.BinarySearchFunc(*c, minute-minutes, func(x minuteCount, m int64) int { return cmp.Compare(x.minute, m+1) })
	*c = append(slices.Delete(*c, 0, old), minuteCount{minute, 1})
}

func (c counts) since(minute int64) (n int) {
	for _, x := range slices.Backward(c) {
		if x.minute < minute {
			break
		}
		n += x.n
	}
	return n
}

func (r *Recent) add(at time.Time, level slog.Level, logger, message, line string) {
	which, minute := 0, at.Unix()/60
	if level >= slog.LevelError {
		which = 1
	}
	if len(line) > maxLastLine {
		line = line[:maxLastLine] + "..."
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.levels[which]
	l.all.add(minute)
	if l.messages == nil {
		l.messages = map[recentKey]*recentMessage{}
	}
	key := recentKey{logger, message}
	m := l.messages[key]
	if m == nil {
		if len(l.messages) >= maxMessages {
			l.forget()
		}
		m = &recentMessage{}
		l.messages[key] = m
	}
	m.counts.add(minute)
	m.line, m.last = line, at
}

func (l *recentLevel) forget() {
	var oldest recentKey
	var last time.Time
	for key, m := range l.messages {
		if last.IsZero() || m.last.Before(last) {
			oldest, last = key, m.last
		}
	}
	delete(l.messages, oldest)
}

// Message is a warning or an error, and how often it came.
type Message struct {
	Level slog.Level // slog.LevelWarn or LevelError
	Text  string     // the last line, without time and level
	Count int
	Last  time.Time
}

// Count is how many lines of the level, slog.LevelWarn or LevelError, there were since then, to the minute.
func (r *Recent) Count(level slog.Level, since time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.levels[min(level/slog.LevelError, 1)].all.since(since.Unix() / 60)
}

// Messages are those that came since then, the latest first.
func (r *Recent) Messages(since time.Time) []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Message
	for i, level := range []slog.Level{slog.LevelWarn, slog.LevelError} {
		for _, m := range r.levels[i].messages {
			if n := m.counts.since(since.Unix() / 60); n > 0 {
				out = append(out, Message{level, m.line, n, m.last})
			}
		}
	}
	slices.SortFunc(out, func(a, b Message) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(b.Level, a.Level), cmp.Compare(a.Text, b.Text))
	})
	return out
}

// RecentOf are the warnings and errors of a log that New made; nil for others.
func RecentOf(log *slog.Logger) *Recent {
	if log == nil {
		return nil
	}
	h, ok := log.Handler().(*Handler)
	if !ok {
		return nil
	}
	return h.recent
}
