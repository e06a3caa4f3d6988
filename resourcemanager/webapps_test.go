package resourcemanager

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Apache's own web interfaces are served from where the settings say, on both web ports. One that is not there says so, and stops nothing.
func TestWebApps(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("its page"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, twoQueues, "yarn.webapp.ui2.enable", "true", "yarn.webapp.ui2.war-file-path", dir, "yarn.webapp.scheduler-ui.enable", "true",
		"yarn.resourcemanager.heddle.ui.address", "127.0.0.1:0")
	var session struct {
		Session struct{ ChangesAt string }
	}
	w.web("GET", "session", "", &session)
	defer http.DefaultClient.CloseIdleConnections()
	if session.Session.ChangesAt == "" {
		t.Fatal("there is no port for operators")
	}
	for path, want := range map[string]string{"/ui2": "200 its page", "/ui2/": "200 its page", "/ui2/x": "404 There is no such file in this web application.",
		"/scheduler-ui/": "404 The web interface that yarn.webapp.scheduler-ui.enable asks for could not be read: the ResourceManager's log says why."} {
		for _, at := range []string{"http://" + w.d.webAddr, session.Session.ChangesAt} {
			if got := fetched(t, at+path); got != want {
				t.Errorf("%s of %s answers %s, want %s", path, at, got, want)
			}
		}
	}
	if got := fetched(t, "http://"+w.d.webAddr+"/cluster/cluster"); !strings.HasPrefix(got, "200 ") {
		t.Errorf("the light pages answer %s", got)
	}
}

// Without a path the interfaces of the installation of Apache Hadoop are served: a war if there is one, else the folder, and nothing where
// they are not switched on.
func TestInstalledWebApps(t *testing.T) {
	home := t.TempDir()
	d := &Daemon{process: process{Options: Options{Getenv: func(name string) string {
		if name == "HADOOP_HOME" {
			return home
		}
		return ""
	}}}}
	const war, folder = "hadoop-yarn-ui-*.war", "webapps/ui2"
	if _, err := d.installed(war, folder); err == nil || !strings.Contains(err.Error(), "HADOOP_HOME") {
		t.Errorf("an empty installation: %v", err)
	}
	shared := filepath.Join(home, "share/hadoop/yarn")
	if err := os.MkdirAll(filepath.Join(shared, folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := d.installed(war, folder); err != nil || got != filepath.Join(shared, folder) {
		t.Errorf("the folder: %s, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(shared, "hadoop-yarn-ui-3.4.1.war"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := d.installed(war, folder); err != nil || got != filepath.Join(shared, "hadoop-yarn-ui-3.4.1.war") {
		t.Errorf("the war: %s, %v", got, err)
	}
	d.Getenv = nil
	if _, err := d.installed(war, folder); err == nil {
		t.Error("without an environment there is an installation")
	}
	if apps := newWorld(t, twoQueues).d.webApps(); len(apps) != 0 {
		t.Errorf("%d interfaces are served that nobody has switched on", len(apps))
	}
}

// fetched is the status and the text of an answer.
func fetched(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status[:4] + strings.TrimSpace(string(b))
}
