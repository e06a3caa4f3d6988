package resourcemanager

import (
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// TestWhereLimitsAreWritten: where the properties behind a reason are written, be it those of the queue, of all queues, or of a version of the configuration that
// is kept in a store; and that they are defaults.
func TestWhereLimitsAreWritten(t *testing.T) {
	var props []config.Property
	for _, p := range [][3]string{
		{"root.queues", "a,b", "q.xml:3:5"}, {"root.a.capacity", "50", "q.xml:4:5"}, {"root.b.capacity", "50", "version 7 of the queues' configuration:5:1"},
		{"maximum-am-resource-percent", "0.5", "included.xml:2:5"}, {"root.a.user-limit-factor", "2", "q.xml:6:5"}, {"root.b.maximum-am-resource-percent", "0.3", "version 7 of the queues' configuration:7:1"},
		{"root.b.maximum-capacity", "60", "version 7 of the queues' configuration:8:1"},
	} {
		props = append(props, config.Property{Name: config.Prefix + p[0], Value: p[1], Origin: p[2]})
	}
	cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(256, 1), MaxAllocation: yarn.NewResource(8192, 8)})
	if err != nil {
		t.Fatal(err)
	}
	const p = config.Prefix
	for names, want := range map[string]string{
		p + "root.b.maximum-capacity":                                                   "version 7 of the queues' configuration",
		p + "root.a.maximum-capacity":                                                   "default",
		p + "root.a.maximum-am-resource-percent":                                        "included.xml:2:5 by " + p + "maximum-am-resource-percent",
		p + "root.b.accessible-node-labels.x.maximum-am-resource-percent":               "version 7 of the queues' configuration by " + p + "root.b.maximum-am-resource-percent",
		p + "root.a.minimum-user-limit-percent and " + p + "root.a.user-limit-factor":   "q.xml:6:5",
		p + "root.b.minimum-user-limit-percent and " + p + "root.b.user-limit-factor":   "default",
		p + "user.ann.max-parallel-apps, for all users " + p + "user.max-parallel-apps": "default",
		p + "root.a.made.maximum-capacity":                                              "q.xml:3:5",
		"yarn.nodemanager.resource.memory-mb and yarn.nodemanager.resource.cpu-vcores":  "",
		p + "node-locality-delay and " + p + "rack-locality-additional-delay":           "default",
	} {
		if got := written(cfg, names); got != want {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
}
