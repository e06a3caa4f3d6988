package setup

import (
	"testing"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/scheduler/config"
)

// TestPatience: when something was recovered, nodes may take their expiry to come back, and reservations wait for them.
func TestPatience(t *testing.T) {
	s := &conf.ResourceManager{}
	s.Nodes.Expiry = 10 * time.Minute
	for wait, want := range map[int64]int64{0: 600_000, 10_000: 600_000, 900_000: 900_000, -1: 0} {
		s.Recovery.Enabled = wait >= 0
		cfg := &config.Config{Common: &config.Common{Cluster: config.Cluster{StartWait: wait}}}
		if got := reservations(s, cfg).Patience; got != want {
			t.Errorf("wait %d: %d, want %d", wait, got, want)
		}
	}
}
