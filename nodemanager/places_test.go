package nodemanager

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// page is what the web port answers at a path.
func (w *world) page(path string) string {
	w.Helper()
	r, err := http.Get("http://" + w.daemon.ports.web.Addr().String() + path)
	if err != nil {
		w.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		w.Fatalf("%s: %s %v", path, r.Status, err)
	}
	return string(body)
}

// TestPlaceOfRecovery: with recovery everybody can see where it is kept, and below a directory of temporary files it is warned of.
func TestPlaceOfRecovery(t *testing.T) {
	w := lasting(t)
	dir := w.path("recovery")
	t.Setenv("TMPDIR", w.dir)
	w.start()
	var told, warned bool
	for line := range strings.Lines(w.said()) {
		told = told || strings.Contains(line, "recoveryDirectory="+dir)
		warned = warned || strings.Contains(line, "level=WARN") && strings.Contains(line, "path="+dir) && strings.Contains(line, "set yarn.nodemanager.recovery.dir")
	}
	if !told || !warned {
		t.Errorf("told %t, warned %t", told, warned)
	}
	if got := w.page("/ws/v1/node/info"); !strings.Contains(got, `"heddleRecoveryDirectory":"`+dir+`"`) {
		t.Error(got)
	}
	if got := w.page("/node"); !strings.Contains(got, "<dd>"+dir+"</dd>") {
		t.Error(got)
	}
}

// TestNoPlaceOfRecovery: without recovery there is no directory to tell.
func TestNoPlaceOfRecovery(t *testing.T) {
	w := newWorld(t)
	if got := w.page("/ws/v1/node/info"); strings.Contains(got, "heddleRecoveryDirectory") {
		t.Error(got)
	}
	if got := w.page("/node") + w.said(); strings.Contains(got, "Recovery directory") || strings.Contains(got, "temporary files") {
		t.Error(got)
	}
}

// TestForeignFileSystem: on a cluster whose own file system is gs:// the start says what will not work, why, and what to do.
func TestForeignFileSystem(t *testing.T) {
	w := newWorld(t, testEnvironment, "JAVA_HOME=/nowhere", "fs.defaultFS", "gs://bucket", "yarn.log-aggregation-enable", "true", "yarn.nodemanager.remote-app-log-dir", "/logs")
	for _, must := range []string{
		`log aggregation: logs are not collected: yarn.nodemanager.remote-app-log-dir lies on a file system (gs)`,
		`containers whose resources lie on the default file system will fail`, `no Java was found (JAVA_HOME in the NodeManager's environment)`,
	} {
		if !strings.Contains(w.said(), must) {
			t.Errorf("%q was not said:\n%s", must, w.said())
		}
	}
	if w = newWorld(t); strings.Contains(w.said(), "gs") && strings.Contains(w.said(), "not collected") || strings.Contains(w.said(), "localizer fetches") {
		t.Errorf("said without need:\n%s", w.said())
	}
}
