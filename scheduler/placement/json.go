package placement

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// description is one rule in JSON. Absent and null fields are nil.
type description struct {
	kind, matches, policy, parent, custom, value, fallback *string
	create                                                 bool
}

// The fields of a rule.
var fieldNames = []string{"type", "matches", "policy", "parentQueue", "fallbackResult", "create", "customPlacement", "value"}

// json reads {"rules":[{…}]}. Field names count exactly; what follows the object
// is ignored, as are fields that nobody knows, but Lint tells about those.
func (p *parser) json(property, text string) {
	if !p.room(property, text, 0) {
		return
	}
	var whole map[string]json.RawMessage
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&whole); err != nil {
		p.refuse(NoRule, property, "", BadRule, "not a JSON object: "+err.Error())
		return
	}
	var list []json.RawMessage
	if raw, ok := whole["rules"]; ok {
		if err := json.Unmarshal(raw, &list); err != nil || list == nil {
			p.refuse(NoRule, property, "", BadRule, `"rules" is not a list`)
			return
		}
	}
	if !p.room(property, text, len(list)) {
		return
	}
	for i, raw := range list {
		compact := oneLine(raw)
		r, wrong := p.read(i, property, compact, raw)
		if wrong != "" {
			p.refuse(i, property, compact, BadRule, wrong)
			continue
		}
		r.text, r.property = compact, property
		p.rules.list = append(p.rules.list, r)
	}
}

func oneLine(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func (p *parser) read(i int, property, text string, raw []byte) (r rule, wrong string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return rule{}, "the rule is not a JSON object"
	}
	d, wrong := describe(fields)
	if wrong != "" {
		return rule{}, wrong
	}
	for _, name := range sortedKeys(fields) {
		if !slices.Contains(fieldNames, name) {
			p.note(i, property, text, UnknownField, fmt.Sprintf("no rule has a field %q: want %s", name, strings.Join(fieldNames, ", ")))
		}
	}
	if wrong = r.build(d); wrong != "" {
		return rule{}, wrong
	}
	for _, name := range d.ignored() {
		p.note(i, property, text, UnknownField, fmt.Sprintf("policy %s ignores the field %q", *d.policy, name))
	}
	return r, ""
}

func sortedKeys(fields map[string]json.RawMessage) []string {
	var keys []string
	for name := range fields { //tidy:unordered they are sorted next
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return keys
}

func describe(fields map[string]json.RawMessage) (d description, wrong string) {
	for _, f := range []struct {
		name string
		to   **string
	}{
		{"type", &d.kind}, {"matches", &d.matches}, {"policy", &d.policy}, {"parentQueue", &d.parent},
		{"customPlacement", &d.custom}, {"value", &d.value}, {"fallbackResult", &d.fallback},
	} {
		raw, ok := fields[f.name]
		if ok && json.Unmarshal(raw, f.to) != nil {
			return d, fmt.Sprintf("%q is not a text", f.name)
		}
	}
	d.create = true
	if raw, ok := fields["create"]; ok {
		switch string(raw) {
		case "true", `"true"`, "null":
		case "false", `"false"`:
			d.create = false
		default:
			return d, `"create" is neither true nor false`
		}
	}
	return d, ""
}

// build makes the rule of a description.
func (r *rule) build(d description) (wrong string) {
	switch {
	case d.policy == nil:
		return `"policy" is missing`
	case d.kind == nil:
		return `"type" is missing`
	case d.matches == nil || *d.matches == "":
		return `"matches" is missing or empty`
	}
	for _, step := range []func(description) string{r.match, r.act, r.otherwise} {
		if wrong := step(d); wrong != "" {
			return wrong
		}
	}
	return ""
}

// everyone is what matches all users.
const everyone = "*"

func (r *rule) match(d description) (wrong string) {
	r.matcher.value = *d.matches
	switch *d.kind {
	case "user":
		r.matcher.kind = matchUser
		if r.matcher.value == everyone {
			r.matcher = matcher{kind: matchEveryone}
		}
	case "group":
		r.matcher.kind = matchGroup
		if r.matcher.value == everyone {
			return `"*" can be matched for users only`
		}
	case "application":
		r.matcher.kind = matchApplication
	default:
		return fmt.Sprintf("type %q is unknown: want user, group or application", *d.kind)
	}
	return ""
}

// below are the policies that place below parentQueue, and where.
var below = map[string]string{
	"user": "%user", "applicationName": "%application", "primaryGroup": "%primary_group", "primaryGroupUser": "%primary_group.%user",
	"secondaryGroup": "%secondary_group", "secondaryGroupUser": "%secondary_group.%user",
}

func (r *rule) act(d description) (wrong string) {
	r.create = d.create
	if path, ok := below[*d.policy]; ok {
		r.target = path
		if d.parent != nil {
			r.target = *d.parent + "." + path
		}
		return ""
	}
	switch *d.policy {
	case "specified":
		r.target = variableNames[varSpecified]
	case "defaultQueue":
		r.target, r.create = variableNames[varDefault], false
	case "reject":
		r.action = actionReject
	case "setDefaultQueue":
		if d.value == nil {
			return `policy setDefaultQueue needs a "value"`
		}
		r.action, r.target = actionSetDefault, *d.value
	case "custom":
		if d.custom == nil {
			return `policy custom needs a "customPlacement"`
		}
		r.target = *d.custom
	default:
		return fmt.Sprintf("policy %q is unknown: want specified, user, applicationName, primaryGroup, primaryGroupUser, secondaryGroup, "+
			"secondaryGroupUser, defaultQueue, setDefaultQueue, custom or reject", *d.policy)
	}
	return ""
}

func (r *rule) otherwise(d description) (wrong string) {
	if d.fallback == nil {
		return ""
	}
	switch *d.fallback {
	case "skip":
	case "reject":
		r.fallback = fallbackReject
	case "placeDefault":
		r.fallback = fallbackDefault
	default:
		return fmt.Sprintf("fallbackResult %q is unknown: want skip, reject or placeDefault", *d.fallback)
	}
	return ""
}

// ignored are the fields that are set but mean nothing for the policy.
func (d description) ignored() []string {
	var out []string
	if _, ok := below[*d.policy]; !ok && d.parent != nil {
		out = append(out, "parentQueue")
	}
	if d.custom != nil && *d.policy != "custom" {
		out = append(out, "customPlacement")
	}
	if d.value != nil && *d.policy != "setDefaultQueue" {
		out = append(out, "value")
	}
	return out
}
