package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDaemonLog: what Apache's daemons answer is printed as its own command prints it, and the user is named to the daemon.
func TestDaemonLog(t *testing.T) {
	var asked []string
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String())
		switch q := r.URL.Query(); {
		case r.URL.Path != "/logLevel":
			http.NotFound(w, r)
		case q.Get("log") == "none":
			fmt.Fprint(w, "<html>nothing</html>")
		case q.Get("log") == "refused":
			http.Error(w, "bob is no administrator\x1b[2J", http.StatusForbidden)
		default: // as recorded of Apache's
			fmt.Fprintf(w, "<html>\n<link rel='stylesheet'>\n<h1>Log Level</h1>\n\n<br /><hr /><h3>Results</h3>\n<!-- OUTPUT -->Submitted Class Name: <b>%s</b><br />\n"+
				"<!-- OUTPUT -->Log Class: <b>org.slf4j.impl.Reload4jLoggerAdapter</b><br />\n", q.Get("log"))
			if q.Has("level") {
				fmt.Fprintf(w, "<!-- OUTPUT -->Submitted Level: <b>%s</b><br />\n<!-- OUTPUT -->Setting Level to %s ...<br />\n", q.Get("level"), q.Get("level"))
			}
			if q.Get("log") == "org.apache.hadoop.yarn.event" {
				fmt.Fprint(w, "<!-- NOTE -->No logger has that name<br>\n")
			}
			fmt.Fprint(w, "<!-- OUTPUT -->Effective Level: <b>WARN</b><br />\n<form>Class Name: <input></form>\n")
		}
	}))
	defer daemon.Close()
	host := strings.TrimPrefix(daemon.URL, "http://")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte("<configuration/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(words ...string) result {
		return newWorld().run(append([]string{"--config", dir, "daemonlog"}, words...)...)
	}
	for _, x := range []struct {
		line string
		code int
		out  string // after the first line
		err  string // a part of it
	}{
		{"-getlevel HOST org.apache.hadoop.yarn", 0, "Submitted Class Name: org.apache.hadoop.yarn\nLog Class: org.slf4j.impl.Reload4jLoggerAdapter\nEffective Level: WARN\n", ""},
		{"-setlevel HOST org.apache.hadoop.yarn.event WARN -protocol http", 0, "Submitted Class Name: org.apache.hadoop.yarn.event\nLog Class: org.slf4j.impl.Reload4jLoggerAdapter\n" +
			"Submitted Level: WARN\nSetting Level to WARN ...\nEffective Level: WARN\n", "WARN No logger has that name\n"},
		{"-getlevel HOST refused", 1, "", "403 Forbidden: bob is no administrator"},
		{"-getlevel HOST none", 1, "", "does not answer as a daemon"},
		{"-getlevel 127.0.0.1:1 x", 1, "", "did not answer"},
		{"-getlevel nowhere x", 1, "", "host:port"},
		{"-getlevel HOST x -protocol ftp", 255, "", "http or https"},
		{"-getlevel HOST", 255, "", ""},
		{"-getlevel HOST a b", 255, "", ""},
		{"-getlevel HOST a -setlevel HOST a b", 255, "", "usage: yarn daemonlog"},
		{"", 255, "", "usage: yarn daemonlog"},
		{"-help", 0, "", ""},
	} {
		got := run(strings.Fields(strings.ReplaceAll(x.line, "HOST", host))...)
		_, out, _ := strings.Cut(got.out, "\n")
		if got.code != x.code || x.out != "" && out != x.out || !strings.Contains(got.err, x.err) || strings.Contains(got.err, "\x1b") {
			t.Errorf("%s: %+v", x.line, got)
		}
	}
	if len(asked) < 2 || !strings.HasPrefix(asked[1], "GET /logLevel?level=WARN&log=org.apache.hadoop.yarn.event&user.name=") {
		t.Errorf("%q", asked)
	}
	got := run("-setlevel", host, "a", "WARN")
	if first, _, _ := strings.Cut(got.out, "\n"); first != "Connecting to http://"+host+"/logLevel?log=a&level=WARN" {
		t.Errorf("%q", first)
	}
}
