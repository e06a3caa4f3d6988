package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/capacity"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/yarn"
)

// Codes of refusals.
const (
	Refused Code = "refused" // by the scheduler's own reading
	TooMany Code = "too-many"
)

// refusals reads the properties as the scheduler does. What it refuses is set
// aside, so that the next error comes to light and the rest can be looked at.
func (l *linter) refusals() {
	values, cluster := maps.Clone(l.values), l.in.Cluster
	for range maxRefusals {
		cfg, notes, err := config.Parse(properties(values), cluster)
		if err == nil {
			l.cfg = cfg.Capacity
			l.remarks(notes)
			return
		}
		var refused *config.Error
		if !errors.As(err, &refused) {
			l.say(Error, Refused, "", err.Error(), "correct the file")
			return
		}
		f := refused.Finding
		l.refuse(f)
		if l.setAside[f.Key] || !replace(values, &cluster, f) {
			return
		}
		l.setAside[f.Key] = true
	}
	l.say(Error, TooMany, "", fmt.Sprintf("after %d refused properties no further ones are looked for", maxRefusals), "correct these first")
}

func properties(values map[string]config.Property) []config.Property {
	out := make([]config.Property, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, values[name])
	}
	return out
}

// remarks are what the scheduler noticed itself.
func (l *linter) remarks(notes []config.Finding) {
	for _, f := range notes {
		l.say(Warning, Refused, f.Key, f.Rule, l.advice(f.Key, f.Rule))
	}
}

func (l *linter) refuse(f config.Finding) {
	if strings.HasPrefix(f.Key, "yarn.") && isMapping(f.Key) {
		return // mappings() lists all of them
	}
	l.say(Error, Refused, f.Key, "the configuration is refused: "+f.Rule, l.advice(f.Key, f.Rule))
}

func isMapping(key string) bool {
	return slices.Contains([]string{placement.PropMappings, placement.PropAppMappings, placement.PropJSON, placement.PropJSONFile,
		placement.PropFormat, placement.PropPlacements}, key)
}

