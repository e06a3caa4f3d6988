package compare

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

// recordings are those of the lives of a simulated ResourceManager.
func recordings(t *testing.T, seed uint64) (files []string) {
	t.Helper()
	var queues []config.Property
	for _, line := range []string{"root.queues a,b,c", "root.a.capacity 50", "root.b.capacity 30", "root.c.capacity 20", "maximum-am-resource-percent 0.5"} {
		name, value, _ := strings.Cut(line, " ")
		queues = append(queues, config.Property{Name: config.Prefix + name, Value: value})
	}
	dir := t.TempDir()
	c, err := sim.New(sim.Options{Seed: seed, Nodes: 6, Applications: 12, Events: seed%2 == 0, Queues: queues, Recorded: func(s *blackbox.Snapshot) {
		file, err := s.Save(dir)
		if err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(dir, fmt.Sprint("life", len(files)))
		if err := os.Rename(file, kept); err != nil {
			t.Fatal(err)
		}
		files = append(files, kept)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if wrong := c.Run(); wrong != "" {
		t.Fatal(wrong)
	}
	return files
}

func command(args ...string) (code int, out, bad string) {
	var stdout, stderr bytes.Buffer
	code = Main(args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// Recordings of clusters in which everything goes wrong are played, and come to the same twice.
func TestRecordings(t *testing.T) {
	for seed := range uint64(4) {
		for _, file := range recordings(t, seed) {
			if code, out, bad := command(file, "--scheduler", Recorded, "--scheduler", Recorded); code != codeSame || !strings.Contains(out, "no difference in ") {
				t.Fatalf("seed %d, %s: the same configuration twice: %d\n%s%s", seed, file, code, out, bad)
			} else {
				t.Log(out)
			}
			code, out, bad := command(file, "--scheduler", Fifo, "--all")
			again, same, _ := command(file, "--scheduler", Fifo, "--all")
			if code == codeUsage || code != again || out != same {
				t.Fatalf("seed %d, %s: %d, again %d\n%s%s%s", seed, file, code, again, out, same, bad)
			}
			t.Log(out)
		}
	}
}
