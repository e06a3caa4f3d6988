package answer

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/answer/tree"
)

func TestAccepts(t *testing.T) {
	for accept, want := range map[string]bool{
		"": true, "*/*": true, "text/plain": true, "text/*": true, "application/json": false, "application/json, text/plain;q=0.1": true,
		"text/plain;q=0, */*": false, "text/html,*/*;q=0.8": true, "nonsense;;;": false,
	} {
		if got := Accepts([]string{accept}, "text/plain"); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}

func TestServe(t *testing.T) {
	for _, c := range []struct {
		accept string
		err    error
		status int
		body   string
	}{
		{"", nil, 200, `{"r":{"a":1}}`},
		{"application/xml", nil, 200, `<?xml version="1.0" encoding="UTF-8"?><r><a>1</a></r>`},
		{"image/png", nil, 406, "NotAcceptableException"},
		{"", Errorf(NotFound, "no %s", "x"), 404, `"message":"no x","javaClassName":"org.apache.hadoop.yarn.webapp.NotFoundException"`},
		{"", IllegalArgument("bad"), 400, `"javaClassName":"java.lang.IllegalArgumentException"`},
		{"", errors.New("broken"), 503, `"message":"broken"`},
	} {
		h := Serve(nil, func(*http.Request) (*Response, error) { return Wrapped("r", tree.New().Add("a", 1)), c.err })
		r := httptest.NewRequest(http.MethodGet, "/ws", nil)
		r.Header.Set("Accept", c.accept)
		w := httptest.NewRecorder()
		h(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%q, %v: %d %s", c.accept, c.err, w.Code, w.Body)
		}
	}
}

func TestParseApplication(t *testing.T) {
	if id, err := ParseApplication("application_1_0002"); err != nil || id.Sequence != 2 {
		t.Error(id, err)
	}
	for text, want := range map[string]string{"foo": "should start with prefix application", "application_x": "Invalid ApplicationId: application_x"} {
		if _, err := ParseApplication(text); KindOf(err) != Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
