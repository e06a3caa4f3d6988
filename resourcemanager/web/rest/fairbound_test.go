package rest

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// TestFairQueuesAreBounded: an answer has so many queues, and so many levels, and no more.
func TestFairQueuesAreBounded(t *testing.T) {
	wide, deep := []queue.Info{{Path: "root"}}, []queue.Info{{Path: "root"}}
	for range maxDepth + 10 {
		child := wide[0].Path + "." + strings.Repeat("x", len(wide))
		wide[0].Children = append(wide[0].Children, child)
		wide = append(wide, queue.Info{Path: child, Leaf: true})
		last := &deep[len(deep)-1]
		last.Children = []string{last.Path + ".x"}
		deep = append(deep, queue.Info{Path: last.Path + ".x"})
	}
	for name, c := range map[string]struct {
		queues []queue.Info
		most   int
		want   int
	}{"wide": {wide, 3, 4}, "deep": {deep, 1000, maxDepth + 1}} {
		for i := range c.queues {
			c.queues[i].Fair = &queue.Fair{}
		}
		all := queue.NewSnapshot(c.queues)
		w := newFairWriter(&view.Cluster{Queues: all, ResourceTypes: yarn.BasicResourceTypes()}, c.most)
		var b strings.Builder
		if err := tree.WriteJSON(&b, tree.Document{Root: "scheduler", Body: w.queue(&all.Queues[0], 0)}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "queueName"); got != c.want {
			t.Errorf("%s: %d queues, want %d", name, got, c.want)
		}
	}
}
