package ui

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
)

// TestDrainsPage: who drains, until when and for whom; a reason is shown as text.
func TestDrainsPage(t *testing.T) {
	h := serve(webtest.Drains(), false)
	body := strings.ReplaceAll(get(h, "/cluster/drains").Body.String(), "<wbr>", "")
	for _, want := range []string{`<th scope="row">localhost:22717</th><td>DECOMMISSIONING</td><td>WAIT_CONTAINER</td>`, `bad &lt;disk&gt;`, `<td>1m30s</td><td>3</td>`,
		`<a href="/cluster/app/application_1795305251364_0006">application_1795305251364_0006</a> of alice in root.prod.adhoc, 0.0%, 3 containers, its ApplicationMaster among them`,
		`<th scope="row">old:1</th><td>DECOMMISSIONED</td><td>DECOMMISSIONED</td>`, `<td>none</td><td>-</td>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	far := webtest.Drains()
	far.Picture.Nodes[0].Drain.Deadline, far.Picture.Applications = 1<<60, nil // its applications are not known: only the deadline counts
	if body := get(serve(far, false), "/cluster/drains").Body.String(); !strings.Contains(body, `<td>2562047h47m16s</td>`) {
		t.Errorf("a deadline in centuries:\n%s", body)
	}
	if strings.Contains(body, "localhost:26839") {
		t.Errorf("the page names a node that does not drain:\n%s", body)
	}
}