// replace changes what was refused so that reading can go on, or tells that it
// cannot.
func replace(values map[string]config.Property, cluster *config.Cluster, f config.Finding) bool {
	set := func(value string) bool {
		values[f.Key] = config.Property{Name: f.Key, Value: value}
		return true
	}
	switch _, there := values[f.Key]; {
	case strings.HasPrefix(f.Key, "yarn.scheduler.minimum-allocation-"):
		i := yarn.Memory
		if strings.HasSuffix(f.Key, "vcores") {
			i = yarn.VCores
		}
		cluster.MinAllocation[i] = 1
		cluster.MaxAllocation[i] = max(cluster.MaxAllocation[i], 1)
		return true
	case f.Key == config.Prefix+"resource-calculator":
		return set("org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	case f.Key == config.Prefix+"root.queues":
		return false
	case strings.HasSuffix(f.Key, ".queues") && there:
		names := list(values[f.Key].Value)
		slices.Sort(names)
		return set(strings.Join(slices.Compact(names), ","))
	case strings.HasSuffix(f.Key, "leaf-queue-template.capacity"):
		return set("0")
	case there:
		delete(values, f.Key)
		return true
	case strings.HasSuffix(f.Key, ".weight"):
		return set("1")
	case strings.HasSuffix(f.Key, ".default-node-label-expression"):
		return set("")
	}
	return false
}

// accepted asks the scheduler itself, once nothing else is wrong: the linter
// must not pass what the ResourceManager refuses.
func (l *linter) accepted() {
	if l.hasErrors() {
		return
	}
	_, err := capacity.New(l.cfg)
	var refused *config.Error
	switch {
	case err == nil:
	case errors.As(err, &refused) && !l.said(refused.Finding.Key):
		l.say(Error, Refused, refused.Finding.Key, "the configuration is refused: "+refused.Finding.Rule, l.advice(refused.Finding.Key, refused.Finding.Rule))
	case !errors.As(err, &refused):
		l.say(Error, Refused, "", err.Error(), "correct the file")
	}
}

// advice says what to write instead of a refused value.
func (l *linter) advice(name, rule string) string {
	value, set := l.text(name)
	lower := strings.ToLower(value)
	suffix := name
	if o, ok := l.owners[name]; ok {
		suffix = o.rest
	} else {
		suffix = strings.TrimPrefix(suffix, config.Prefix)
	}
	switch {
	case strings.Contains(rule, "supported"):
		return "set it to false, or remove it"
	case strings.Contains(rule, "below a stopped one"):
		return "remove the property, or let the queue above run"
	case strings.Contains(rule, "must be a list"):
		return "write memory-mb=4096,vcores=4, with resource types of the cluster"
	case strings.Contains(rule, "must be a whole number") && strings.HasPrefix(value, "["):
		return "write amounts without a fraction, as in [memory=4096,vcores=4]"
	case strings.Contains(rule, "not a weight"):
		return "write it as [memory=50%,vcores=50%], or as amounts"
	case strings.Contains(rule, "nested deeper"):
		return "list the queues below higher up"
	case strings.Contains(rule, "is not accessible"), strings.Contains(rule, "the parent's labels"):
		return "name labels that are accessible there, or add them to accessible-node-labels of the queues above"
	case suffix == "maximum-am-resource-percent":
		return "write a fraction, 0.1 for 10 percent"
	case strings.HasSuffix(suffix, "minimum-user-limit-percent") && strings.HasSuffix(value, "%"):
		return "write " + strings.TrimSuffix(value, "%") + ", without the sign"
	case strings.Contains(rule, "must be set"):
		return "set it, such as to 10 percent"
	case strings.Contains(rule, "may not have configured ones"):
		return "remove the children, or use auto-queue-creation-v2.enabled, which allows both"
	case strings.Contains(rule, "more than the"), strings.Contains(rule, "less than the sum"):
		return l.tooMuch(suffix)
	case name == config.Prefix+"root.queues" && (!set || len(list(value)) == 0):
		return "name at least one queue, such as default"
	case strings.HasSuffix(suffix, "capacity") && strings.HasSuffix(lower, "%"):
		return "write " + strings.TrimSpace(strings.TrimSuffix(lower, "%")) + ", without the sign"
	case strings.HasSuffix(suffix, "capacity") && strings.HasSuffix(value, "W"):
		return "write " + strings.TrimSuffix(value, "W") + "w: weights end in a small w"
	case strings.HasSuffix(suffix, "capacity") && strings.HasPrefix(value, "["):
		return "write amounts as [memory=4096,vcores=4], closed by a bracket"
	case strings.HasSuffix(suffix, "capacity") && strings.Contains(value, ","):
		return "write the fraction after a point, as in 12.5"
	case strings.HasSuffix(suffix, "lifetime"):
		return "write whole seconds, 86400 for a day; the default may not be longer than the maximum"
	case suffix == "state" && strings.EqualFold(value, "DRAINING"):
		return "write STOPPED: a queue drains by itself before it stops"
	case suffix == "state":
		return "write RUNNING or STOPPED, without spaces around it"
	case strings.HasPrefix(suffix, "user-settings.") && strings.Contains(rule, "must be from"):
		return "lower the weight, or minimum-user-limit-percent of the leaf"
	case strings.HasSuffix(suffix, ".queues") || suffix == "queues":
		return "name each queue once"
	case strings.HasPrefix(name, "yarn.scheduler.minimum-allocation"):
		return "set it in yarn-site.xml to at least 1 and at most the maximum allocation"
	}
	return "correct the value, or remove the property to get the default"
}

// tooMuch is what to do about something that is larger than what bounds it.
func (l *linter) tooMuch(suffix string) string {
	switch {
	case strings.HasPrefix(suffix, "maximum-allocation-"):
		return "lower it, or raise yarn.scheduler." + suffix + " in yarn-site.xml"
	case strings.HasPrefix(suffix, "maximum-allocation"):
		return "lower it, or raise yarn.scheduler.maximum-allocation-mb and -vcores in yarn-site.xml"
	case strings.HasSuffix(suffix, "lifetime"):
		return "write whole seconds, 86400 for a day; the default may not be longer than the maximum"
	}
	return "lower it, or raise what bounds it"
}
