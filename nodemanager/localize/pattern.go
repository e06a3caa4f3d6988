package localize

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// compile translates a Java regular expression that has to match whole names. What Go reads in another way than Java is
// refused, as is what it does not have (look-around, back references, possessive repetition).
func compile(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	if what := differs(pattern); what != "" {
		return nil, fmt.Errorf("the pattern %q uses %s, which is not supported", pattern, what)
	}
	whole := `^(?:` + pattern + `)$`
	tree, err := syntax.Parse(whole, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is not supported: %w", pattern, err)
	}
	if cost(tree) > maxCost {
		return nil, fmt.Errorf("the pattern %.100q is too large with all its repetitions and classes: more than %d steps", pattern, maxCost)
	}
	return regexp.Compile(whole)
}

// maxCost bounds what a pattern takes in memory, which grows with what it repeats and not with its length alone: about 1 MB.
const maxCost = 10_000

// cost is about how many steps and characters a pattern becomes.
func cost(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += cost(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxCost+1)
}

// differs finds what both languages accept but understand differently.
func differs(pattern string) string {
	class := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			if i++; i < len(pattern) && pattern[i] == 'Q' {
				return `\Q`
			}
			if i < len(pattern) && pattern[i] == 'v' {
				return `\v`
			}
		case c == '[' && class:
			return "a class within a class"
		case c == '&' && class && i+1 < len(pattern) && pattern[i+1] == '&':
			return "an intersection of classes"
		case c == '[':
			class = true
			if i+1 < len(pattern) && pattern[i+1] == '^' {
				i++
			}
			if i+1 < len(pattern) && pattern[i+1] == ']' {
				return "a class that begins with ]"
			}
		case c == ']':
			class = false
		case c == '(' && !class && i+2 < len(pattern) && pattern[i+1] == '?' && (pattern[i+2] == 'U' || pattern[i+2] == 'P'):
			return "(?" + pattern[i+2:i+3]
		}
	}
	return ""
}
