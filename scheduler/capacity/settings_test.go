package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// form is how all capacities of a configuration are written.
type form int

const (
	percents form = iota
	weights
	amounts
	vectors // anything, resource by resource
	forms
)

// scene is what stays the same when a configuration is drawn anew.
type scene struct {
	form     form
	dominant bool
	third    bool // there is a third type of resource
	labels   bool
	refresh  bool // not the first configuration of a run
	large    bool // with one more queue
	crowded  bool // much is wanted at once: nodes are reserved
	pressed  bool // leaves may use much more than they are guaranteed

	drawn *settings // the last configuration
}

var treeOf = map[string][]string{"root": {"a", "b", "c"}, "root.b": {"b1", "b2"}, "root.c": {"c1", "c2"}, "root.c.c2": {"c3", "c4"}}

var leafPaths = []string{"root.a", "root.b.b1", "root.b.b2", "root.c.c1", "root.c.c2.c3", "root.c.c2.c4"}

func drawScene(t *rapid.T) *scene {
	sc := &scene{form: form(rapid.IntRange(0, int(forms)-1).Draw(t, "form")), dominant: rapid.Bool().Draw(t, "dominant"), labels: rapid.Bool().Draw(t, "labels"), crowded: rapid.Bool().Draw(t, "crowded")}
	sc.third = sc.dominant && rapid.Bool().Draw(t, "third")
	return sc
}

// settings draws values for properties.
type settings struct {
	t   *rapid.T
	sc  *scene
	set map[string]string
}

func (s *settings) draw(key string, values ...string) {
	if v := rapid.SampledFrom(values).Draw(s.t, key); v != "" {
		s.set[key] = v
	}
}

// drawConfig draws a configuration. It may be refused where it replaces another
// one, never as the first.
func drawConfig(t *rapid.T, sc *scene) *config.Config {
	s := &settings{t: t, sc: sc, set: map[string]string{"resource-calculator": "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator"}}
	if sc.dominant {
		s.set["resource-calculator"] = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
	}
	if sc.form == vectors {
		s.set["legacy-queue-mode.enabled"] = "false"
	}
	s.global()
	for _, parent := range slices.Sorted(maps.Keys(treeOf)) {
		children := treeOf[parent]
		if parent == "root" && sc.large {
			children = append(slices.Clone(children), "d")
		}
		s.set[parent+".queues"] = strings.Join(children, ",")
		s.draw(parent+".ordering-policy", "", "utilization", "priority-utilization")
		s.draw(parent+".max-parallel-apps", "", "", "", "2", "4")
		s.set[parent+".allow-zero-capacity-sum"] = "true"
		for _, label := range s.labelsOf() {
			s.capacities(parent, children, label)
		}
		for _, c := range children {
			if path := parent + "." + c; treeOf[path] == nil {
				s.leaf(path)
			}
			s.draw(parent+"."+c+".priority", "", "1", "2")
		}
	}
	if sc.pressed {
		s.press()
	}
	cfg, _, err := config.Parse(s.properties(), s.cluster())
	if err != nil {
		t.Fatalf("%v\n%v", err, s.set)
	}
	sc.drawn = s
	return cfg
}

func (s *settings) labelsOf() []string {
	if s.sc.labels {
		return []string{"", "x", "y"}
	}
	return []string{""}
}

func (s *settings) properties() (props []config.Property) {
	for _, k := range slices.Sorted(maps.Keys(s.set)) {
		props = append(props, config.Property{Name: config.Prefix + k, Value: s.set[k]})
	}
	return props
}

func (s *settings) cluster() config.Cluster {
	c := config.Cluster{MinAllocation: yarn.NewResource(512, 1), MaxAllocation: yarn.NewResource(8192, 8), MaxPriority: 5, Types: yarn.BasicResourceTypes()}
	if s.sc.third {
		c.Types = append(c.Types, yarn.ResourceType{Name: "gpu"})
		c.MaxAllocation[2] = 4
	}
	if s.sc.labels {
		c.LabelsEnabled, c.Labels = true, []config.Label{{Name: "x", Exclusive: true}, {Name: "y"}}
		c.Enforced = rapid.SampledFrom([][]string{nil, {"y"}, {"x", "y"}}).Draw(s.t, "enforced")
		c.AMSharing = rapid.Bool().Draw(s.t, "masters share")
	}
	return c
}

func (s *settings) global() {
	s.draw("user-limit-factor", "3", "1", "0.5", "-1", "0.2")
	s.draw("minimum-user-limit-percent", "100", "50", "33.3", "10")
	s.draw("maximum-am-resource-percent", "1", "0.1", "0.5")
	s.draw("node-locality-delay", "1", "0", "3", "40", "-1")
	s.draw("rack-locality-additional-delay", "", "0", "2")
	s.draw("rack-locality-full-reset", "true", "false")
	s.draw("reservations-continue-look-all-nodes", "true", "true", "false")
	s.draw("per-node-heartbeat.multiple-assignments-enabled", "true", "true", "false")
	s.draw("per-node-heartbeat.maximum-container-assignments", "100", "2", "0", "-1")
	s.draw("per-node-heartbeat.maximum-offswitch-assignments", "3", "1", "20")
	s.draw("schedule-asynchronously.enable", "true", "false")
	s.draw("global-queue-max-application", "", "", "300")
	s.draw("user.max-parallel-apps", "", "", "3")
	s.draw("user.bob.max-parallel-apps", "", "", "1")
	s.draw("maximum-applications", "", "", "", "400")
}

