package placement

import (
	"fmt"
	"strings"
)

// legacy reads both lists of mappings: u:<user>:<path> and g:<group>:<path>,
// then <application>:<path>.
func (p *parser) legacy(s Settings) {
	p.mappings(PropMappings, s.Mappings, p.userOrGroup)
	p.mappings(PropAppMappings, s.AppMappings, p.application)
}

func (p *parser) mappings(property, text string, add func(text string, parts []string) string) {
	if !p.room(property, text, 0) {
		return
	}
	entries := entries(text)
	if !p.room(property, text, len(p.rules.list)+len(entries)) {
		return
	}
	for _, entry := range entries {
		if wrong := add(entry, cut(entry)); wrong != "" {
			p.refuse(len(p.rules.list), property, entry, BadRule, wrong)
		}
	}
}

// entries cuts a list at commas and line ends, without spaces, empty entries and
// repetitions.
func entries(text string) []string {
	var out []string
	seen := make(map[string]bool)
	for entry := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		entry = strings.TrimSpace(entry)
		if entry != "" && !seen[entry] {
			seen[entry] = true
			out = append(out, entry)
		}
	}
	return out
}

// cut cuts an entry at colons. compat: empty parts do not count.
func cut(entry string) []string {
	var out []string
	for part := range strings.SplitSeq(entry, ":") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// everyUser is the name that makes a user mapping match everybody.
const everyUser = "%user"

func (p *parser) userOrGroup(text string, parts []string) (wrong string) {
	if len(parts) != 3 {
		return "want u:<user>:<queue> or g:<group>:<queue>"
	}
	m := matcher{kind: matchUser, value: parts[1]}
	switch {
	case parts[0] == "g":
		m.kind = matchGroup
	case parts[0] != "u":
		return fmt.Sprintf("%q is neither u for a user nor g for a group", parts[0])
	case parts[1] == everyUser:
		m = matcher{kind: matchEveryone}
	}
	p.add(PropMappings, text, m, parts[2])
	return ""
}

func (p *parser) application(text string, parts []string) (wrong string) {
	if len(parts) != 2 {
		return "want <application>:<queue>"
	}
	p.add(PropAppMappings, text, matcher{kind: matchApplication, value: parts[0]}, parts[1])
	return ""
}

// add adds a legacy rule. If it cannot place, the default queue takes the application.
func (p *parser) add(property, text string, m matcher, path string) {
	p.rules.list = append(p.rules.list, rule{text: text, property: property, matcher: m, target: path, create: true, fallback: fallbackDefault})
}
