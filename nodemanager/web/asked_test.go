package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/golden"
)

// TestAsked sends requests with all kinds of methods, media types, wrong ids and filters: each answer has Apache's status, type and error.
func TestAsked(t *testing.T) {
	all, err := golden.Exchanges("testdata/asked.txt", strings.NewReplacer("{running}", first.Attempt.Application.String(), "{container:running}", first.String(), "{ts}", "1795331845708"))
	if err != nil || len(all) < 100 {
		t.Fatalf("%d exchanges, %v", len(all), err)
	}
	p := open(t, nil)
	p.recordedLogs(t)
	p.write(t, first, "prelaunch.out", "Setting up env variables\n")
	for _, x := range all {
		r := httptest.NewRequest(x.Method, x.Path, strings.NewReader(x.Body))
		r.Header = x.Header
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if why := x.Differs(w.Code, w.Header(), w.Body.String()); why != "" {
			t.Errorf("%s %s %v %s: %s", x.Method, x.Path, x.Header, x.Body, why)
		}
	}
}
