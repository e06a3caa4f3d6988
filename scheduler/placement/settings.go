package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// The properties that placement reads.
const (
	PropPlacements  = "yarn.scheduler.queue-placement-rules"
	PropAppMappings = "yarn.scheduler.queue-placement-rules.app-name"
	PropMappings    = "yarn.scheduler.capacity.queue-mappings"
	PropOverride    = "yarn.scheduler.capacity.queue-mappings-override.enable"
	PropFormat      = "yarn.scheduler.capacity.mapping-rule-format"
	PropJSON        = "yarn.scheduler.capacity.mapping-rule-json"
	PropJSONFile    = "yarn.scheduler.capacity.mapping-rule-json-file"
)

// Limits of a configuration.
const (
	MaxRules = 20_000
	MaxText  = 8 << 20 // bytes in one property or in the file
)

// The values of PropFormat.
const (
	FormatLegacy = "legacy"
	FormatJSON   = "json"
)

// Settings are the values of the properties, empty where one is not set.
type Settings struct {
	Override    bool   // PropOverride: rules also decide over applications that name a queue
	Format      string // PropFormat; empty means FormatLegacy
	Mappings    string // PropMappings
	AppMappings string // PropAppMappings
	JSON        string // PropJSON
	JSONFile    string // the content of the file that PropJSONFile names; read only if JSON is empty
	Placements  string // PropPlacements
}

// Rules are the rules in force, in their order. They never change.
type Rules struct {
	list     []rule
	override bool
	notes    []Finding // about the text, for Lint
}

// Len is the number of rules.
func (r *Rules) Len() int { return len(r.list) }

// Text is a rule as it was configured.
func (r *Rules) Text(i int) string { return r.list[i].text }

// Parse reads the rules. With any finding there are no rules.
func Parse(s Settings) (*Rules, []Finding) {
	p := parser{rules: &Rules{override: s.Override}}
	p.checkPlacements(s.Placements)
	switch {
	case s.Format == "" || s.Format == FormatLegacy:
		p.legacy(s)
	case s.Format == FormatJSON && s.JSON != "":
		p.json(PropJSON, s.JSON)
	case s.Format == FormatJSON && s.JSONFile != "":
		p.json(PropJSONFile, s.JSONFile)
	case s.Format == FormatJSON:
		p.note(NoRule, PropFormat, s.Format, NoEffect, "the format is json, but there is neither "+PropJSON+" nor "+PropJSONFile+": no rules apply")
	default:
		p.refuse(NoRule, PropFormat, s.Format, BadRule, fmt.Sprintf("the format is neither %q nor %q", FormatLegacy, FormatJSON))
	}
	if len(p.findings) > 0 {
		return nil, p.findings
	}
	return p.rules, nil
}

type parser struct {
	rules    *Rules
	findings []Finding
}

func (p *parser) refuse(rule int, property, text string, code yarn.Code, detail string) {
	p.findings = append(p.findings, finding(rule, property, text, code, detail))
}

func (p *parser) note(rule int, property, text string, code yarn.Code, detail string) {
	p.rules.notes = append(p.rules.notes, finding(rule, property, text, code, detail))
}

func finding(rule int, property, text string, code yarn.Code, detail string) Finding {
	return Finding{Rule: rule, Property: property, Text: text, Reason: yarn.Reason{Code: code, Subject: property, Detail: detail}}
}

// checkPlacements checks the list of placement engines. The only ones that are
// built are user-group and app-name; both mean the mapping rules, and so does an
// empty list.
func (p *parser) checkPlacements(text string) {
	var seen []string
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "" && strings.TrimSpace(text) == "":
		case slices.Contains(seen, name):
			p.refuse(NoRule, PropPlacements, text, BadRule, fmt.Sprintf("%q is listed twice", name))
		case name != "user-group" && name != "app-name":
			p.refuse(NoRule, PropPlacements, text, BadRule,
				fmt.Sprintf("%q is not known: want user-group or app-name; classes of one's own cannot be loaded", name))
		}
		seen = append(seen, name)
	}
}

// room tells whether a property is not too long and, for lists, not too many.
func (p *parser) room(property, text string, rules int) bool {
	if len(text) > MaxText {
		p.refuse(NoRule, property, "", TooLarge, fmt.Sprintf("%d bytes are more than the limit of %d", len(text), MaxText))
		return false
	}
	if rules > MaxRules {
		p.refuse(NoRule, property, "", TooLarge, fmt.Sprintf("%d rules are more than the limit of %d", rules, MaxRules))
		return false
	}
	return true
}
