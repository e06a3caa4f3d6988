package aggregated

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// MaxPattern bounds a pattern for the names of log files, in bytes.
const MaxPattern = 4 << 10

var errJavaOnly = errors.New("patterns here have no look-around, back references, possessive repetitions, nested or intersected classes, and nothing that Java and Go read differently")

// maxSteps bounds what a pattern becomes with its repetitions and classes. Memory and the time for a name grow with it: 1 MB, and
// some milliseconds.
const maxSteps = 10_000

// ParsePattern reads a regular expression written for java.util.regex, which is
// what applications send and users type. It is found anywhere in a name. What
// would mean something else here than in Java is refused, not guessed.
func ParsePattern(java string) (*regexp.Regexp, error) {
	if len(java) > MaxPattern {
		return nil, fmt.Errorf("a pattern of %d bytes; at most %d are allowed", len(java), MaxPattern)
	}
	if differs(java) {
		return nil, fmt.Errorf("the pattern %q: %w", java, errJavaOnly)
	}
	tree, err := syntax.Parse(java, syntax.Perl)
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		err = fmt.Errorf("%w (%w)", wrong, errJavaOnly)
	}
	if err != nil {
		return nil, fmt.Errorf("the pattern %q cannot be used: %w", java, err)
	}
	if steps(tree) > maxSteps {
		return nil, fmt.Errorf("the pattern %.100q is too large with all its repetitions and classes: more than %d steps", java, maxSteps)
	}
	return regexp.Compile(java)
}

// maxName is the longest name, in bytes, that a WholePattern matches. No file system has longer ones.
const maxName = 4 << 10

// WholePattern is ParsePattern for a pattern that has to match a name from its beginning to its end.
func WholePattern(java string) (func(name string) bool, error) {
	p, err := ParsePattern(java)
	if err != nil {
		return nil, err
	}
	p.Longest() // so that what is found at the beginning is the whole name if any match is
	return func(name string) bool {
		if len(name) > maxName {
			return false
		}
		found := p.FindStringIndex(name)
		return found != nil && found[0] == 0 && found[1] == len(name)
	}, nil
}

// steps is about how many instructions and ranges of characters a pattern becomes.
func steps(t *syntax.Regexp) int {
	n := 1 + len(t.Rune)
	for _, sub := range t.Sub {
		n += steps(sub)
	}
	if t.Op == syntax.OpRepeat {
		n *= max(t.Min, t.Max, 1)
	}
	return min(n, maxSteps+1)
}

// digits is how many digits s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// repetition tells whether s begins with {n}, {n,} or {n,m}.
func repetition(s string) bool {
	n := digits(s[1:])
	s = s[1+n:]
	if strings.HasPrefix(s, ",") {
		s = s[1+digits(s[1:]):]
	}
	return n > 0 && strings.HasPrefix(s, "}")
}

// differs finds what both languages have, for different things: a class in a class, an intersection, \v, escaped digits and the
// flag U; and what Go takes where Java has an error: a brace without a repetition, and groups and negations of its own.
func differs(p string) bool {
	in, quoted := false, false
	for i := 0; i < len(p); i++ {
		rest := p[i:]
		switch {
		case quoted:
			quoted = !strings.HasPrefix(rest, `\E`)
		case strings.HasPrefix(rest, `\Q`):
			quoted = true
		case p[i] == '\\':
			i++
			escaped := p[i:]
			if strings.HasPrefix(escaped, "v") || strings.HasPrefix(escaped, "p{^") || strings.HasPrefix(escaped, "P{^") || digits(escaped) > 0 {
				return true
			}
			if strings.HasPrefix(escaped, "p{") || strings.HasPrefix(escaped, "P{") || strings.HasPrefix(escaped, "x{") {
				i += max(strings.IndexByte(escaped, '}'), 0)
			}
		case !in && strings.HasPrefix(rest, "(?") && strings.ContainsAny(rest[2:len(rest)-len(strings.TrimLeft(rest[2:], "imsUP-"))], "UP"):
			return true
		case !in && p[i] == '{' && !repetition(rest):
			return true
		case in && (strings.HasPrefix(rest, "&&") || p[i] == '['):
			return true
		case !in && p[i] == '[':
			in = true
			i += len(rest) - 1 - len(strings.TrimPrefix(strings.TrimPrefix(rest[1:], "^"), "]"))
		case in && p[i] == ']':
			in = false
		}
	}
	return false
}
