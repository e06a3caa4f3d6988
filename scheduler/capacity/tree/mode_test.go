package tree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
)

// TestModes compares how queues say that their capacity is written with what Hadoop 3.5 says of the same configurations.
func TestModes(t *testing.T) {
	text := func(l *Live, path, label string) string {
		q := l.Tree.Find(path)
		p, _ := l.Parts.FindPart(label)
		v, out := l.Capacity(q, p), l.Mode(q)
		for i := range l.Config.Cluster.Types {
			if v.Unit[i] != config.NoUnit {
				out += fmt.Sprintf(" %v%s", v.Value[i], [...]string{config.Absolute: "", config.Percent: "%", config.Weight: "w"}[v.Unit[i]])
			}
		}
		return out
	}
	const labels = "\nroot.accessible-node-labels=gpu,fpga\nroot.accessible-node-labels.gpu.capacity=100\nroot.a.accessible-node-labels.gpu.capacity=66.6\nroot.b.accessible-node-labels.gpu.capacity=33.4"
	const flexible = "\nlegacy-queue-mode.enabled=false"
	for _, c := range []struct{ a, b, more, wantA, wantB string }{
		{"66.67", "33.33", "", "percentage 66.66999816894531% 66.66999816894531%", "percentage 33.33000183105469% 33.33000183105469%"},
		{"2w", "1.1w", "", "weight 2w 2w", "weight 1.100000023841858w 1.100000023841858w"},
		{"[memory=2Gi,vcores=4]", "[memory=1024]", "", "absolute 2048 4", "absolute 1024 0"},
		{"[memory=50%,vcores=4]", "[memory=1w,vcores=33.3%]", flexible, "mixed 50% 4", "mixed 1w 33.29999923706055%"},
		{"[memory=50%,vcores=50%]", "[memory=1w,vcores=1w]", flexible, "percentage 50% 50%", "weight 1w 1w"},
		{"[memory=1024,vcores=3]", "none", flexible, "absolute 1024 3", "unknown"},
		{"3w", "[memory=2w,vcores=3w]", flexible, "weight 3w 3w", "weight 2w 3w"},
	} {
		l := start(t, strings.ReplaceAll("root.queues=a,b\nroot.a.capacity="+c.a+"\nroot.b.capacity="+c.b+c.more, "\nroot.b.capacity=none", ""))
		want(t, c.a+" beside "+c.b, text(l, "root.a", ""), c.wantA)
		want(t, c.b+" beside "+c.a, text(l, "root.b", ""), c.wantB)
		want(t, "the root", text(l, "root", ""), "percentage 100% 100%")
	}
	l := start(t, "root.queues=a,b\nroot.a.capacity=50\nroot.b.capacity=50"+labels)
	want(t, "a partition", text(l, "root.a", "gpu"), "percentage 66.5999984741211% 66.5999984741211%")
	want(t, "the root in a partition", text(l, "root", "gpu"), "percentage 100% 100%")
	l = start(t, managed)
	l.mustCreate(t, "root.m.x")
	want(t, "below a managed parent", text(l, "root.m.x", ""), "percentage 40% 40%")
}
