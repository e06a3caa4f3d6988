package rerun

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/sim"
)

// queues are three leaves, of which two share a parent's room.
func queues() []config.Property {
	var out []config.Property
	for _, p := range [][2]string{{"root.queues", "a,b,c"}, {"root.a.capacity", "50"}, {"root.b.capacity", "30"}, {"root.c.capacity", "20"},
		{"root.a.maximum-capacity", "100"}, {"root.b.maximum-capacity", "80"}, {"maximum-am-resource-percent", "0.5"}} {
		out = append(out, config.Property{Name: config.Prefix + p[0], Value: p[1]})
	}
	return out
}

// command runs sim rerun.
func command(args ...string) (code int, stdout, stderr string) {
	var out, bad bytes.Buffer
	code = Main(args, &out, &bad)
	return code, out.String(), bad.String()
}

// Whatever a cluster does, its recording comes to the same state.
func TestClusters(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir, lives := t.TempDir(), 0
			c, err := sim.New(sim.Options{Seed: seed, Nodes: 6, Applications: 12, Events: seed%2 == 0, Dominant: seed%3 == 0, Queues: queues(),
				Others: [][]config.Property{append(queues(), config.Property{Name: config.Prefix + "root.a.user-limit-factor", Value: "2"})},
				Recorded: func(s *blackbox.Snapshot) {
					lives++
					file, err := s.Save(dir)
					if err != nil {
						t.Fatal(err)
					}
					code, out, bad := command(file)
					if code != codeSame || !strings.Contains(out, "as recorded\n") {
						t.Errorf("life %d: %d\n%s%s", lives, code, out, bad)
					}
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
				}})
			if err != nil {
				t.Fatal(err)
			}
			if wrong := c.Run(); wrong != "" {
				t.Fatal(wrong)
			}
			if lives != c.Crashes+1 || c.Granted == 0 {
				t.Errorf("%d lives were recorded, %d crashes, %d containers", lives, c.Crashes, c.Granted)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
