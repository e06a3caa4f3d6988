package sim

import (
	"path/filepath"
	"testing"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	files "github.com/heddle-project/heddle/resourcemanager/store/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/store/memory"
	"github.com/heddle-project/heddle/resourcemanager/store/zookeeper"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/measure"
)

// stores are empty ones, by their names; what is returned opens one.
func stores(t *testing.T) map[string]func() func() store.Store {
	must := func(s store.Store, err error) store.Store {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return map[string]func() func() store.Store{
		"memory": func() func() store.Store {
			d := memory.NewDisk()
			return func() store.Store { return d.Open(store.Options{}) }
		},
		"bolt": func() func() store.Store {
			path := filepath.Join(t.TempDir(), "state.db")
			return func() store.Store { return must(bolt.Open(path, bolt.Options{})) }
		},
		"filesystem": func() func() store.Store {
			systems, err := filesystem.New(filesystem.Config{})
			if err != nil {
				t.Fatal(err)
			}
			url, err := filesystem.ParseURL("file://" + t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return func() store.Store { return must(files.Open(files.Options{Systems: systems, URL: url})) }
		},
		"zookeeper": func() func() store.Store {
			server := zookeepertest.New()
			return func() store.Store { return must(zookeeper.Open(zookeeper.Options{Dial: server.Open})) }
		},
	}
}

// scripted plays the script.
func scripted(t *testing.T, open func() store.Store, dies func(int) death, what string) *Cluster {
	t.Helper()
	reservable := []config.Property{{Name: config.Prefix + "root.queues", Value: "a,b,c,plan"}, {Name: config.Prefix + "root.a.capacity", Value: "20"},
		{Name: config.Prefix + "root.plan.capacity", Value: "30"}, {Name: config.Prefix + "root.plan.reservable", Value: "true"}}
	c, err := New(Options{Seed: 1, Nodes: 4, Applications: 3, Queues: append(queues(), reservable...)})
	if err != nil {
		t.Fatal(err)
	}
	c.reservations = engine.Reservations{Enabled: true, Step: 1000, MaxPeriod: 86_400_000, Early: true, Smoothness: 10, Calc: measure.Calculator{Types: 2},
		Max: nodeSize, Patience: 60_000}
	c.quiet, c.script = true, &script{real: open, dies: dies}
	defer func() { _ = c.owner.store.Close() }()
	for range quietSteps {
		wrong := c.Step()
		if wrong == "" && len(c.ids) == c.opt.Applications && c.script.next == len(acts(c)) && c.ended() {
			return c
		}
		if wrong != "" {
			t.Fatalf("%s, commit %d, step %d: %s", what, c.script.commits, c.Steps, wrong)
		}
	}
	t.Fatalf("%s, commit %d: %d acts done, last refusal %v, %s", what, c.script.commits, c.script.next, c.script.refused, c.notEnded())
	return nil
}

// TestEveryCommit has the ResourceManager die before and after each of its commits, and go on with what each kind of store has then: each
// change is lost once, and then stored without anybody's knowing.
func TestEveryCommit(t *testing.T) {
	for name, empty := range stores(t) {
		t.Run(name, func(t *testing.T) {
			all := scripted(t, empty(), func(int) death { return never }, "no death").script.commits
			c := scripted(t, empty(), func(n int) death {
				if n > 2*all {
					return never
				}
				return []death{after, before}[n%2]
			}, "one after the other")
			if c.Crashes != 2*all {
				t.Errorf("%d crashes, want %d", c.Crashes, 2*all)
			}
		})
	}
}
