package logs

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestWarningsAndErrorsAreCounted(t *testing.T) {
	h := New(io.Discard, slog.LevelInfo)
	log := slog.New(h)
	recent := RecentOf(log.With("logger", "web", "port", 1))
	start := time.Unix(1_700_000_040, 0)
	at := func(d time.Duration, level slog.Level, logger, message string, args ...any) {
		r := slog.NewRecord(start.Add(d), level, message, 0)
		r.Add(args...)
		if err := log.With("logger", logger).Handler().Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	at(0, slog.LevelError, "web", "old")
	at(23*time.Hour, slog.LevelWarn, "web", "a node is late", "node", "a:1")
	at(24*time.Hour, slog.LevelWarn, "web", "a node is late", "node", "b:1")
	at(24*time.Hour, slog.LevelInfo, "web", "nothing to worry about")
	at(25*time.Hour, slog.LevelWarn, "store", "a node is late")
	at(25*time.Hour, slog.LevelError, "web", "two\nlines", "why", strings.Repeat("x", 3000))
	now := start.Add(25 * time.Hour)
	for since, want := range map[time.Duration][2]int{time.Minute: {1, 1}, time.Hour: {2, 1}, 3 * time.Hour: {3, 1}, 24 * time.Hour: {3, 1}} {
		if w, e := recent.Count(slog.LevelWarn, now.Add(-since)), recent.Count(slog.LevelError, now.Add(-since)); w != want[0] || e != want[1] {
			t.Errorf("since %s: %d warnings, %d errors, want %v", since, w, e, want)
		}
	}
	all := recent.Messages(now.Add(-24 * time.Hour))
	if len(all) != 3 || !strings.HasPrefix(all[0].Text, `web: two\nlines why=xxx`) || len(all[0].Text) > maxLastLine+3 || all[0].Level != slog.LevelError ||
		all[1].Text != "store: a node is late" || all[2].Text != "web: a node is late node=b:1" || all[2].Count != 2 || !all[2].Last.Equal(start.Add(24*time.Hour)) {
		t.Errorf("%+v", all)
	}
	if RecentOf(slog.New(slog.DiscardHandler)) != nil || RecentOf(nil) != nil {
		t.Error("another kind of log has some")
	}
}

func TestMessagesAreForgotten(t *testing.T) {
	var r Recent
	start := time.Unix(1_700_000_040, 0)
	for i := range 2 * maxMessages {
		r.add(start.Add(time.Duration(i)*time.Minute), slog.LevelWarn, "web", fmt.Sprint(i), fmt.Sprint(i))
		r.add(start.Add(time.Duration(i)*time.Minute), slog.LevelWarn, "web", "always", "always")
	}
	all := r.Messages(start)
	if len(all) != maxMessages || all[0].Text != "499" || all[1].Text != "always" {
		t.Errorf("%d messages, %+v", len(all), all[:2])
	}
	for i := range 3 * minutes {
		r.add(start.Add(time.Duration(i)*time.Minute), slog.LevelWarn, "web", "always", "always")
	}
	if n := len(r.levels[0].all); int64(n) > minutes+1 {
		t.Errorf("counts of %d minutes are kept", n)
	}
}
