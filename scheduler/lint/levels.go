package lint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// Codes about how a parent's capacity is shared out.
const (
	Sum           Code = "sum"            // percentages that do not add up
	ZeroSum       Code = "zero-sum"       // nothing is shared out, or of nothing
	MixedModes    Code = "mixed-modes"    // percentages, weights and amounts side by side
	FractionTaken Code = "fraction-taken" // a fraction where a percentage is read
	Amounts       Code = "amounts"        // amounts that exceed those above
)

// precision is how far a sum of fractions may be off; it is 0.05 percent.
const precision = 0.0005

// maxNamed is how many queues one finding spells out.
const maxNamed = 8

// levels looks at the children of every parent together.
func (l *linter) levels() { l.level(l.cfg.Root) }

func (l *linter) level(q *config.Queue) {
	if len(q.Children) > 0 && !l.unreadBelow(q) {
		for _, label := range q.Configured {
			if l.cfg.Legacy {
				l.legacyLevel(q, label)
			} else {
				l.looseLevel(q, label)
			}
		}
		if l.cfg.Legacy {
			l.modes(q)
		}
	}
	for _, c := range q.Children {
		l.level(c)
	}
}

// unreadBelow tells whether a capacity at this level could not be read: then its
// sum says nothing.
func (l *linter) unreadBelow(q *config.Queue) bool {
	return slices.ContainsFunc(q.Children, func(c *config.Queue) bool {
		return slices.ContainsFunc(q.Configured, func(label string) bool { return l.setAside[capacityKey(c.Path, label)] })
	}) || l.setAside[key(q.Path, "queues")]
}

func capacityKey(path, label string) string {
	if label == "" {
		return key(path, "capacity")
	}
	return key(path, "accessible-node-labels."+label+".capacity")
}

// way is how a capacity is written.
type way uint8

const (
	byPercent way = iota
	byWeight
	byAmount
)

// modes refuses parents whose children are written in different ways.
//
// compat: percentages that stand in the list before amounts are let pass.
func (l *linter) modes(q *config.Queue) {
	var seen [3]bool
	passed := false
	for _, c := range q.Children {
		for _, label := range q.Configured {
			a := c.Amount(label)
			seen[byPercent] = seen[byPercent] || a.Capacity > 0
			seen[byWeight] = seen[byWeight] || a.Weight >= 0
			if a.Absolute {
				passed = passed || seen[byPercent]
				seen[byAmount], seen[byPercent] = true, false
			}
		}
	}
	ways := 0
	for _, s := range seen {
		if s {
			ways++
		}
	}
	fix := "write all of them as percentages, all as weights (3w) or all as amounts ([memory=4096,vcores=4]), or set " +
		config.Prefix + "legacy-queue-mode.enabled to false"
	switch {
	case ways > 1:
		l.say(Error, MixedModes, key(q.Path, "queues"), fmt.Sprintf("the configuration is refused: the queues below %s are given in different ways: %s",
			q.Path, l.spelled(q, "")), fix)
	case passed:
		l.say(Warning, MixedModes, key(q.Path, "queues"), fmt.Sprintf("the queues below %s are given in different ways, which passes only while "+
			"amounts follow percentages; a refresh may put the queues in another order and refuse: %s", q.Path, l.spelled(q, "")), fix)
	}
	if own := q.Amount(""); q.Parent != nil && ways == 1 && seen[byAmount] != own.Absolute && !passed {
		l.say(Error, MixedModes, key(q.Path, "capacity"), fmt.Sprintf("the configuration is refused: %s and the queues below it must all be given as amounts, or none of them: %s",
			q.Path, l.spelled(q, "")), fix)
	}
}

// spelled lists the children with their capacities.
func (l *linter) spelled(q *config.Queue, label string) string {
	var parts []string
	for i, c := range q.Children {
		if i == maxNamed {
			parts = append(parts, fmt.Sprintf("and %d more", len(q.Children)-i))
			break
		}
		value, set := l.text(capacityKey(c.Path, label))
		if !set {
			value = "not set, 0"
		}
		parts = append(parts, c.Name+" ("+value+")")
	}
	return strings.Join(parts, ", ")
}

// way is how the children of a parent are written in a partition.
func wayOf(q *config.Queue, label string) way {
	for _, c := range q.Children {
		switch a := c.Amount(label); {
		case a.Absolute:
			return byAmount
		case a.Weight >= 0:
			return byWeight
		}
	}
	return byPercent
}

