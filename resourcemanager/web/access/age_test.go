package access

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestAge: how old an answer may be is what the request allows, up to a bound; nothing is allowed where it says nothing, or that it wants no kept answer.
func TestAge(t *testing.T) {
	for _, c := range []struct {
		headers []string
		want    time.Duration
	}{
		{nil, 0}, {[]string{"no-cache"}, 0}, {[]string{"max-age=3"}, 3 * time.Second}, {[]string{"no-transform, Max-Age=2"}, 2 * time.Second}, {[]string{"max-age=0"}, 0},
		{[]string{"max-age=3, no-cache"}, 0}, {[]string{"max-age=3", "no-store"}, 0}, {[]string{"max-age=86400"}, mostAge}, {[]string{"max-age=99999999999999999999"}, 0},
		{[]string{"max-age=-1"}, 0}, {[]string{"max-age"}, 0}, {[]string{"only-if-cached"}, 0},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		for _, h := range c.headers {
			r.Header.Add("Cache-Control", h)
		}
		if got := Age(WithAge(r).Context()); got != c.want {
			t.Errorf("%q: %v, want %v", c.headers, got, c.want)
		}
	}
}
