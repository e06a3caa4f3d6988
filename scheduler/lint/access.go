package lint

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Codes about names, states, rights and switches.
const (
	Structure Code = "structure"  // lists that make no queue, or an odd one
	OddName   Code = "odd-name"   // names that cause trouble elsewhere
	Ambiguous Code = "ambiguous"  // short names that several queues have
	State     Code = "state"      // states that do less than they seem to
	ACL       Code = "acl"        // rights that are wider or narrower than they look
	NotAFlag  Code = "not-a-flag" // text that is neither true nor false
)

// structure looks at the lists of queues and at their names.
func (l *linter) structure() {
	for _, n := range l.tree.all {
		l.lists(n)
		if n.parent != nil {
			l.name(n)
		}
		l.state(n)
	}
	for _, n := range l.tree.all {
		if same := l.tree.byShort[n.name]; len(same) > 1 && same[0] == n {
			l.ambiguous(same)
		}
	}
	if l.namelessRejected() {
		l.say(Hint, Structure, key(queue.Root, "queues"), "there is no leaf named default: applications that name no queue are rejected",
			"add one, or map them with "+config.Prefix+"queue-mappings")
	}
}

// namelessRejected tells whether applications that name no queue find none:
// clients put "default" in.
func (l *linter) namelessRejected() bool {
	for _, rules := range []string{"queue-mappings", "mapping-rule-json", "mapping-rule-json-file"} {
		if value, _ := l.text(config.Prefix + rules); value != "" {
			return false
		}
	}
	same := l.tree.byShort["default"]
	return len(l.tree.root.children) > 0 && !l.tree.root.creates() && (len(same) != 1 || !same[0].leaf())
}

func (l *linter) lists(n *node) {
	name := key(n.path, "queues")
	if value, ok := l.text(name); ok && len(list(value)) == 0 && n.parent != nil {
		l.say(Warning, Structure, name, fmt.Sprintf("the list names no queue, so %s is a leaf", n.path), "name queues, or remove the property: leaves have none that ends in .queues")
	}
	_, leafy := l.text(key(n.path, "capacity"))
	if n.parent != nil && n.leaf() && !leafy && !l.hasCapacity(n) {
		l.say(Hint, Structure, key(n.path, "capacity"), fmt.Sprintf("%s has no capacity, which is 0 percent: it gets only what others leave", n.path), "set it")
	}
}

// hasCapacity tells whether the queue has a share in some partition, or is the
// only thing that its parent has in the way of queues.
func (l *linter) hasCapacity(n *node) bool {
	for name, o := range l.owners { //tidy:unordered only whether there is one counts
		if o.node == n && strings.HasPrefix(o.rest, "accessible-node-labels.") && strings.HasSuffix(name, ".capacity") {
			return true
		}
	}
	return false
}

// name finds names that other parts of YARN cannot deal with.
func (l *linter) name(n *node) {
	lists := key(n.parent.path, "queues")
	_, isSetting := ofQueues[n.name]
	switch {
	case n.name == queue.Root:
		l.say(Warning, OddName, lists, "a queue named root cannot be found by its short name, which is always the one above all", "choose another name")
	case strings.Contains(n.name, "."):
		l.say(Warning, OddName, lists, fmt.Sprintf("%q has a dot in it, which separates the parts of a path: the queue cannot be told from one that is nested", n.name),
			"list the children of each queue by their own names")
	case isSetting:
		l.say(Warning, OddName, lists, fmt.Sprintf("%q is also the name of a property of queues, and both are written in the same place", n.name), "choose another name")
	case strings.ContainsAny(n.name, "%:*?#&/\\\"'<>[]{}|;"):
		l.say(Warning, OddName, lists, fmt.Sprintf("%q has a character that URLs, mapping rules or templates give a meaning to", n.name), "use letters, digits, - and _")
	case strings.ContainsFunc(n.name, unicode.IsSpace):
		l.say(Warning, OddName, lists, fmt.Sprintf("%q has a space in it: a comma may be missing", n.name), "separate the names by commas, and use letters, digits, - and _")
	case strings.ContainsFunc(n.name, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsControl(r) }):
		l.say(Hint, OddName, lists, fmt.Sprintf("%q has characters outside of ASCII, which some clients send differently", n.name), "use letters, digits, - and _")
	}
}

func (l *linter) ambiguous(same []*node) {
	var paths []string
	for i, n := range same {
		if i == maxNamed {
			paths = append(paths, fmt.Sprintf("%d more", len(same)-i))
			break
		}
		paths = append(paths, n.path)
	}
	l.say(Hint, Ambiguous, key(same[0].parent.path, "queues"), fmt.Sprintf("%d queues are named %s: %s; who submits to %s by that name is rejected",
		len(same), same[0].name, strings.Join(paths, ", "), same[0].name), "submit to the full path")
}

