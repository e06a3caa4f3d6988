package introspect

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/internal/webgate"
)

// withLevels is a port of a daemon whose log is out.
func withLevels(out *bytes.Buffer, change func(*Config)) (http.Handler, *slog.Logger) {
	log := slog.New(logs.New(out, logs.NewLevels(slog.LevelInfo))).With("logger", "resourcemanager")
	c := Config{Service: "ResourceManager", Properties: func() []Property { return nil }, Log: log, Admin: func(c webgate.Caller) bool { return c.User == "ada" }}
	if change != nil {
		change(&c)
	}
	r := webgate.NewRouter("/", "")
	Add(r, c)
	return webgate.New(webgate.Config{Changing: []string{LevelChange}}, r), log
}

// printed is what yarn daemonlog prints of an answer.
func printed(body string) string {
	var out []string
	for _, line := range strings.Split(body, "\n") {
		if rest, ok := strings.CutPrefix(line, said); ok {
			out = append(out, strings.NewReplacer("<b>", "", "</b>", "", "<br>", "").Replace(rest))
		}
	}
	return strings.Join(out, "\n")
}

// TestLogLevel: anybody may read a level; only an administrator who says who he is, and no page, sets one, and it is in force at once.
func TestLogLevel(t *testing.T) {
	var out bytes.Buffer
	h, log := withLevels(&out, nil)
	scheduler := log.With("logger", "scheduler")
	scheduler.Debug("not yet")
	for _, x := range []struct {
		path    string
		headers []string
		status  int
		want    string
	}{
		{"/logLevel?log=scheduler", nil, 200, "Submitted Class Name: scheduler\nLog Class: org.slf4j.impl.Reload4jLoggerAdapter\nEffective Level: INFO"},
		{"/logLevel?log=scheduler&level=DEBUG", nil, 403, ""},
		{"/logLevel?log=scheduler&level=DEBUG&user.name=bob", nil, 403, ""},
		{"/logLevel?log=scheduler&level=DEBUG&user.name=ada", []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		{"/logLevel?log=scheduler&level=DEBUG&user.name=ada", []string{"User-Agent", "Mozilla/5.0"}, 403, ""},
		{"/logLevel//?level=DEBUG&log=scheduler", nil, 403, ""},
		{"/logLevel?log=scheduler", nil, 200, "Submitted Class Name: scheduler\nLog Class: org.slf4j.impl.Reload4jLoggerAdapter\nEffective Level: INFO"},
		{"/logLevel?log=scheduler&level=LOUD&user.name=ada", nil, 200, "Submitted Class Name: scheduler\nLog Class: org.slf4j.impl.Reload4jLoggerAdapter\nSubmitted Level: LOUD\nBad Level: LOUD\nEffective Level: INFO"},
		{"/logLevel?log=org.apache.hadoop.yarn.server.resourcemanager.scheduler&level=debug&user.name=ada", nil, 200,
			"Submitted Class Name: org.apache.hadoop.yarn.server.resourcemanager.scheduler\nLog Class: org.slf4j.impl.Reload4jLoggerAdapter\nSubmitted Level: debug\nSetting Level to debug ...\nEffective Level: DEBUG"},
		{"/logLevel?log=<b>&level=OFF&user.name=ada", nil, 200, ""},
		{"/logLevel?level=OFF&user.name=ada", nil, 400, ""},
		{"/logLevel?log=" + strings.Repeat("x", 1001), nil, 400, ""},
		{"/logLevel", nil, 200, ""},
	} {
		w := get(h, x.path, x.headers...)
		if w.Code != x.status || x.want != "" && printed(w.Body.String()) != x.want {
			t.Errorf("%.100s: %d\n%s", x.path, w.Code, printed(w.Body.String()))
		}
		if strings.Contains(w.Body.String(), "<b><b>") {
			t.Errorf("%s: markup of the caller's", x.path)
		}
	}
	scheduler.Debug("now")
	log.Debug("still not")
	if got := out.String(); !strings.Contains(got, "DEBUG scheduler: now") || strings.Contains(got, "not yet") || strings.Contains(got, "still not") || !strings.Contains(got, "user=ada") {
		t.Errorf("%s", got)
	}
	if w := get(h, "/logLevel?log=com.example.Nothing"); !strings.Contains(w.Body.String(), noted+"No logger of this daemon") || strings.Contains(printed(w.Body.String()), "No logger") {
		t.Errorf("%s", printed(w.Body.String()))
	}
}

// TestAdminOnlyLevels: what hadoop.security.instrumentation.requires.admin keeps for administrators.
func TestAdminOnlyLevels(t *testing.T) {
	h, _ := withLevels(&bytes.Buffer{}, func(c *Config) { c.AdminOnly = true })
	if a, b := get(h, "/logLevel?log=x").Code, get(h, "/logLevel?log=x&user.name=ada").Code; a != 403 || b != 200 {
		t.Errorf("%d, %d", a, b)
	}
}

// TestLogFiles: administrators see the daemon's log files, and nothing else.
func TestLogFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"hadoop-ada-resourcemanager-h.log": "line <1>\nline 2\n", "hadoop-ada-resourcemanager-h.log.1": "old\n",
		"hadoop-ada-resourcemanager-h.out": "", "rm-audit.log": "USER=x\n", "secret": "s", "key.pem": "s", ".hidden.log": "s", "recording-1.box": "s"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "userlogs.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("secret", filepath.Join(dir, "link.log")); err != nil {
		t.Fatal(err)
	}
	h, _ := withLevels(&bytes.Buffer{}, func(c *Config) { c.LogDir = dir })
	for _, path := range []string{"/logs", "/logs/", "/logs/rm-audit.log"} {
		if a, b := get(h, path).Code, get(h, path+"?user.name=bob").Code; a != 403 || b != 403 {
			t.Errorf("%s: %d for nobody, %d for bob", path, a, b)
		}
	}
	list := get(h, "/logs/?user.name=ada").Body.String()
	for name, shown := range map[string]bool{"hadoop-ada-resourcemanager-h.log": true, "hadoop-ada-resourcemanager-h.log.1": true, "hadoop-ada-resourcemanager-h.out": true,
		"rm-audit.log": true, "secret": false, "key.pem": false, ".hidden": false, "recording": false, "userlogs": false, "link.log": false} {
		if strings.Contains(list, name) != shown {
			t.Errorf("%s: shown is %v\n%s", name, !shown, list)
		}
	}
	// UI2 takes what the first expression finds in the list, and of that what the second one does.
	var names []string
	for _, found := range regexp.MustCompile(`<a href="/logs/.+">`).FindAllString(list, -1) {
		if m := regexp.MustCompile(`<a href="(/logs/.+)">.+</a>`).FindStringSubmatch(found); m != nil {
			names = append(names, m[1])
		}
	}
	if len(names) != 4 || names[0] != "/logs/hadoop-ada-resourcemanager-h.log" {
		t.Errorf("UI2 reads %q", names)
	}
	for path, want := range map[string]string{"hadoop-ada-resourcemanager-h.log": "line <1>\nline 2\n", "hadoop-ada-resourcemanager-h.log.1": "old\n"} {
		w := get(h, "/logs/"+path+"?user.name=ada")
		if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "text/plain;charset=utf-8" {
			t.Errorf("%s: %d %v %q", path, w.Code, w.Header(), w.Body)
		}
	}
	if w := get(h, "/logs/hadoop-ada-resourcemanager-h.log?user.name=ada", "Range", "bytes=-7"); w.Code != 206 || w.Body.String() != "line 2\n" {
		t.Errorf("the end: %d %q", w.Code, w.Body)
	}
	for _, path := range []string{"secret", "link.log", "userlogs.log", ".hidden.log", "none.log", "..%2fx.log", "%2e%2e", "rm-audit.log%00"} {
		if w := get(h, "/logs/"+path+"?user.name=ada"); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
