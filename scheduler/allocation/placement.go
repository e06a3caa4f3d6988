package allocation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/spelling"
)

// RuleKind is how a rule finds a queue.
type RuleKind uint8

// The kinds of rules. "Clean" names have their dots replaced by _dot_.
const (
	Specified      RuleKind = iota // the queue that the submission names, unless it is "default"
	User                           // root.<clean user>
	PrimaryGroup                   // root.<clean first group>
	SecondaryGroup                 // root.<clean group> of the first group, the primary one included, whose queue the file names
	NestedUser                     // <queue of Parent>.<clean user>
	Default                        // Queue
	Reject                         // none: the submission is refused
)

// ruleNames are the kinds' names in the file, in their order.
var ruleNames = []string{"specified", "user", "primaryGroup", "secondaryGroupExistingQueue", "nestedUserQueue", "default", "reject"}

func (k RuleKind) String() string { return ruleNames[k] }

// PlacementRule finds the queue of a submission, or leaves it to the next rule.
type PlacementRule struct {
	Kind   RuleKind
	Line   int            // of the file; 0 if the rule is not from one
	Create bool           // the queue may be one that the file does not name
	Queue  string         // of Default: a full name
	Parent *PlacementRule // finds the queue below which this rule's is; nil for root
}

// DefaultRules are those of a file without rules: allowUndeclared and userAsDefault are the settings
// yarn.scheduler.fair.allow-undeclared-pools and .user-as-default-queue.
func DefaultRules(allowUndeclared, userAsDefault bool) []PlacementRule {
	rules := []PlacementRule{{Kind: Specified, Create: allowUndeclared}}
	if userAsDefault {
		rules = append(rules, PlacementRule{Kind: User, Create: allowUndeclared})
	}
	if !userAsDefault || !allowUndeclared {
		rules = append(rules, PlacementRule{Kind: Default, Create: true, Queue: "root.default"})
	}
	return rules
}

// terminal tells whether the rule always decides.
func (r *PlacementRule) terminal() bool {
	switch {
	case r.Kind == Reject:
		return true
	case r.Kind == Specified || r.Kind == SecondaryGroup:
		return false
	}
	return r.Create && (r.Parent == nil || r.Parent.terminal())
}

// isRule tells whether an element is a rule. compat: in any case.
func isRule(e *element) bool { return strings.EqualFold(e.name, "rule") }

// placement reads <queuePlacementPolicy>.
func (p *parser) placement(e *element, key string) {
	p.attributes(e, key)
	p.strayText(e, key)
	if e.text == "" && len(e.children) == 0 {
		p.refuse(e, key, "it is empty", "write rules, or remove it")
		return
	}
	var rules []PlacementRule
	sound := true
	for _, c := range e.children {
		if !isRule(c) {
			p.unknownElement(c, key, []string{"rule"}, nil, "")
			continue
		}
		r := p.rule(c, fmt.Sprintf("%s/rule %d", key, len(rules)+1), false)
		if r == nil {
			sound = false
			r = &PlacementRule{}
		}
		rules = append(rules, *r)
	}
	if len(rules) == 0 {
		p.tell(Warning, NoEffect, e, key, "it has no rules, so that the default ones are in force", "write rules, or remove it")
		p.rules = nil
		return
	}
	if sound {
		p.ruleOrder(e, key, rules)
	}
	p.rules = rules
}

// ruleOrder wants the last rule, and no other, to decide always.
func (p *parser) ruleOrder(e *element, key string, rules []PlacementRule) {
	elements := slices.DeleteFunc(slices.Clone(e.children), func(c *element) bool { return !isRule(c) })
	for i := range rules {
		key := fmt.Sprintf("%s/rule %d", key, i+1)
		const never, fix = "it always decides, so that the rules after it never do", `put it last, or give it create="false"`
		switch last := i == len(rules)-1; {
		case rules[i].terminal() && !last && p.loosely:
			p.say(Warning, Rule, elements[i], key, rules[i].Kind.String(), never, fix)
		case rules[i].terminal() && !last:
			p.refuseValue(elements[i], key, rules[i].Kind.String(), never, fix)
		case !rules[i].terminal() && last:
			p.refuseValue(elements[i], key, rules[i].Kind.String(), "the last rule must always decide, and this one does not",
				`add <rule name="default"/> or <rule name="reject"/>`)
		}
	}
}

