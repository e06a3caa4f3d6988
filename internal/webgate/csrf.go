package webgate

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
)

// CSRF is Hadoop's protection against forged requests (properties
// yarn.DAEMON.webapp.rest-csrf.*).
type CSRF struct {
	Enabled    bool
	Header     string   // custom-header, default X-XSRF-HEADER
	Ignore     []string // methods-to-ignore, default GET,OPTIONS,HEAD,TRACE
	UserAgents []string // browser-useragents-regex, default ^Mozilla.*,^Opera.*

	browsers []*regexp.Regexp
}

func (c CSRF) complete() CSRF {
	if c.Header == "" {
		c.Header = "X-XSRF-HEADER"
	}
	if len(c.Ignore) == 0 {
		c.Ignore = []string{"GET", "OPTIONS", "HEAD", "TRACE"}
	}
	if len(c.UserAgents) == 0 {
		c.UserAgents = []string{"^Mozilla.*", "^Opera.*"}
	}
	for _, text := range c.UserAgents {
		// An expression that Go does not understand protects against everybody.
		re, err := regexp.Compile("^(?:" + strings.TrimSpace(text) + ")$")
		if err != nil {
			re = regexp.MustCompile("")
		}
		c.browsers = append(c.browsers, re)
	}
	return c
}

// browser tells whether a browser asks.
func (c CSRF) browser(r *http.Request) bool {
	return slices.ContainsFunc(c.browsers, func(re *regexp.Regexp) bool { return re.MatchString(r.UserAgent()) })
}

func (c CSRF) check(r *http.Request) error {
	if !c.Enabled || !c.browser(r) || slices.Contains(c.Ignore, r.Method) || r.Header[http.CanonicalHeaderKey(c.Header)] != nil {
		return nil
	}
	return answer.Errorf(answer.Invalid, "Missing Required Header for CSRF Vulnerability Protection: %s", c.Header)
}
