package access

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mostAge is how old what is read may be at most, whatever a request allows.
const mostAge = 10 * time.Second

type ageKey struct{}

// WithAge is the request, which lets Source answer with what it has if the header Cache-Control allows that by max-age: the views that were published last, if
// they are not older. Without max-age, as from Hadoop's clients, they show everything that was answered before the request came.
func WithAge(r *http.Request) *http.Request {
	age := time.Duration(0)
	for _, line := range r.Header.Values("Cache-Control") {
		for word := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(word)), "=")
			switch name {
			case "no-cache", "no-store":
				return r
			case "max-age":
				n, err := strconv.ParseUint(value, 10, 31)
				if err != nil || n == 0 {
					return r
				}
				age = min(time.Duration(n)*time.Second, mostAge)
			}
		}
	}
	if age == 0 {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), ageKey{}, age))
}

// Age is how old what is read may be; 0: it shows everything that was answered before.
func Age(ctx context.Context) time.Duration {
	age, _ := ctx.Value(ageKey{}).(time.Duration)
	return age
}
