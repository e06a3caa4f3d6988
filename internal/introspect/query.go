package introspect

import (
	"path"
	"slices"
	"strings"
)

// maxQuery bounds a query, in bytes and in keys.
const (
	maxQuery = 4 << 10
	maxKeys  = 32
)

// query is a pattern of bean names: DOMAIN:KEY=VALUE,…[,*], where the domain and
// the values may hold * and ?.
type query struct {
	domain string
	keys   map[string]string
	more   bool // other keys are allowed
}

// parseQuery reads a pattern as Java's ObjectName does.
func parseQuery(s string) (query, bool) {
	domain, list, ok := strings.Cut(s, ":")
	if !ok || len(s) > maxQuery || list == "" {
		return query{}, false
	}
	q := query{domain: domain, keys: map[string]string{}}
	parts := splitKeys(list)
	if len(parts) > maxKeys {
		return query{}, false
	}
	for _, p := range parts {
		if p == "*" && !q.more {
			q.more = true
			continue
		}
		key, value, ok := strings.Cut(p, "=")
		if _, twice := q.keys[key]; !ok || key == "" || twice {
			return query{}, false
		}
		q.keys[key] = value
	}
	return q, true
}

// splitKeys splits at commas that are not within quotes. Within them a backslash takes its meaning from what follows.
func splitKeys(s string) []string {
	quoted, escaped := false, false
	return strings.FieldsFunc(s, func(c rune) bool {
		if c == '"' && !escaped {
			quoted = !quoted
		}
		escaped = quoted && c == '\\' && !escaped
		return c == ',' && !quoted
	})
}

// has tells whether a bean's name fits.
func (q query) has(name string) bool {
	domain, list, _ := strings.Cut(name, ":")
	if !fits(q.domain, domain) {
		return false
	}
	found := 0
	for _, p := range splitKeys(list) {
		key, value, _ := strings.Cut(p, "=")
		pattern, asked := q.keys[key]
		switch {
		case asked && fits(pattern, value):
			found++
		case asked || !q.more:
			return false
		}
	}
	return found == len(q.keys)
}

// fits matches * (any text) and ? (any character).
func fits(pattern, s string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == s
	}
	// path.Match would stop at slashes and read brackets and backslashes.
	hide := strings.NewReplacer("/", "\x00", "[", "\x01", `\`, "\x02").Replace
	ok, err := path.Match(hide(pattern), hide(s))
	return ok && err == nil
}

// choose takes the beans that fit, sorted by their names.
func (q query) choose(beans []Bean) []Bean {
	out := slices.DeleteFunc(beans, func(b Bean) bool { return !q.has(b.Name) })
	slices.SortStableFunc(out, func(a, b Bean) int { return strings.Compare(a.Name, b.Name) })
	return out
}
