package storetest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/state"
)

// rule is one line of a script.
type rule struct {
	method      string
	first, last int
	outcome     string
	stored      bool
	index       int    // of the poisoned change; -1: prefix tells
	prefix      string // of the key of the poisoned change
}

func parseScript(script string) ([]rule, error) {
	var rules []rule
	for i, line := range strings.Split(script, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		r, err := parseRule(words)
		if err != nil {
			return nil, fmt.Errorf("line %d of the fault script, %q: %w", i+1, strings.TrimSpace(line), err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseRule(words []string) (rule, error) {
	if len(words) < 3 {
		return rule{}, fmt.Errorf("want a method, its calls and an outcome")
	}
	r := rule{method: words[0], outcome: words[2], index: -1}
	if r.method != "load" && r.method != "commit" && r.method != "close" {
		return r, fmt.Errorf("no method %q: want load, commit or close", r.method)
	}
	if err := r.parseCalls(words[1]); err != nil {
		return r, err
	}
	rest := words[3:]
	switch {
	case r.outcome == "unavailable" && len(rest) == 1 && rest[0] == "stored" && r.method == "commit":
		r.stored = true
		return r, nil
	case r.outcome == "poison" && len(rest) == 1 && r.method == "commit":
		if n, err := strconv.ParseUint(rest[0], 10, 31); err == nil {
			r.index = int(n)
		} else {
			r.prefix = rest[0]
		}
		return r, nil
	case (failures[r.outcome] != nil || r.outcome == "fenced" || r.outcome == "hold") && len(rest) == 0 &&
		(r.method != "close" || r.outcome == "unavailable"):
		return r, nil
	}
	return r, fmt.Errorf("no outcome %q of %s", strings.Join(words[2:], " "), r.method)
}

// parseCalls reads *, 3, 3..5 or 3.. .
func (r *rule) parseCalls(s string) error {
	if s == "*" {
		r.first, r.last = 1, math.MaxInt
		return nil
	}
	from, to, ranged := strings.Cut(s, "..")
	if !ranged {
		to = from
	}
	var err1, err2 error
	r.first, err1 = strconv.Atoi(from)
	r.last = math.MaxInt
	if to != "" {
		r.last, err2 = strconv.Atoi(to)
	}
	if err1 != nil || err2 != nil || r.first < 1 || r.last < r.first {
		return fmt.Errorf("calls %q are not *, N, N..M or N..", s)
	}
	return nil
}

func (r *rule) applies(method string, call int, ops []state.Op) bool {
	if r.method != method || call < r.first || call > r.last {
		return false
	}
	return r.outcome != "poison" || r.poisoned(ops) >= 0
}

// poisoned is the index of the change that the rule makes fail, or -1.
func (r *rule) poisoned(ops []state.Op) int {
	if r.index >= 0 {
		if r.index < len(ops) {
			return r.index
		}
		return -1
	}
	for i, op := range ops {
		if op.Check() == nil && strings.HasPrefix(op.Record.Key().String(), r.prefix) {
			return i
		}
	}
	return -1
}
