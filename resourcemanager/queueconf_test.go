package resourcemanager

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What a connection to ZooKeeper says every second comes to the log once a minute, and keeps nothing else out of it.
func TestZooKeeperLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		say := zooKeeperLog(slog.New(slog.NewTextHandler(&out, nil)))
		said := func(text string, want int) {
			t.Helper()
			if n := strings.Count(out.String(), text); n != want {
				t.Fatalf("%q: %d times, want %d:\n%s", text, n, want, out.String())
			}
		}
		say("connected to 10.0.0.1:2181")
		for second := range 90 {
			say(fmt.Sprintf("failed to connect from port %d", 40000+second))
			said("failed to connect", 1+second/60)
			time.Sleep(time.Second)
		}
		said("connected to", 1)
		say("authentication failed")
		said("authentication failed", 1)
	})
}
