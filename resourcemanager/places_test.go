package resourcemanager

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// lines are those of the log that contain a text.
func (l *journalLog) lines(text string) (out []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			out = append(out, line)
		}
	}
	return out
}

// TestPlaceOfState: with recovery everybody can see where the state is kept, and below /tmp it is warned of; likewise for labels.
func TestPlaceOfState(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	path, labels := filepath.Join(dir, "rmstore.bolt"), filepath.Join(dir, "node-labels")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.heddle.state-store.path", path,
		"yarn.node-labels.enabled", "true", "yarn.node-labels.fs-store.root-dir", "file:"+labels)
	if got := w.log.lines("stateStore=" + path); len(got) != 1 {
		t.Errorf("the log does not tell the path: %q", got)
	}
	for path, property := range map[string]string{path: "set yarn.resourcemanager.heddle.state-store.path", labels: "set yarn.node-labels.fs-store.root-dir"} {
		if got := w.log.lines("path=" + path); len(got) != 1 || !strings.Contains(got[0], "level=WARN") || !strings.Contains(got[0], property) {
			t.Errorf("%s is not warned of: %q", path, got)
		}
	}
	if got := w.page("/ws/v1/cluster/info", 200); !strings.Contains(got, `"heddleStateStorePath":"`+path+`"`) {
		t.Error(got)
	}
	if got := w.page("/cluster/cluster", 200); !strings.Contains(got, "<dd>"+path+"</dd>") {
		t.Error(got)
	}
}

// TestNoPlaceOfState: without recovery there is no path to tell.
func TestNoPlaceOfState(t *testing.T) {
	w := newWorld(t, twoQueues)
	if got := w.log.lines("directory of temporary files"); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if got := w.page("/ws/v1/cluster/info", 200); strings.Contains(got, "heddleStateStorePath") {
		t.Error(got)
	}
	if got := w.page("/cluster/cluster", 200); strings.Contains(got, "State store") {
		t.Error(got)
	}
}

// TestCrossOriginOfDaemon: what the configuration says of other origins reaches the port.
func TestCrossOriginOfDaemon(t *testing.T) {
	w := newWorld(t, twoQueues, "hadoop.http.filter.initializers", "org.apache.hadoop.security.HttpCrossOriginFilterInitializer",
		"yarn.resourcemanager.webapp.cross-origin.enabled", "true", "hadoop.http.cross-origin.allowed-origins", "https://ui.example")
	for origin, want := range map[string]string{"https://ui.example": "https://ui.example", "https://evil.example": ""} {
		r, err := http.NewRequest(http.MethodGet, "http://"+w.d.webAddr+"/ws/v1/cluster/info", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", origin)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := answer.Header.Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("%s: %q", origin, got)
		}
	}
}
