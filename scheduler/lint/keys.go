package lint

import (
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/scheduler/spelling"
)

// Codes about names of properties.
const (
	UnknownKey   Code = "unknown-key"   // no property has that name
	UnknownQueue Code = "unknown-queue" // a property of a queue that no list names
	MissingRoot  Code = "missing-root"  // a queue's path that does not begin at root
	DoubledRoot  Code = "doubled-root"  // a queue's path with root twice
	OtherFile    Code = "other-file"    // a property that is not read from the queue file
	NotBuilt     Code = "not-built"     // known to YARN, without effect here
	NoEffect     Code = "no-effect"     // known, but not where it stands
)

const ignored = "nothing reads it, so it has no effect"

// keys looks at the name of every property.
func (l *linter) keys() {
	for _, name := range l.names {
		rest, ours := strings.CutPrefix(name, config.Prefix)
		preemption, taking := strings.CutPrefix(name, config.PreemptionPrefix)
		switch {
		case taking:
			l.preemptionKey(name, preemption)
		case !ours:
			l.withoutPrefix(name)
		case rest == queue.Root || strings.HasPrefix(rest, queue.Root+"."):
			l.queueKey(name, strings.TrimPrefix(strings.TrimPrefix(rest, queue.Root), "."))
		default:
			l.globalKey(name, rest)
		}
	}
}

// withoutPrefix judges a property of the queue file that lacks the prefix.
func (l *linter) withoutPrefix(name string) {
	if file, _, _ := place(l.values[name].Origin); file != l.in.File || name == placement.PropPlacements || name == placement.PropAppMappings {
		return
	}
	if fixed := prefixed(name); fixed != "" {
		l.say(Warning, UnknownKey, name, ignored, didYouMean(fixed))
		return
	}
	known, near := false, ""
	if l.in.Elsewhere != nil {
		known, near = l.in.Elsewhere(name)
	}
	switch {
	case known:
		l.say(Warning, OtherFile, name, "the queue file is read for "+config.Prefix+"* alone, so it has no effect here", "move it to yarn-site.xml")
	case near != "":
		l.say(Warning, UnknownKey, name, ignored, didYouMean(near)+" (in yarn-site.xml)")
	default:
		l.say(Hint, UnknownKey, name, ignored, "remove it, or move it to the file of the program that it is for")
	}
}

// prefixed corrects a misspelled prefix, or answers "".
func prefixed(name string) string {
	words := strings.Split(name, ".")
	for n := 2; n <= 3 && n < len(words); n++ {
		head, rest := strings.Join(words[:n], "."), strings.Join(words[n:], ".")
		if head == "scheduler.capacity" || head == "yarn.capacity" || head == "yarn.capacity.scheduler" ||
			spelling.Distance(head+".", config.Prefix, 4) < 4 && head+"." != config.Prefix {
			if _, ok := globalSetting(rest); ok || strings.HasPrefix(rest, queue.Root+".") {
				return config.Prefix + rest
			}
		}
	}
	return ""
}

// queueKey judges a property whose name begins with the path of a queue; rest
// is what comes after "root.".
func (l *linter) queueKey(name, rest string) {
	found := l.tree.root.below(rest)
	for _, o := range found {
		if s, ok := queueSetting(o.rest); ok {
			l.owners[name] = o
			l.placed(name, o, s)
			return
		}
	}
	o := found[0]
	words := strings.Split(o.rest, ".")
	for i := 1; i < len(words); i++ {
		suffix := strings.Join(words[i:], ".")
		if _, ok := queueSetting(suffix); ok {
			l.absentQueue(name, o.node, words[:i], suffix)
			return
		}
	}
	if near := nearestSetting(o.rest); near != "" {
		l.say(Warning, UnknownKey, name, ignored, didYouMean(key(o.node.path, near)))
		return
	}
	for i := 1; i < len(words); i++ {
		if near := nearestSetting(strings.Join(words[i:], ".")); near != "" {
			l.absentQueue(name, o.node, words[:i], near)
			return
		}
	}
	l.say(Warning, UnknownKey, name, fmt.Sprintf("%q is no property of a queue: %s", o.rest, ignored), "remove it")
}

// placed judges a known property of a queue that exists.
func (l *linter) placed(name string, o owned, s setting) {
	switch {
	case s.unread != "":
		l.say(Hint, NotBuilt, name, "it has no effect in Heddle: "+s.unread, "remove it, or leave it for Apache's ResourceManager")
	case s.reader == leavesOnly && !o.node.leaf() && !o.node.creates():
		l.say(Warning, NoEffect, name, fmt.Sprintf("%s is a parent; only leaves read this property, and they do not inherit it", o.node.path),
			"set it for each leaf below, or for all of them as "+l.globalForm(o.rest))
	case s.reader == parentsOnly && !o.node.managed && !o.node.flexible && !strings.HasSuffix(o.rest, ".enabled") && !l.templateAbove(o.node, o.rest):
		l.say(Warning, NoEffect, name, fmt.Sprintf("%s creates no queues on demand, so nothing reads the property", o.node.path),
			"set "+key(o.node.path, strings.SplitN(creator(o.rest), ".", 2)[0]+".enabled")+" to true, or remove it")
	}
}

// creator is the name of the feature that a property of queues made on demand
// belongs to.
func creator(rest string) string {
	if strings.HasPrefix(rest, "leaf-queue-template.") {
		return "auto-create-child-queue"
	}
	return rest
}

// templateAbove tells whether a queue below n may use the property, as a queue
// of the flexible kind that is made on demand does.
func (l *linter) templateAbove(n *node, rest string) bool {
	return strings.HasPrefix(rest, "auto-queue-creation-v2.") && n.creates()
}