func (s *settings) leaf(path string) {
	// Draws prefer what comes first: not the same for all leaves.
	orders := []string{"fair", "fifo", "fifo-for-pending-apps", "fifo-with-partitions"}
	first := slices.Index(leafPaths, path) + 1
	s.draw(path+".ordering-policy", append(slices.Clone(orders[first%4:]), orders[:first%4]...)...)
	s.draw(path+".ordering-policy.fair.enable-size-based-weight", "true", "")
	s.draw(path+".user-limit-factor", "", "", "0.4", "2", "-1")
	s.draw(path+".minimum-user-limit-percent", "", "", "25")
	s.draw(path+".maximum-am-resource-percent", "", "", "0.7")
	s.draw(path+".maximum-applications", "50", "2", "")
	s.draw(path+".max-parallel-apps", "", "", "", "1", "2")
	s.draw(path+".user-settings.ann.weight", "", "", "0.5", "0.9")
	if s.sc.labels {
		s.draw(path+".accessible-node-labels", "", "x", "x,y", "*", " ")
		s.draw(path+".ordering-policy.exclusive-enforced-partitions", "", "y")
	}
	if !s.sc.refresh {
		s.draw(path+".maximum-allocation-mb", "", "", "4096")
	} else {
		s.set[path+".maximum-allocation-mb"] = "8192"
	}
}

// press takes limits away that would keep leaves from growing.
func (s *settings) press() {
	for _, k := range slices.Sorted(maps.Keys(s.set)) {
		if rapid.IntRange(0, 7).Draw(s.t, "keep "+k) < 7 && slices.ContainsFunc([]string{"max-parallel-apps", "maximum-capacity", "user-limit-factor", "maximum-applications",
			"maximum-am-resource-percent"}, func(end string) bool { return strings.HasSuffix(k, end) }) {
			delete(s.set, k)
		}
	}
	s.draw("user-limit-factor", "20", "-1", "3")
	s.draw("minimum-user-limit-percent", "100", "25", "10")
	s.draw("maximum-am-resource-percent", "1", "0.3", "0.1")
	for _, path := range leafPaths {
		s.draw(path+".heddle.minimum-runtime-ms", "", "", "9000")
	}
	for _, parent := range slices.Sorted(maps.Keys(treeOf)) {
		s.draw(parent+".ordering-policy", "priority-utilization", "utilization")
		for i, c := range treeOf[parent] {
			s.draw(parent+"."+c+".priority", fmt.Sprint(i%3), "0", "3")
		}
	}
}

// capacities shares a parent out among its children in one partition.
func (s *settings) capacities(parent string, children []string, label string) {
	key := func(child, property string) string {
		k := parent + "." + child + "."
		if label != "" {
			k += "accessible-node-labels." + label + "."
		}
		return k + property
	}
	left := 1000
	for i, c := range children {
		capacity, most := key(c, "capacity"), key(c, "maximum-capacity")
		switch s.sc.form {
		case percents:
			n := left
			if i < len(children)-1 {
				n = left * rapid.SampledFrom([]int{400, 333, 75, 500, 1000, 0}).Draw(s.t, capacity) / 1000
			}
			left -= n
			s.set[capacity] = fmt.Sprintf("%d.%d", n/10, n%10)
			s.draw(most, "", "100", "70", "33.3")
		case weights:
			s.draw(capacity, "1w", "2.5w", "7w", "0w")
			s.draw(most, "", "100", "60")
		case amounts:
			s.amount(parent, capacity, most)
		case vectors:
			s.draw(capacity, "30", "62.5", "1w", "3w", "[memory=40%,vcores=2w]", "[memory=5000,vcores=3]", "[memory=2w,vcores=50%]", "[memory=0,vcores=2]")
			s.draw(most, "", "80", "[memory=9000,vcores=50%]", "[memory=70%,vcores=0]")
		}
	}
}

// amount draws amounts that never promise more below than above.
func (s *settings) amount(parent, capacity, most string) {
	size := map[string]int{"root": 12, "root.b": 5, "root.c": 5, "root.c.c2": 2}[parent]
	if s.isParent(capacity) {
		size *= 2
		s.set[capacity] = fmt.Sprintf("[memory=%d,vcores=%d]", size*1024, size)
		return
	}
	n := rapid.IntRange(1, size).Draw(s.t, capacity)
	s.set[capacity] = fmt.Sprintf("[memory=%d,vcores=%d]", n*512, max(n/2, 1))
	if rapid.Bool().Draw(s.t, most) {
		s.set[most] = fmt.Sprintf("[memory=%d,vcores=%d]", 8*n*512, 8*n)
	}
}

// isParent tells whether the property is one of a parent.
func (s *settings) isParent(key string) bool {
	for _, parent := range slices.Sorted(maps.Keys(treeOf)) {
		if path, _, _ := strings.Cut(strings.TrimSuffix(key, ".capacity"), ".accessible-node-labels"); path == parent {
			return true
		}
	}
	return false
}