// rule reads one rule with the one within it; nil if it is refused. A rule that is within another has none within.
func (p *parser) rule(e *element, key string, inner bool) *PlacementRule {
	p.attributes(e, key, "name", "create", "queue")
	p.strayText(e, key)
	name, _ := e.attr("name")
	kind := slices.Index(ruleNames, name)
	switch {
	case name == "":
		p.refuse(e, key, "the rule has no name", "name one of "+strings.Join(ruleNames, ", "))
		return nil
	case kind < 0:
		fix := "write one of " + strings.Join(ruleNames, ", ")
		if near := spelling.Nearest(name, ruleNames); near != "" {
			fix = "did you mean " + near + "?"
		}
		p.refuseValue(e, key, name, "there is no such rule", fix)
		return nil
	}
	r := &PlacementRule{Kind: RuleKind(kind), Line: e.line, Create: true}
	if text, given := e.attr("create"); given && text != "" {
		r.Create = strings.EqualFold(text, "true")
		switch {
		case r.Kind == SecondaryGroup || r.Kind == Reject:
			p.say(Warning, NoEffect, e, key+"@create", text, r.Kind.String()+" creates no queue in any case", "remove the attribute")
		case !r.Create && !strings.EqualFold(text, "false"):
			p.say(Warning, NotAFlag, e, key+"@create", text, "it is neither true nor false, and counts as false", "write true or false")
		}
	}
	p.ruleQueue(r, e, key, inner)
	if inner {
		// compat: two levels are read.
		for _, c := range e.children {
			p.tell(Warning, NoEffect, c, key+"/"+c.name, "what is within a rule that is within a rule has no effect", "remove it")
		}
		return r
	}
	return p.within(r, e, key)
}

// ruleQueue reads the queue of a default rule.
func (p *parser) ruleQueue(r *PlacementRule, e *element, key string, inner bool) {
	text, given := e.attr("queue")
	if r.Kind != Default {
		if given {
			p.say(Warning, NoEffect, e, key+"@queue", text, "only the rule default has a queue", "remove the attribute")
		}
		return
	}
	r.Queue = text
	if name := strings.TrimSpace(text); name != text || name == "" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || len(name) > MaxPathBytes {
		// compat: a name that is none stands for default.
		if r.Queue = "default"; given && text != "" {
			p.say(Warning, Rule, e, key+"@queue", text, "it is not a queue's name, and counts as default", "write a name without spaces or dots at its ends")
		}
	}
	if r.Queue != "root" && !strings.HasPrefix(r.Queue, "root.") {
		r.Queue = "root." + r.Queue
	}
	switch {
	case slices.Contains(strings.Split(r.Queue, "."), ""):
		p.refuseValue(e, key+"@queue", text, "there can be no such queue, because a part of its name is empty", "write a name such as root.default")
	case r.Queue == "root" && !inner:
		p.say(Warning, Rule, e, key+"@queue", text, "no application can be in root, so that those placed here are refused", "write the name of a leaf")
	}
}

// within reads the rule that finds the parent of another rule's queue.
func (p *parser) within(r *PlacementRule, e *element, key string) *PlacementRule {
	var inner *element
	for _, c := range e.children {
		if !isRule(c) {
			p.unknownElement(c, key, []string{"rule"}, nil, "")
			continue
		}
		if inner != nil {
			p.tell(Warning, Repeated, inner, key+"/rule", fmt.Sprintf("line %d has another rule within, and the last one counts", c.line), "write one")
		}
		inner = c
	}
	if inner == nil {
		if r.Kind == NestedUser {
			p.refuseValue(e, key, r.Kind.String(), "there is no rule within it to find the user's parent queue", `write <rule name="primaryGroup"/> within it`)
			return nil
		}
		return r
	}
	if r.Kind == Default || r.Kind == Specified || r.Kind == Reject {
		p.refuseValue(e, key, r.Kind.String(), "this rule can have none within it", "move the inner rule beside it, or remove it")
		return nil
	}
	parent := p.rule(inner, key+"/rule", true)
	if parent == nil {
		return nil
	}
	same := func(k RuleKind) RuleKind {
		if k == NestedUser {
			return User
		}
		return k
	}
	if parent.Kind == Reject || parent.Kind == NestedUser || same(parent.Kind) == same(r.Kind) {
		p.refuseValue(inner, key+"/rule", parent.Kind.String(), "this rule cannot find the parent queue for "+r.Kind.String(),
			"write another: default, specified, primaryGroup or secondaryGroupExistingQueue")
		return nil
	}
	r.Parent = parent
	return r
}
