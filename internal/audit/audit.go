// Package audit writes who asked for what, and what came of it, in the lines of
// Hadoop's RMAuditLogger and NMAuditLogger:
//
//	2026-11-22 02:10:04,123+0000 INFO resourcemanager.RMAuditLogger: USER=alice	IP=10.0.0.7	OPERATION=Kill Application Request	TARGET=…
//
// Tabs separate the fields. No value can hold a tab or the end of a line:
// internal/visible escapes them.
package audit

import (
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/yarn"
)

// The operations, in Hadoop's words. Those of administrators are the methods' names.
const (
	Submit      = "Submit Application Request"
	Kill        = "Kill Application Request"
	FailAttempt = "Fail Attempt Request"
	Move        = "Move Application Request"
	Priority    = "Update Application Priority"
	Timeouts    = "Update Application Timeouts"
	Signal      = "Signal Container Request"

	SubmitReservation = "Submit Reservation Request"
	UpdateReservation = "Update Reservation Request"
	DeleteReservation = "Delete Reservation Request"

	Allocated      = "AM Allocated Container" // with Options.Containers alone
	Register       = "Register App Master"
	Unregister     = "Unregister App Master"
	Succeeded      = "Application Finished - Succeeded"
	Failed         = "Application Finished - Failed"
	Killed         = "Application Finished - Killed"
	StartContainer = "Start Container Request"
	StopContainer  = "Stop Container Request"
	EndSucceeded   = "Container Finished - Succeeded"
	EndFailed      = "Container Finished - Failed"
	EndKilled      = "Container Finished - Killed"
	ViewLogs       = "View Container Logs" // ours: Hadoop does not say who reads logs
)

// Unauthorized describes what a caller may not do.
const Unauthorized = "Unauthorized user"

// Entry is one line. Zero fields are left out, but for user, operation and target.
type Entry struct {
	User        string
	From        netip.Addr // unspecified if nobody called
	Operation   string
	Target      string // the part of Hadoop's daemon that answers
	Failed      bool
	Description string // why, if it failed
	Permissions string // what was missing, or why in the words of the refusal; on the ResourceManager's lines alone
	Application yarn.ApplicationID
	Attempt     yarn.AttemptID
	Container   yarn.ContainerID
	Caller      string // the caller's context
	Queue       string
	Label       string
}

// OfReservation is an entry about a reservation, of which Hadoop names the target "ClientRMService: reservation_…", over REST too.
func OfReservation(operation string, id yarn.ReservationID) Entry {
	return Entry{Operation: operation, Target: "ClientRMService: " + id.String()}
}

// OfContainer is an entry about a container that an application of the user has got.
func OfContainer(user string, id yarn.ContainerID) Entry {
	return Entry{User: user, Operation: Allocated, Target: "SchedulerApp", Application: id.Attempt.Application, Container: id}
}

// maxValue bounds a field's value in bytes.
const maxValue = 2048

// appendTo adds what stands behind the logger's name.
func (e *Entry) appendTo(b *strings.Builder, permissions bool) {
	first := true
	add := func(key, value string) {
		if !first {
			b.WriteByte('\t')
		}
		first = false
		if len(value) > maxValue {
			value = value[:maxValue] + "…"
		}
		b.WriteString(key)
		b.WriteByte('=')
		b.WriteString(visible.Line(strings.ToValidUTF8(value, "\ufffd")))
	}
	known := func(key string, is bool, value fmt.Stringer) {
		if is {
			add(key, value.String())
		}
	}
	optional := func(key, value string) {
		if value != "" {
			add(key, value)
		}
	}
	add("USER", e.User)
	known("IP", e.From.IsValid() && !e.From.IsUnspecified(), e.From.Unmap().WithZone(""))
	add("OPERATION", e.Operation)
	add("TARGET", e.Target)
	if e.Failed {
		add("RESULT", "FAILURE")
		add("DESCRIPTION", e.Description)
		if permissions {
			add("PERMISSIONS", e.Permissions)
		}
	} else {
		add("RESULT", "SUCCESS")
	}
	known("APPID", !e.Application.IsZero(), e.Application)
	known("APPATTEMPTID", !e.Attempt.IsZero(), e.Attempt)
	known("CONTAINERID", !e.Container.IsZero(), e.Container)
	optional("CALLERCONTEXT", e.Caller)
	optional("QUEUENAME", e.Queue)
	optional("NODELABEL", e.Label)
}

