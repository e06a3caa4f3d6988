// Package javaregexp reads regular expressions that are written for java.util.regex, which is what applications send and users type.
// Go's expressions take linear time and lack some of Java's. What is lacking, and what would mean something else here than in Java, is
// refused and not guessed, but for a few characters that names of files hardly have.
package javaregexp

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// MaxLength bounds a pattern, in bytes.
const MaxLength = 4 << 10

var errJavaOnly = errors.New("patterns here have no look-around, back references, possessive repetitions, nested or intersected classes, and nothing that Java and Go read differently")

// maxSteps bounds what a pattern becomes with its repetitions and classes. Memory and the time for a name grow with it: 1 MB, and
// some milliseconds.
const maxSteps = 10_000

// Parse reads a pattern that may match anywhere in a name, as with Java's Matcher.find.
func Parse(java string) (*regexp.Regexp, error) {
	if len(java) > MaxLength {
		return nil, fmt.Errorf("a pattern of %d bytes; at most %d are allowed", len(java), MaxLength)
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

// maxName is the longest name, in bytes, that a pattern of ParseWhole matches. No file system has longer ones.
const maxName = 4 << 10

// ParseWhole reads a pattern that has to match a name from its beginning to its end, as with Java's Matcher.matches.
func ParseWhole(java string) (func(name string) bool, error) {
	p, err := Parse(java)
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
// flag U; and what Go takes where Java has an error: a brace without a repetition, names of scripts, a repetition of a group of flags,
// and groups and negations of its own. Five differences are left, all in names that files hardly have: $ is not before a newline that ends a
// name, a dot is any character but \n, \s is no vertical tab, (?i) knows more than ASCII, and \b knows ASCII alone, as Java's does since
// Java 19.
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
			if strings.HasPrefix(escaped, "v") || digits(escaped) > 0 {
				return true
			}
			kind, name := escaped[:min(1, len(escaped))], escaped[min(1, len(escaped)):min(2, len(escaped))]
			if name == "{" && strings.Contains("pPx", kind) {
				name, _, _ = strings.Cut(escaped[2:], "}")
				i += 2 + len(name)
			}
			if (kind == "p" || kind == "P") && !category(name) {
				return true
			}
		case !in && strings.HasPrefix(rest, "(?") && badFlags(rest[2:]):
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

// category tells whether a name in \p{…} or after \p is a category of Unicode, which both languages name alike.
func category(name string) bool { return unicode.Categories[name] != nil }

// badFlags tells whether what follows (? are flags that Java does not have, or are followed by a repetition.
func badFlags(s string) bool {
	after := strings.TrimLeft(s, "imsUP-")
	return strings.ContainsAny(s[:len(s)-len(after)], "UP") || len(after) > 1 && after[0] == ')' && strings.ContainsAny(after[1:2], "?*+{")
}
