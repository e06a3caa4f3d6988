package golden

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExchanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "asked.txt")
	text := "### PUT /apps/{app}\nAccept: application/json\n\n<a/>\n<b/>\n---\n400 text/plain;charset=utf-8\nAllow: GET,PUT\n\nno {app}\n### GET /x\n---\n200 \n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Exchanges(file, strings.NewReplacer("{app}", "application_1_0001"))
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	x := all[0]
	if x.Method != "PUT" || x.Path != "/apps/application_1_0001" || x.Header.Get("Accept") != "application/json" || x.Body != "<a/>\n<b/>" || x.Text != "no application_1_0001" {
		t.Errorf("%+v", x)
	}
	same := http.Header{"Content-Type": {"text/plain; charset=UTF-8"}, "Allow": {"GET,PUT"}}
	if why := x.Differs(400, same, "no application_1_0001\n"); why != "" {
		t.Error(why)
	}
	for want, got := range map[string]string{
		"status 404": x.Differs(404, same, x.Text), "type": x.Differs(400, http.Header{"Allow": {"GET,PUT"}}, x.Text), "want no": x.Differs(400, same, "yes"),
		"Allow": x.Differs(400, http.Header{"Content-Type": {"text/plain;charset=utf-8"}}, x.Text),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if why := all[1].Differs(200, http.Header{}, "anything"); why != "" {
		t.Error(why)
	}
	if err := os.WriteFile(file, []byte("### GET /x\n200\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Exchanges(file, strings.NewReplacer()); err == nil {
		t.Error("a request without an answer is read")
	}
}
