package access

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mostAge bounds the age that a request may accept.
const mostAge = 10 * time.Second

type ageKey struct{}

// WithAge returns the request with the age of data that it accepts: max-age of its header Cache-Control, in seconds, at most mostAge. Source then answers with the
// views that were published last, if they are no older than that. Without max-age, as from Hadoop's clients, an answer includes every change that anybody was
// told of before the request came; so it does with no-cache, no-store or a max-age that is no number.
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

// Age is the age of data that the request accepts; 0: an answer must include every change that anybody was told of before.
func Age(ctx context.Context) time.Duration {
	age, _ := ctx.Value(ageKey{}).(time.Duration)
	return age
}
