package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// Lint lists rules that are valid but probably not what their author meant:
// above all those that can never decide, and why. Queues may be nil; then only
// what does not depend on the tree is found.
func (r *Rules) Lint(queues Queues) []Finding {
	l := linter{rules: r, queues: queues, out: slices.Clone(r.notes), decided: make(map[matcher]int)}
	l.everyone = NoRule
	for i := range r.list {
		l.rule(i, &r.list[i])
	}
	l.uselessDefaults()
	slices.SortStableFunc(l.out, func(a, b Finding) int { return a.Rule - b.Rule })
	return l.out
}

type linter struct {
	rules    *Rules
	queues   Queues
	out      []Finding
	everyone int             // the first rule that decides for everybody, or NoRule
	decided  map[matcher]int // likewise for those that a matcher without variables matches
}

func (l *linter) say(i int, code yarn.Code, format string, args ...any) {
	r := &l.rules.list[i]
	l.out = append(l.out, finding(i, r.property, r.text, code, fmt.Sprintf(format, args...)))
}

func (l *linter) rule(i int, r *rule) {
	if l.everyone != NoRule {
		l.say(i, Unreachable, "rule %d decides for everybody before: %s", l.everyone+1, l.rules.list[l.everyone].text)
		return
	}
	if by, ok := l.decided[r.matcher]; ok {
		l.say(i, Unreachable, "rule %d decides for the same applications before: %s", by+1, l.rules.list[by].text)
		return
	}
	l.neverMatches(i, r)
	l.unknownVariables(i, r)
	fails := l.alwaysFails(i, r)
	if !l.decides(r, fails) {
		return
	}
	switch {
	case r.matcher.kind == matchEveryone:
		l.everyone = i
	case !strings.Contains(r.matcher.value, "%"):
		l.decided[r.matcher] = i
	}
}

// decides tells whether no application that matches gets past the rule.
func (l *linter) decides(r *rule, fails bool) bool {
	switch r.action {
	case actionReject:
		return true
	case actionSetDefault:
		return false
	}
	return r.fallback != fallbackSkip || !fails && l.alwaysPlaces(r)
}

// alwaysPlaces tells whether the rule's path is that of an existing leaf,
// whoever the user is.
func (l *linter) alwaysPlaces(r *rule) bool {
	if l.queues == nil || strings.Contains(r.target, "%") {
		return false
	}
	to, why := leafAt(r.target, r.create, l.queues)
	return why.OK() && to.exists
}

// alwaysFails finds rules whose path can never lead to a queue.
func (l *linter) alwaysFails(i int, r *rule) bool {
	if r.action != actionPlace {
		return false
	}
	if !l.rules.override && slices.Contains(split(r.target), variableNames[varSpecified]) {
		l.say(i, NeverPlaces, "%%specified is always empty here: without %s, rules only see applications that name no queue", PropOverride)
		return true
	}
	if l.queues == nil || strings.Contains(r.target, "%") {
		return false
	}
	if _, why := leafAt(r.target, r.create, l.queues); !why.OK() {
		l.say(i, NeverPlaces, "%s", why.Detail)
		return true
	}
	return false
}

func (l *linter) neverMatches(i int, r *rule) {
	value := r.matcher.value
	switch {
	case r.matcher.kind == matchUser && value == everyone:
		l.say(i, NeverMatches, "* is taken for a user's name; to match everybody write u:%s", everyUser)
	case r.matcher.kind == matchGroup && strings.Contains(value, "%secondary_group"):
		l.say(i, NeverMatches, "%%secondary_group stands for nothing outside of a queue's path")
	case r.matcher.kind != matchEveryone && strings.TrimSpace(value) != value:
		l.say(i, NeverMatches, "%q begins or ends with a space, which names do not", value)
	}
}

// unknownVariables finds parts of paths that look like variables.
func (l *linter) unknownVariables(i int, r *rule) {
	for _, part := range split(r.target) {
		if _, known := variableNamed(part); !known && strings.Contains(part, "%") && r.action == actionPlace {
			l.say(i, UnknownVariable, "%q stays as it is: variables are whole parts of a path, and there are %s", part, strings.Join(variableNames, ", "))
		}
	}
}

// uselessDefaults finds rules that set a default queue which nobody uses, or
// which cannot be used.
func (l *linter) uselessDefaults() {
	for i := range l.rules.list {
		r := &l.rules.list[i]
		if r.action != actionSetDefault {
			continue
		}
		if !slices.ContainsFunc(l.rules.list[i+1:], rule.usesDefault) {
			l.say(i, NoEffect, "no later rule places in the default queue")
			continue
		}
		if l.queues == nil || strings.Contains(r.target, "%") {
			continue
		}
		if _, why := leafAt(r.target, false, l.queues); !why.OK() {
			l.say(i, NeverPlaces, "the default queue cannot be used: %s", why.Detail)
		}
	}
}

func (r rule) usesDefault() bool {
	return r.action == actionPlace && r.fallback == fallbackDefault || strings.Contains(r.target+r.matcher.value, variableNames[varDefault])
}
