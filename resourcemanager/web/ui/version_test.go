package ui

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
)

// TestOwnVersion: pages say which Heddle they are of, beside the release of Hadoop that clients read.
func TestOwnVersion(t *testing.T) {
	h := serve(webtest.New(), false)
	for _, path := range allPages {
		if body := get(h, path).Body.String(); !strings.Contains(body, `<span>3.5.0 · `+release.Own().String()+`</span>`) {
			t.Errorf("%s does not say which build draws it", path)
		}
	}
	body := get(h, "/cluster/cluster").Body.String()
	for _, want := range []string{"<dt>ResourceManager version:</dt><dd>3.5.0</dd>", "<dt>Hadoop version:</dt><dd>3.5.0</dd>",
		"<dt>Heddle version:</dt><dd>" + release.Version + "</dd>", "<dt>Heddle commit:</dt><dd>" + release.Own().Commit + "</dd>"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}
