package resourcemanager

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/yarn"
)

// Of a submission INFO has one line, DEBUG has all; whoever follows events sees all.
func TestLinesOfASubmission(t *testing.T) {
	app := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	at := yarn.AttemptID{Application: app, Attempt: 1}
	steps := []engine.Transition{
		{Application: app, From: "NEW", To: "NEW_SAVING"}, {Application: app, From: "NEW_SAVING", To: "SUBMITTED"}, {Application: app, From: "SUBMITTED", To: "ACCEPTED", Cause: "c"},
		{Attempt: at, From: "NEW", To: "SUBMITTED"}, {Attempt: at, From: "SUBMITTED", To: "SCHEDULED"}, {Attempt: at, From: "SCHEDULED", To: "ALLOCATED_SAVING"},
	}
	for level, want := range map[slog.Level]int{slog.LevelInfo: 2, slog.LevelDebug: len(steps), slog.LevelWarn: 0} {
		var out bytes.Buffer
		o := newOutside(slog.New(logs.New(&out, level)), events.New(1))
		for i := range steps {
			o.Transitions(steps[i : i+1])
		}
		close(o.lines)
		o.write()
		if n := strings.Count(out.String(), "\n"); n != want || want > 0 && !strings.Contains(out.String(), "INFO  yarn: application_1_0001 went from SUBMITTED to ACCEPTED cause=c\n") {
			t.Errorf("%v: %d lines, want %d:\n%s", level, n, want, out.String())
		}
		if last := o.events.Last(); last.Number != int64(len(steps)) {
			t.Errorf("%v: %d events", level, last.Number)
		}
	}
}
