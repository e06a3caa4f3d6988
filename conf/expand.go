package conf

import (
	"fmt"
	"regexp"
	"strings"
)

// Limits of ${variable} expansion.
const (
	maxRounds   = 20      // Configuration.MAX_SUBST
	maxExpanded = 1 << 20 // bytes one value may grow to
)

// variable matches the left-most innermost ${name}: names hold no brace,
// dollar or space.
var variable = regexp.MustCompile(`\$\{[^}$ ]+\}`)

// variables finds the value of ${name}, in Hadoop's order: in the environment
// for env.NAME, else in JVM-like system properties; then in the configuration
// itself.
type variables struct {
	env    func(string) (string, bool)
	system map[string]string
}

// expand replaces variables in raw, one per round, the left-most first. An
// unknown variable ends the expansion and stays as written, and a value that
// directly contains itself is returned as written (both Configuration's rule).
// The error is non-nil when 20 rounds are not enough or the text grows past
// maxExpanded.
func (v variables) expand(raw string, lookup func(string) (string, bool)) (string, error) {
	text := raw
	for range maxRounds {
		at := variable.FindStringIndex(text)
		if at == nil {
			return text, nil
		}
		ref := text[at[0]:at[1]]
		val, ok := v.value(ref[2:len(ref)-1], lookup)
		if !ok {
			return text, nil
		}
		if strings.Contains(val, ref) {
			return raw, nil
		}
		text = text[:at[0]] + val + text[at[1]:]
		if len(text) > maxExpanded {
			return raw, fmt.Errorf("expanding ${...} makes it longer than %d bytes", maxExpanded)
		}
	}
	// compat: Hadoop gives up after the 20th replacement even when nothing is
	// left to replace.
	return raw, fmt.Errorf("expanding ${...} takes %d rounds or more: look for variables that refer to each other", maxRounds)
}

func (v variables) value(name string, lookup func(string) (string, bool)) (string, bool) {
	if env, ok := strings.CutPrefix(name, "env."); ok && env != "" {
		if val, ok := v.environment(env); ok {
			return val, true
		}
	} else if val, ok := v.system[name]; ok {
		return val, true
	}
	return lookup(name)
}

// environment reads NAME, NAME-default (used when unset) and NAME:-default
// (used when unset or empty).
func (v variables) environment(expr string) (string, bool) {
	i := strings.IndexByte(expr, '-')
	if i < 0 {
		return v.getenv(expr)
	}
	if i > 0 && expr[i-1] == ':' {
		if val, ok := v.getenv(expr[:i-1]); ok && val != "" {
			return val, true
		}
		return expr[i+1:], true
	}
	if val, ok := v.getenv(expr[:i]); ok {
		return val, true
	}
	return expr[i+1:], true
}

func (v variables) getenv(name string) (string, bool) {
	if v.env == nil || name == "" {
		return "", false
	}
	return v.env(name)
}