// MaxWaiting bounds the lines that wait for the file, and MaxWaitingBytes their
// size. Write never waits: lines beyond these bounds are dropped, and a line of the
// daemon's log says how many.
const (
	MaxWaiting      = 1 << 16
	MaxWaitingBytes = 32 << 20
)

// Options say how a Log writes.
type Options struct {
	Name        string       // of the logger: resourcemanager.RMAuditLogger
	Permissions bool         // refusals say what was missing
	Containers  bool         // also a line for each container that is allocated
	Least       slog.Leveler // failures are warnings, the rest is information; nil writes all
	Log         *slog.Logger // is told of lost lines; nil discards
	Now         func() time.Time
}

// Log writes entries, in order. The nil Log writes none. Its methods are safe for
// concurrent use.
type Log struct {
	Options
	out   io.Writer
	lines chan string
	done  chan struct{}

	mu      sync.Mutex
	closed  bool
	waiting int // bytes of lines
	dropped int // lines, since they were told last
	told    time.Time
}

// tellPause is the time between two lines about lost ones.
const tellPause = time.Minute

// New is a log that writes whole lines to a writer until it is closed.
func New(out io.Writer, o Options) *Log {
	if o.Least == nil {
		o.Least = slog.LevelInfo
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{Options: o, out: out, lines: make(chan string, MaxWaiting), done: make(chan struct{})}
	go l.run()
	return l
}

const usualLine = 256 // bytes

// ByContainer tells whether each container that is allocated has a line. The nil Log has none.
func (l *Log) ByContainer() bool { return l != nil && l.Containers }

const timeLayout = "2006-01-02 15:04:05,000-0700"

// Write hands an entry over.
func (l *Log) Write(e Entry) {
	level, word := slog.LevelInfo, "INFO"
	if e.Failed {
		level, word = slog.LevelWarn, "WARN"
	}
	if l == nil || level < l.Least.Level() {
		return
	}
	var b strings.Builder
	b.Grow(usualLine)
	for _, part := range []string{l.Now().Format(timeLayout), " ", word, " ", l.Name, ": "} {
		b.WriteString(part)
	}
	e.appendTo(&b, l.Permissions)
	b.WriteByte('\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if l.waiting+b.Len() > MaxWaitingBytes {
		l.dropped++
		return
	}
	select {
	case l.lines <- b.String():
		l.waiting += b.Len()
	default:
		l.dropped++
	}
}

// together is how many lines at most are written in one go.
const together = 256

func (l *Log) run() {
	defer close(l.done)
	var b []byte
	for line := range l.lines {
		b = append(b[:0], line...)
		n := 1
		for ; n < together && len(l.lines) > 0; n++ {
			b = append(b, <-l.lines...)
		}
		_, err := l.out.Write(b)
		l.written(len(b), n, err)
		l.tell(tellPause)
	}
	l.tell(0)
}

// written takes lines that were written, or could not be, off those that wait.
func (l *Log) written(size, lines int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting -= size
	if err != nil {
		l.dropped += lines
	}
}

// tell says how many lines are lost, unless it has said so within the pause.
func (l *Log) tell(pause time.Duration) {
	l.mu.Lock()
	n, now := l.dropped, time.Now()
	if n == 0 || now.Sub(l.told) < pause {
		l.mu.Unlock()
		return
	}
	l.dropped, l.told = 0, now
	l.mu.Unlock()
	l.Log.Error("lines of the audit log are lost: its file cannot be written to, or not fast enough", "lines", n)
}

// Close writes what waits. What comes later is not written.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.lines)
	}
	l.mu.Unlock()
	<-l.done
}
