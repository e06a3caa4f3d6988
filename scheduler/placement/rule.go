package placement

import (
	"slices"
	"strings"
)

// rule is one mapping rule: whom it matches, what it does, and what happens if
// that fails.
type rule struct {
	text     string
	property string
	matcher  matcher
	action   action
	target   string // path with variables, or the value of the default queue
	create   bool   // the target may be created
	fallback fallback
}

type matcher struct {
	kind  matchKind
	value string // may contain variables
}

type matchKind uint8

const (
	matchEveryone matchKind = iota
	matchUser
	matchGroup
	matchApplication
)

type action uint8

const (
	actionPlace action = iota
	actionReject
	actionSetDefault
)

type fallback uint8

const (
	fallbackSkip fallback = iota
	fallbackReject
	fallbackDefault
)

func (m matcher) matches(v *variables) bool {
	switch m.kind {
	case matchUser:
		return v.substitute(m.value) == v.user
	case matchGroup:
		return slices.Contains(v.groups, v.substitute(m.value))
	case matchApplication:
		return v.substitute(m.value) == v.values[varApplication]
	}
	return true
}

// variable is one of the names that stand for something in rules. Longer names
// come first, so that none is taken for the beginning of another.
type variable uint8

const (
	varSecondaryGroup variable = iota
	varPrimaryGroup
	varApplication
	varSpecified
	varDefault
	varUser
	variableCount
)

var variableNames = []string{"%secondary_group", "%primary_group", "%application", "%specified", "%default", "%user"}

func variableNamed(name string) (variable, bool) {
	i := slices.Index(variableNames, name)
	return variable(i), i >= 0
}

// variables are what the names stand for, for one application.
type variables struct {
	user   string   // as it is, for matching
	groups []string // likewise
	values [variableCount]string
	known  [variableCount]bool // an unknown variable stays as it is written

	// secondaries are the groups among which %secondary_group chooses. It takes
	// the first that is the name of a queue at the place where it stands, so it
	// has no value of its own.
	secondaries []string
}

// defaultQueue is what %default stands for until a rule sets it.
const defaultQueue = "root.default"

func newVariables(r Request) variables {
	v := variables{user: r.User, groups: r.Groups}
	v.set(varUser, asQueueName(r.User))
	v.set(varApplication, r.Application)
	v.set(varDefault, defaultQueue)
	v.set(varSpecified, r.Queue)
	if r.Queue == NoQueue {
		v.set(varSpecified, "")
	}
	if len(r.Groups) == 0 {
		return v // compat: the group variables are unknown, not empty, for users without groups
	}
	v.set(varPrimaryGroup, asQueueName(r.Groups[0]))
	for _, g := range r.Groups[1:] {
		v.secondaries = append(v.secondaries, asQueueName(g))
	}
	if len(v.secondaries) == 0 {
		v.set(varSecondaryGroup, "")
	}
	return v
}

func (v *variables) set(name variable, value string) {
	v.values[name], v.known[name] = value, true
}

// asQueueName is a user's or group's name as part of a path, where dots separate.
func asQueueName(name string) string { return strings.ReplaceAll(name, ".", "_dot_") }

// substitute replaces variables anywhere in a text. %secondary_group only counts
// if the user has no secondary groups; what a variable stands for is searched
// for shorter ones.
func (v *variables) substitute(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	for i, name := range variableNames {
		if v.known[i] {
			text = strings.ReplaceAll(text, name, v.values[i])
		}
	}
	return text
}

// path replaces those parts of a path that are variables.
func (v *variables) path(pattern string, queues Queues) string {
	parts := split(pattern)
	for i, part := range parts {
		name, ok := variableNamed(part)
		switch {
		case !ok:
		case v.known[name]:
			parts[i] = v.values[name]
		case name == varSecondaryGroup && len(v.secondaries) > 0:
			parts[i] = v.secondaryGroup(parts[:i], queues)
		}
	}
	return strings.Join(parts, ".")
}

// secondaryGroup is the first secondary group for which there is a queue below
// the given parent, "" if there is none.
func (v *variables) secondaryGroup(parent []string, queues Queues) string {
	for _, group := range v.secondaries {
		if _, presence := queues.Lookup(strings.Join(append(slices.Clone(parent), group), ".")); presence == Present {
			return group
		}
	}
	return ""
}