// legacyLevel checks one partition of one parent by the rules of the legacy
// queue mode.
func (l *linter) legacyLevel(q *config.Queue, label string) {
	switch wayOf(q, label) {
	case byPercent:
		if slices.ContainsFunc(q.Configured, func(o string) bool { return wayOf(q, o) != byPercent }) {
			return // the level is not one of percentages; see modes
		}
		l.percentages(q, label)
	case byAmount:
		l.amounts(q, label)
	}
}

func (l *linter) percentages(q *config.Queue, label string) {
	var sum float32
	for _, c := range q.Children {
		sum = float32(sum + c.Amount(label).Capacity)
	}
	own := q.Amount(label)
	percent := own.Weight < 0 && !own.Absolute
	where := q.Path
	if label != "" {
		where += " in partition " + label
	}
	lists := key(q.Path, "queues")
	off := math.Abs(float64(1 - sum))
	switch zero := math.Abs(float64(sum)) <= precision; {
	case off > precision && !zero:
		l.badSum(q, label, where, sum)
	case zero && percent && own.Capacity > precision && !q.AllowZeroSum:
		l.say(Error, ZeroSum, lists, fmt.Sprintf("the configuration is refused: the queues below %s have 0 percent together: %s", where, l.spelled(q, label)),
			"give them capacities that add up to 100, or set "+key(q.Path, "allow-zero-capacity-sum")+" to true")
	case off <= precision && percent && own.Capacity <= 0 && !q.AllowZeroSum && q.Parent != nil:
		l.say(Error, ZeroSum, capacityKey(q.Path, label), fmt.Sprintf("the configuration is refused: %s has 0 percent, but the queues below share out 100", where),
			"give it a capacity, or set "+key(q.Path, "allow-zero-capacity-sum")+" to true")
	}
}

func (l *linter) badSum(q *config.Queue, label, where string, sum float32) {
	percent := float64(sum) * 100
	what := fmt.Sprintf("the configuration is refused: the capacities below %s add up to %s, not to 100 (99.95 to 100.05 is accepted): %s",
		where, decimal(percent), l.spelled(q, label))
	if l.fractions(q, label) && math.Abs(percent-1) < 0.1 {
		l.say(Error, FractionTaken, key(q.Path, "queues"), what, "capacities are percentages: write 50 for one half, not 0.5")
		return
	}
	fix := fmt.Sprintf("give away %s percent more", decimal(100-percent))
	if percent > 100 {
		fix = fmt.Sprintf("give away %s percent less", decimal(percent-100))
	}
	l.say(Error, Sum, key(q.Path, "queues"), what, fix)
}

// fractions tells whether all capacities of a level look like fractions.
func (l *linter) fractions(q *config.Queue, label string) bool {
	return !slices.ContainsFunc(q.Children, func(c *config.Queue) bool { return c.Amount(label).Capacity > 0.01 })
}

// amounts compares the children's minima with the parent's, by memory if that
// is all that counts; with dominant shares the scheduler itself is asked.
func (l *linter) amounts(q *config.Queue, label string) {
	if l.cfg.Dominant {
		return
	}
	own := q.Amount(label)
	var sum int64
	for _, c := range q.Children {
		sum += c.Amount(label).Min[yarn.Memory]
	}
	if have := own.Min[yarn.Memory]; q.Parent != nil && own.Absolute && have > 0 && sum > have {
		l.say(Error, Amounts, capacityKey(q.Path, label), fmt.Sprintf("the configuration is refused: the queues below %s have %d MB of memory together, more than its %d: %s",
			q.Path, sum, have, l.spelled(q, label)), "raise it, or lower those below")
	}
}

// looseLevel checks a level outside of the legacy mode, where nothing is refused.
func (l *linter) looseLevel(q *config.Queue, label string) {
	var percent float64
	for _, c := range q.Children {
		if v := c.Amount(label).Vector; v.Only(config.Percent) {
			percent += v.Value[0]
		}
	}
	if percent > 100*(1+precision) {
		l.say(Warning, Sum, key(q.Path, "queues"), fmt.Sprintf("the percentages below %s add up to %s: queues that come later in the list get less than is written: %s",
			q.Path, decimal(percent), l.spelled(q, label)), "give away 100 at most")
	}
}

// decimal prints a number with at most four places.
func decimal(f float64) string {
	return strconv.FormatFloat(math.Round(f*1e4)/1e4, 'f', -1, 64)
}