func (l *linter) globalForm(rest string) string {
	if _, ok := globals[rest]; ok {
		return config.Prefix + rest
	}
	return "one property for each"
}

// absentQueue judges a property of a queue that is not there.
func (l *linter) absentQueue(name string, at *node, missing []string, suffix string) {
	path := at.path + "." + strings.Join(missing, ".")
	switch {
	case missing[0] == queue.Root:
		l.doubledRoot(name, missing, suffix)
	case strings.Contains(path, "*"):
		if !strings.HasPrefix(suffix, "auto-queue-creation-v2.") {
			l.say(Warning, UnknownQueue, name, "* stands for queues in the names of auto-queue-creation-v2 templates only; "+ignored, "name each queue")
		}
	case at.creates():
		// It will be read when the queue is created.
	case suffix == "state" && l.values[name].Value == "STOPPED":
		l.say(Hint, UnknownQueue, name, fmt.Sprintf("no list names %s; this lets a refresh remove it even while it has applications, which then get nothing more", path), "delete the property once the queue is gone")
	default:
		l.say(Warning, UnknownQueue, name, fmt.Sprintf("there is no queue %s; %s", path, ignored), l.whereIs(at, missing, suffix))
	}
}

func (l *linter) doubledRoot(name string, missing []string, suffix string) {
	for len(missing) > 0 && missing[0] == queue.Root {
		missing = missing[1:]
	}
	path := strings.Join(append([]string{queue.Root}, missing...), ".")
	what := "the path of the queue has root twice; " + ignored
	if l.tree.byPath[path] == nil {
		what += fmt.Sprintf(" (and there is no queue %s either)", path)
	}
	l.say(Warning, DoubledRoot, name, what, didYouMean(key(path, suffix)))
}

// whereIs says which queue was probably meant.
func (l *linter) whereIs(at *node, missing []string, suffix string) string {
	var siblings []string
	for _, c := range at.children {
		siblings = append(siblings, c.name)
	}
	if near := spelling.Nearest(missing[0], siblings); near != "" {
		path := strings.Join(append([]string{at.path, near}, missing[1:]...), ".")
		if l.tree.byPath[path] != nil {
			return didYouMean(key(path, suffix))
		}
	}
	last := missing[len(missing)-1]
	if same := l.tree.byShort[last]; len(same) == 1 {
		return didYouMean(key(same[0].path, suffix))
	}
	lists := key(at.path, "queues")
	if rootless := config.Prefix + strings.TrimPrefix(at.path, queue.Root+".") + ".queues"; at.parent != nil {
		if p, ok := l.values[rootless]; ok && contains(list(p.Value), missing[0]) {
			return fmt.Sprintf("%s names it, but lacks root.: rename that to %s", rootless, lists)
		}
	}
	return fmt.Sprintf("add %s to %s, or remove the property", missing[0], lists)
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// globalKey judges a property that does not begin with root.
func (l *linter) globalKey(name, rest string) {
	if s, ok := globalSetting(rest); ok {
		if s.unread != "" {
			l.say(Hint, NotBuilt, name, "it has no effect in Heddle: "+s.unread, "remove it, or leave it for Apache's ResourceManager")
		}
		return
	}
	words := strings.Split(rest, ".")
	for i := 1; i < len(words); i++ {
		suffix := strings.Join(words[i:], ".")
		if _, ok := queueSetting(suffix); !ok {
			continue
		}
		if near := spelling.Nearest(rest, globalNames); near != "" && l.rootlessQueue(words[:i]) == nil {
			l.say(Warning, UnknownKey, name, ignored, didYouMean(config.Prefix+near))
			return
		}
		l.rootless(name, words[:i], suffix)
		return
	}
	if near := spelling.Nearest(rest, globalNames); near != "" {
		l.say(Warning, UnknownKey, name, ignored, didYouMean(config.Prefix+near))
		return
	}
	if _, ok := queueSetting(rest); ok {
		l.say(Warning, UnknownKey, name, "it is a property of queues, and this name has no queue in it; "+ignored, didYouMean(key("root.<queue>", rest)))
		return
	}
	l.say(Warning, UnknownKey, name, ignored, "remove it")
}

// rootlessQueue is the queue that a path without root leads to, or nil.
func (l *linter) rootlessQueue(words []string) *node {
	path := strings.Join(words, ".")
	if n := l.tree.byPath[queue.Root+"."+path]; n != nil {
		return n
	}
	if spelling.Nearest(words[0], []string{queue.Root}) != "" { // "Root.a", "rot.a"
		if n := l.tree.byPath[strings.Join(append([]string{queue.Root}, words[1:]...), ".")]; n != nil {
			return n
		}
	}
	if same := l.tree.byShort[words[len(words)-1]]; len(words) == 1 && len(same) == 1 {
		return same[0]
	}
	return nil
}

// rootless judges a queue's property whose path does not begin at the root.
func (l *linter) rootless(name string, words []string, suffix string) {
	what := fmt.Sprintf("paths of queues begin with %s.; %s", queue.Root, ignored)
	path := strings.Join(append([]string{queue.Root}, words...), ".")
	if n := l.rootlessQueue(words); n != nil {
		path = n.path
		if suffix == "queues" && n.leaf() {
			what += fmt.Sprintf(": %s stays a leaf", path)
		}
	} else {
		what += fmt.Sprintf(" (and there is no queue %s)", path)
	}
	l.say(Warning, MissingRoot, name, what, didYouMean(key(path, suffix)))
}

func didYouMean(name string) string { return "did you mean " + name + "?" }
