package localize

import (
	"fmt"
	"regexp"
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
	re, err := regexp.Compile(`^(?:` + pattern + `)$`)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is not supported: %w", pattern, err)
	}
	return re, nil
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
