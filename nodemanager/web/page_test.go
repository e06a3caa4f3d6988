package web

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/release"
)

// TestOwnVersion: pages say which Heddle they are of, beside the release of Hadoop.
func TestOwnVersion(t *testing.T) {
	p := open(t, nil)
	for _, path := range []string{"/node", "/node/allApplications", "/node/allContainers", "/node/application/bogus"} {
		if body := p.get(path, "").Body.String(); !strings.Contains(body, "<span>3.5.0 · "+release.Own().String()+"</span>") {
			t.Errorf("%s does not say which build draws it:\n%s", path, body)
		}
	}
	body := p.get("/node", "").Body.String()
	for _, want := range []string{"<dt>NodeManager Version</dt><dd>3.5.0</dd>", "<dt>Heddle version</dt><dd>" + release.Version + "</dd>",
		"<dt>Heddle commit</dt><dd>" + release.Own().Commit + "</dd>"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}
