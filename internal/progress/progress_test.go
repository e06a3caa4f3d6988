package progress

import (
	"strings"
	"testing"
	"time"
)

// clock is stepped by hand.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func TestBar(t *testing.T) {
	var b strings.Builder
	c := &clock{time.Unix(1000, 0)}
	m := New(Terminal{&b, 60}, c.now, "copying", Bytes)
	m.Set(0, 4096)
	c.t = c.t.Add(500 * time.Millisecond)
	m.Add(1024)
	if b.Len() > 0 {
		t.Errorf("work of half a second shows %q", b.String())
	}
	c.t = c.t.Add(1500 * time.Millisecond)
	m.Set(1024, 4096)
	m.Set(1025, 4096) // too soon for another
	if want := "\r\x1b[K[#######.......................] copying: 25%, 1.0 KiB of 4"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	b.Reset()
	m.End()
	if b.String() != "\r\x1b[K" {
		t.Errorf("%q", b.String())
	}
}

func TestLines(t *testing.T) {
	var b strings.Builder
	c := &clock{time.Unix(1000, 0)}
	m := New(&b, c.now, "replaying", Count("events"))
	for i := range int64(31) {
		m.Set(i*10, 400)
		c.t = c.t.Add(time.Second)
	}
	m.End()
	want := "replaying: 25%, 100 events of 400 events, about 30s left\nreplaying: 50%, 200 events of 400 events, about 20s left\n" +
		"replaying: 75%, 300 events of 400 events, about 10s left\nreplaying: 300 events in 31s\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	b.Reset()
	m = New(&b, c.now, "reading", Count("files"))
	m.Set(3, 0)
	m.End()
	if b.Len() > 0 {
		t.Errorf("short work shows %q", b.String())
	}
	c.t = c.t.Add(11 * time.Second)
	m.Add(1)
	if b.String() != "reading: 4 files\n" {
		t.Errorf("%q", b.String())
	}
	(*Meter)(nil).Set(1, 2)
	(*Meter)(nil).End()
}
