package logs

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestLevels: log4j's rules, by the short names and by Hadoop's.
func TestLevels(t *testing.T) {
	l := NewLevels(slog.LevelInfo)
	var out bytes.Buffer
	log := slog.New(New(&out, l)).With("logger", "resourcemanager")
	named := map[string]*slog.Logger{"resourcemanager": log, "ipc.client": log.With("logger", "ipc.client"), "launch": log.With("logger", "launch"), "raft": log.With("logger", "raft")}
	if LevelsOf(log) != l || LevelsOf(slog.Default()) != nil || LevelsOf(nil) != nil {
		t.Error("the levels of a log")
	}
	if New(&out, slog.LevelWarn).Enabled(t.Context(), slog.LevelInfo) {
		t.Error("a log with one level")
	}
	for _, x := range []struct {
		name  string
		level string
		want  string // loggers that print DEBUG then
	}{
		{"ipc", "DEBUG", "ipc.client"},
		{"org.apache.hadoop.ipc.Server.client", "INFO", ""},
		{"org.apache.hadoop.ipc.Server.client", "TRACE", "ipc.client"},
		{"org.apache.hadoop.yarn", "DEBUG", "ipc.client launch resourcemanager"},
		{"launch", "WARN", "ipc.client resourcemanager"},
		{"root", "ALL", "ipc.client raft resourcemanager"},
		{"org.apache.hadoop.yarn", "OFF", "ipc.client raft"},
		{"com.example", "OFF", "ipc.client raft"},
	} {
		level, ok := ParseLevel(x.level)
		if !ok || LevelName(level) != x.level {
			t.Fatalf("%s is %v", x.level, level)
		}
		if err := l.Set(x.name, level); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"ipc.client", "launch", "raft", "resourcemanager"} {
			out.Reset()
			if named[name].Debug("x"); out.Len() > 0 {
				got = append(got, name)
			}
			if named[name].Enabled(t.Context(), l.Get(name)-1) || !named[name].Enabled(t.Context(), l.Get(name)) {
				t.Errorf("%s has another level than it says: %v", name, l.Get(name))
			}
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("after %s %s: %q", x.name, x.level, got)
		}
	}
	if late := log.With("logger", "scheduler"); late.Enabled(t.Context(), slog.LevelError) {
		t.Error("a logger that is made later has not the level that was set")
	}
	if got := strings.Join(l.Loggers("org.apache.hadoop.yarn.server"), " "); got != "org.apache.hadoop.yarn.server.resourcemanager "+
		"org.apache.hadoop.yarn.server.resourcemanager.amlauncher org.apache.hadoop.yarn.server.resourcemanager.scheduler" {
		t.Error(got)
	}
	for i := range maxSet + 5 {
		if err := l.Set("n"+strings.Repeat("x", i), slog.LevelInfo); (err != nil) != (i >= maxSet-len(firstSet)) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, ok := ParseLevel("LOUD"); ok {
		t.Error("LOUD is no level")
	}
}

// firstSet are the names that TestLevels sets first, but for the root.
var firstSet = []string{"ipc", "ipc.client", "yarn", "launch", "example"}
