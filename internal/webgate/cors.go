package webgate

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// CORS lets pages of other origins read answers, as Hadoop's CrossOriginFilter
// does. The zero value lets nobody. Requests that change something are refused to
// pages of other origins, whatever the configuration says.
type CORS struct {
	all      bool // every origin, whose user's cookies then stay out of it
	names    map[string]bool
	patterns []*regexp.Regexp
	methods  []string
	headers  []string
	maxAge   string // seconds for which browsers may remember an answer
}

// NewCORS is what hadoop.http.cross-origin.* say; without methods, nothing is allowed. An origin is "*" for all of
// them, a name such as https://host:8443 in which * stands for anything, or
// "regex:" and an expression that the whole of it must fit.
func NewCORS(origins, methods, headers []string, maxAge time.Duration) (CORS, error) {
	c := CORS{names: map[string]bool{}, headers: headers, maxAge: fmt.Sprint(int64(maxAge / time.Second))}
	for _, m := range methods {
		if slices.Contains(readers, m) {
			c.methods = append(c.methods, m)
		}
	}
	for _, o := range origins {
		text, isPattern := strings.CutPrefix(o, "regex:")
		switch {
		case o == "*":
			c.all = true
			continue
		case !isPattern && !strings.Contains(o, "*"):
			c.names[o] = true
			continue
		case !isPattern:
			text = strings.ReplaceAll(regexp.QuoteMeta(o), `\*`, ".*")
		}
		re, err := regexp.Compile("^(?:" + text + ")$")
		if err != nil {
			return CORS{}, fmt.Errorf("%q is not an expression that origins can be compared with: %w", o, err)
		}
		c.patterns = append(c.patterns, re)
	}
	return c, nil
}

// readers are the methods that change nothing.
var readers = []string{http.MethodGet, http.MethodHead, http.MethodOptions}

// named tells whether the configuration means an origin, and not just any.
func (c *CORS) named(origin string) bool {
	return c.names[origin] || slices.ContainsFunc(c.patterns, func(re *regexp.Regexp) bool { return re.MatchString(origin) })
}

// answer adds the headers with which a browser lets the page that asks read the
// answer, if the page may.
func (c *CORS) answer(h http.Header, r *http.Request) {
	if len(c.methods) == 0 {
		return
	}
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	named := c.named(origin)
	if origin == "" || !named && !c.all || changes(r.Method) {
		return
	}
	if m := r.Header.Get("Access-Control-Request-Method"); m != "" && !slices.Contains(c.methods, m) {
		return
	}
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		name = strings.TrimSpace(name)
		if name != "" && !slices.ContainsFunc(c.headers, func(x string) bool { return strings.EqualFold(x, name) }) {
			return
		}
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if named {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(c.methods, ","))
	h.Set("Access-Control-Allow-Headers", strings.Join(c.headers, ","))
	h.Set("Access-Control-Max-Age", c.maxAge)
}