func (l *linter) state(n *node) {
	name := key(n.path, "state")
	p, ok := l.values[name]
	switch {
	case !ok:
	case strings.EqualFold(p.Value, "STOPPED") && p.Value != "STOPPED":
		l.say(Warning, State, name, "the queue stops, but only the exact word STOPPED allows removing it in a later refresh", "write STOPPED")
	case strings.EqualFold(p.Value, "RUNNING") && p.Value != "RUNNING":
		l.say(Hint, State, name, "it counts in any case, but is written RUNNING everywhere else", "write RUNNING")
	case p.Value == "STOPPED" && n.parent == nil:
		l.say(Warning, State, name, "the whole cluster takes no applications", "remove it, or write RUNNING, to open the cluster")
	}
}

// access looks at the lists of who may do what.
func (l *linter) access() {
	for _, name := range l.names {
		o, ok := l.owners[name]
		if !ok || !strings.HasPrefix(o.rest, "acl_") {
			continue
		}
		if o.rest == "acl_application_max_priority" {
			l.priorityACL(name)
			continue
		}
		if odd := yarn.SuspiciousACL(l.values[name].Value); odd != "" {
			l.say(Warning, ACL, name, odd, `write users, one space, groups, each list with commas and no spaces: "ann,bob dev,ops"`)
		}
		l.wideOpen(name, o)
	}
}

// wideOpen finds lists that restrict nobody.
func (l *linter) wideOpen(name string, o owned) {
	if o.rest != "acl_submit_applications" && o.rest != "acl_administer_queue" || everybody(l.values[name].Value) {
		return
	}
	if !l.in.Cluster.ACLEnabled {
		l.say(Warning, ACL, name, "yarn.acl.enable is not true, so nobody asks the list: everybody may do everything", "set it in yarn-site.xml")
		return
	}
	for n := o.node.parent; n != nil; n = n.parent {
		above := key(n.path, o.rest)
		p, set := l.values[above]
		if set && !everybody(p.Value) || !set && n.parent != nil {
			continue
		}
		what := fmt.Sprintf("%s is *, and who is allowed there is allowed here, too: this list keeps nobody out", above)
		if !set {
			what = fmt.Sprintf("%s is not set, which means everybody, and who is allowed there is allowed here, too: this list keeps nobody out", above)
		}
		l.say(Warning, ACL, name, what, "set "+above+" to a space (nobody) or to the few who may use every queue")
		return
	}
}

// everybody tells whether the list allows all: * alone among users or groups.
func everybody(text string) bool {
	users, groups, _ := strings.Cut(text, " ")
	return strings.TrimSpace(users) == "*" || strings.TrimSpace(groups) == "*"
}

var maxPriority = regexp.MustCompile(`(?i)(?:max|default)_priority=(\d+)`)

func (l *linter) priorityACL(name string) {
	for _, m := range maxPriority.FindAllStringSubmatch(l.values[name].Value, -1) {
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil && n > int64(l.in.Cluster.MaxPriority) {
			l.say(Warning, Order, name, fmt.Sprintf("%d is more than yarn.cluster.max-application-priority, %d, which every priority is cut to", n, l.in.Cluster.MaxPriority),
				"raise that in yarn-site.xml, or lower this")
			return
		}
	}
}

// flags finds switches that are set to neither true nor false, and those of
// preemption that is off.
func (l *linter) flags() {
	for _, name := range l.names {
		s, ok := globalSetting(strings.TrimPrefix(name, config.Prefix))
		o, owned := l.owners[name]
		if owned {
			s, ok = queueSetting(o.rest)
		}
		if !ok || s.kind != flag || !strings.HasPrefix(name, config.Prefix) {
			continue
		}
		value, _ := l.text(name)
		within, _ := l.text(config.PreemptionPrefix + "intra-queue-preemption.enabled")
		switch {
		case !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false"):
			l.say(Warning, NotAFlag, name, "it is neither true nor false, so the default counts", "write true or false")
		case owned && strings.HasSuffix(o.rest, "disable_preemption") && !isTrue(value) && !l.in.Cluster.Preempts:
			l.say(Hint, NoEffect, name, noMonitor, "set them in yarn-site.xml")
		case owned && o.rest == "intra-queue-preemption.disable_preemption" && !isTrue(value) && !isTrue(within):
			l.say(Hint, NoEffect, name, "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled is not true, so nothing is preempted within queues", "set it in yarn-site.xml")
		}
	}
}
