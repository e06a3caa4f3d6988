package lint

import (
	"strings"

	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/yarn"
)

// Codes about mapping rules.
const (
	Mapping     Code = "mapping"      // a rule that is refused
	MappingRule Code = "mapping-rule" // a rule that probably does not do what it seems to
)

// mappings reads the mapping rules and holds them against the queues.
func (l *linter) mappings() {
	get := func(name string) string { return l.values[name].Value }
	set := placement.Settings{
		Override: isTrue(get(placement.PropOverride)), Format: get(placement.PropFormat), Mappings: get(placement.PropMappings),
		AppMappings: get(placement.PropAppMappings), JSON: get(placement.PropJSON), JSONFile: l.in.Cluster.MappingFile, Placements: get(placement.PropPlacements),
	}
	rules, wrong := placement.Parse(set)
	for _, f := range wrong {
		l.rule(Error, Mapping, f, "the configuration is refused: ")
	}
	if rules == nil {
		return
	}
	refused := map[int]bool{}
	for _, f := range rules.Validate(l.tree) {
		refused[f.Rule] = true
		l.rule(Error, Mapping, f, "the configuration is refused: ")
	}
	for _, f := range rules.Lint(l.tree) {
		if !refused[f.Rule] || f.Reason.Code == placement.Unreachable {
			l.rule(Warning, MappingRule, f, "")
		}
	}
	if _, ok := l.values[placement.PropOverride]; ok && rules.Len() == 0 && set.Override {
		l.say(Hint, NoEffect, placement.PropOverride, "there are no mapping rules that could override anything", "add "+placement.PropMappings+", or remove it")
	}
}

func (l *linter) rule(s Severity, code Code, f placement.Finding, before string) {
	what := f.Reason.Detail
	if f.Text != "" && f.Text != strings.TrimSpace(l.values[f.Property].Value) {
		what = clip(f.Text) + ": " + what
	}
	fix := ruleAdvice[f.Reason.Code]
	if fix == "" {
		fix = "correct the rule, or remove it"
	}
	l.say(s, code, f.Property, before+what, fix)
}

// ruleAdvice is what to do about a rule, by the reason's code.
var ruleAdvice = map[yarn.Code]string{
	placement.Unreachable:     "put it before the rule that decides, or remove it",
	placement.AbsentQueue:     "create the queue, or correct its path",
	placement.AbsentRoot:      "begin the path at root",
	placement.AmbiguousName:   "write the full path",
	placement.NotLeaf:         "name a leaf",
	placement.BelowLeaf:       "name a parent before the variable",
	placement.NoDynamic:       "create the queue, or let its parent create queues (auto-queue-creation-v2.enabled)",
	placement.UnknownVariable: "use one of them, as a whole part of the path",
}
