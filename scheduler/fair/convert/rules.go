package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Rule is something that the conversion rules file decides about.
type Rule uint8

// The rules, with their names in the file.
const (
	MaxResources        Rule = iota // maxResources
	MinResources                    // minResources
	MaxChildCapacity                // maxChildCapacity
	FairAsDRF                       // fairAsDrf
	ReservationSystem               // reservationSystem
	QueueDynamicCreate              // queueDynamicCreate
	ParentDynamicCreate             // parentDynamicCreate
	StaticConflict                  // childStaticDynamicConflict
	CreateDiff                      // parentChildCreateDiff
	maxCapacityPercent              // maxCapacityPercentage
	dynamicMaxAssign                // dynamicMaxAssign
	queueAutoCreate                 // queueAutoCreate
)

// ruleNames are the rules' names. compat: the last three are read and have no effect.
var ruleNames = []string{"maxResources", "minResources", "maxChildCapacity", "fairAsDrf", "reservationSystem", "queueDynamicCreate",
	"parentDynamicCreate", "childStaticDynamicConflict", "parentChildCreateDiff", "maxCapacityPercentage", "dynamicMaxAssign", "queueAutoCreate"}

const childLimit = "maxChildQueue.limit"

// Actions are what a conversion rules file says. The zero value warns of everything.
type Actions struct {
	abort       [queueAutoCreate + 1]bool
	maxChildren *int // of one queue; nil for any number
}

// ReadActions reads a conversion rules file: Java properties NAME.action = abort or warning, and maxChildQueue.limit.
// Findings are about what has no effect.
func ReadActions(text string) (Actions, []Finding, error) {
	var a Actions
	var findings []Finding
	note := func(line int, format string, args ...any) {
		findings = append(findings, Finding{Warning, fmt.Sprintf(format, args...), line, ""})
	}
	for _, p := range javaProperties(text) {
		if p.name == childLimit {
			n, err := strconv.ParseInt(p.value, 10, 32)
			if err != nil || strings.Trim(p.value, "0123456789") != "" {
				return Actions{}, findings, &Error{p.line, "Rule setting: " + childLimit + " is not an integer"}
			}
			limit := int(n)
			a.maxChildren = &limit
			continue
		}
		i := slices.Index(ruleNames, strings.TrimSuffix(p.name, ".action"))
		switch {
		case i < 0 || !strings.HasSuffix(p.name, ".action"):
			note(p.line, "There is no rule %s", p.name)
			continue
		case i >= int(maxCapacityPercent):
			note(p.line, "Rule %s has no effect", p.name)
		}
		a.abort[i] = strings.EqualFold(p.value, "abort")
		if !a.abort[i] && !strings.EqualFold(p.value, "warning") {
			note(p.line, "Unknown action %s set for rule %s, defaulting to WARNING", p.value, p.name)
		}
	}
	return a, findings, nil
}

// javaProperty is one entry of a properties file, with the line on which it begins.
type javaProperty struct {
	name, value string
	line        int
}

// javaProperties reads Java's format: # and ! begin comments, a backslash at the end continues a line, the name ends at =,
// : or a space. Spaces at the end of a value belong to it. The last of several values counts.
func javaProperties(text string) []javaProperty {
	const blank = " \t\f"
	var out []javaProperty
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for i := 0; i < len(lines); i++ {
		start, line := i+1, strings.TrimLeft(lines[i], blank)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], blank)
		}
		name, rest := cutName(line)
		rest = strings.TrimLeft(rest, blank)
		if rest != "" && (rest[0] == '=' || rest[0] == ':') {
			rest = strings.TrimLeft(rest[1:], blank)
		}
		p := javaProperty{unescape(name), unescape(rest), start}
		out = append(slices.DeleteFunc(out, func(q javaProperty) bool { return q.name == p.name }), p)
	}
	return out
}

// continues tells whether a line ends in an odd number of backslashes.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

func cutName(line string) (name, rest string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':', ' ', '\t', '\f':
			return line[:i], line[i:]
		}
	}
	return line, ""
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			if s[i] != '\\' {
				b.WriteByte(s[i])
			}
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			digits := s[i+1 : min(i+5, len(s))]
			if n, err := strconv.ParseUint(digits, 16, 16); err == nil && len(digits) == 4 {
				b.WriteRune(rune(n))
				i += 4
			} else {
				b.WriteByte('u')
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
