package resourcemanager

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// What a connection says every second comes to the log once.
func TestSeldom(t *testing.T) {
	var out bytes.Buffer
	say := seldom(slog.New(slog.NewTextHandler(&out, nil)))
	for range 100 {
		say("failed to connect")
	}
	if strings.Count(out.String(), "failed to connect") != 1 {
		t.Error(out.String())
	}
}
