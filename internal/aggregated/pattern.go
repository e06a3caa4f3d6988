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

var errJavaOnly = errors.New("patterns here have no look-around, back references, possessive repetitions, nested or intersected classes")

// ParsePattern reads a regular expression written for java.util.regex, which is
// what applications send and users type. It is found anywhere in a name. What
// would mean something else here than in Java is refused, not guessed.
func ParsePattern(java string) (*regexp.Regexp, error) {
	if len(java) > MaxPattern {
		return nil, fmt.Errorf("a pattern of %d bytes; at most %d are allowed", len(java), MaxPattern)
	}
	if nested(java) {
		return nil, fmt.Errorf("the pattern %q: %w", java, errJavaOnly)
	}
	p, err := regexp.Compile(java)
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		err = fmt.Errorf("%w (%w)", wrong, errJavaOnly)
	}
	if err != nil {
		return nil, fmt.Errorf("the pattern %q cannot be used: %w", java, err)
	}
	return p, nil
}

// nested finds a class in a class, or an intersection: Go's syntax has the same
// signs for something else.
func nested(p string) bool {
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
