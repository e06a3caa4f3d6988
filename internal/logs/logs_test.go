package logs

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLineLayout(t *testing.T) {
	var out bytes.Buffer
	h := New(&out, slog.LevelInfo).WithAttrs([]slog.Attr{slog.String("logger", "resourcemanager"), slog.Int("port", 8032)})
	r := slog.NewRecord(time.Date(2026, 11, 22, 2, 10, 4, 123e6, time.UTC), slog.LevelWarn, "two\nlines", 0)
	r.AddAttrs(slog.String("why", `a "b"`), slog.Group("g", slog.Int("n", 1)))
	if err := h.Handle(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	want := `2026-11-22 02:10:04,123+0000 WARN  resourcemanager: two\nlines port=8032 why="a \"b\"" g.n=1` + "\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

// TestOthersWords: nothing that somebody wrote looks like a line of ours, or
// steers the terminal that shows the log.
func TestOthersWords(t *testing.T) {
	var out bytes.Buffer
	slog.New(New(&out, slog.LevelInfo)).With("app", "\x1b[2J").Info("a\r\nb\x1b[31m\u202ec", "name", "x\u202ey", "c1", "\u009b", "b", "\xff", "plain", "größe")
	_, line, _ := strings.Cut(out.String(), "yarn: ")
	if want := `a\r\nb\u001b[31m\u202ec app="\x1b[2J" name="x\u202ey" c1="\u009b" b="\xff" plain=größe` + "\n"; line != want {
		t.Errorf("got  %q\nwant %q", line, want)
	}
}

func TestLongLineIsCut(t *testing.T) {
	var out bytes.Buffer
	slog.New(New(&out, slog.LevelInfo)).Info(strings.Repeat("x", 2*MaxLine))
	if out.Len() != MaxLine+1 {
		t.Errorf("line of %d bytes, want %d", out.Len(), MaxLine+1)
	}
}

func TestLevel(t *testing.T) {
	var out bytes.Buffer
	slog.New(New(&out, slog.LevelWarn)).Info("quiet")
	if out.Len() != 0 {
		t.Errorf("wrote %q below its level", out.String())
	}
}

// writes counts what reaches a log, and in how many writes.
type writes []string

func (w *writes) Write(b []byte) (int, error) {
	*w = append(*w, string(b))
	return len(b), nil
}

func (w *writes) lines() (n int) { return strings.Count(strings.Join(*w, ""), "\n") }

func TestTogether(t *testing.T) { synctest.Test(t, together) } // in which no time passes

func together(t *testing.T) {
	var out writes
	log := slog.New(New(&out, slog.LevelInfo)).With("logger", "x")
	Together(log, func() {
		log.Info("a")
		Together(log, func() { log.Info("b") })
		if len(out) != 0 {
			t.Errorf("%q before the end", out)
		}
		log.Warn("c")
		if len(out) != 1 || out.lines() != 3 {
			t.Errorf("%q after a warning", out)
		}
		log.Info("d")
		log.Info("e")
	})
	if len(out) != 2 || out.lines() != 5 {
		t.Errorf("%q", out)
	}
	log.Info("f")
	if len(out) != 3 {
		t.Errorf("%q for itself", out)
	}
	Together(log, func() {
		for range 3 * maxTogether / MaxLine {
			log.Info(strings.Repeat("x", MaxLine))
		}
		if n := out.lines(); n < 6+2*maxTogether/MaxLine {
			t.Errorf("%d lines are out: more wait than may", n)
		}
	})
	Together(slog.New(slog.DiscardHandler), func() { log.Info("of another log") })
}

// TestTogetherWithWhatIsStuck: lines come out although what they are to go out with takes for ever.
func TestTogetherWithWhatIsStuck(t *testing.T) {
	out := make(chan string, 2)
	log := slog.New(New(toChannel(out), slog.LevelInfo))
	wait := func(text string) {
		t.Helper()
		select {
		case line := <-out:
			if !strings.Contains(line, text) {
				t.Errorf("%q, want %q", line, text)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q does not come out", text)
		}
	}
	Together(log, func() {
		log.Info("first")
		wait("first")
		log.Info("second")
		wait("second")
	})
	Together(log, func() {
		log.Info("third")
		wait("third")
	})
}

type toChannel chan string

func (c toChannel) Write(b []byte) (int, error) {
	c <- string(b)
	return len(b), nil
}
