package web

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
)

// TestAsked sends requests with all kinds of methods, media types, wrong ids, filters and bodies: each answer has Apache's status, type and error.
// testdata/README.md says how they were recorded.
func TestAsked(t *testing.T) {
	var names []string
	for name, n := range map[string]int32{"finished": 3, "running": 6, "waiting": 8, "spare": 8} {
		id := webtest.App(n).String()
		_, number, _ := strings.Cut(id, "_")
		names = append(names, "{"+name+"}", id, "{attempt:"+name+"}", "appattempt_"+number+"_000001", "{container:"+name+"}", "container_"+number+"_01_000001")
	}
	names = append(names, "{ts}", strconv.FormatInt(webtest.Started, 10), "{rm}", "rm.example:8088")
	all, err := golden.Exchanges("testdata/asked.txt", strings.NewReplacer(names...))
	if err != nil || len(all) < 600 {
		t.Fatalf("%d exchanges, %v", len(all), err)
	}
	d := open(t, nil)
	for _, x := range all {
		r := httptest.NewRequest(x.Method, x.Path, strings.NewReader(x.Body))
		r.Header, r.Host = x.Header, "rm.example:8088"
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if why := x.Differs(w.Code, w.Header(), w.Body.String()); why != "" {
			t.Errorf("%s %s %v %s: %s", x.Method, x.Path, x.Header, x.Body, why)
		}
	}
}
