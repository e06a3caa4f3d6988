package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/cli"
	"github.com/heddle-project/heddle/internal/audit"
)

// TestWhereAuditLinesGo: by default to a file of their own beside the daemon's, with bounds of its own if it has them; what names an
// appender is obeyed as log4j would.
func TestWhereAuditLinesGo(t *testing.T) {
	const line = "RMAuditLogger: USER="
	for _, c := range []struct {
		name   string
		system []string
		own    string // lines of rm-audit.log and what is left of older ones, by users
		log    string // and of the daemon's
	}{
		{"by default", nil, "rm-audit.log:ab", ""},
		{"in the daemon's log", []string{"rm.audit.logger", "INFO,RFA"}, "", "ab"},
		{"by name, failures", []string{"rm.audit.logger", "WARN, RMAUDIT"}, "rm-audit.log:b", ""},
		{"by name, and a console", []string{"rm.audit.logger", "INFO,console, RMAUDIT"}, "rm-audit.log:ab", ""},
		{"in the daemon's log, and nowhere", []string{"rm.audit.logger", "INFO,NullAppender,RFA"}, "", "ab"},
		{"nowhere", []string{"rm.audit.logger", "INFO,NullAppender"}, "", ""},
		{"off", []string{"rm.audit.logger", "OFF,RMAUDIT"}, "", ""},
		{"another daemon's words", []string{"nm.audit.logger", "INFO,NullAppender"}, "rm-audit.log:ab", ""},
		{"bounds of the log", []string{"hadoop.log.maxfilesize", "100", "hadoop.log.maxbackupindex", "1"}, "rm-audit.log:b rm-audit.log.1:a", ""},
		{"bounds of its own", []string{"rm.audit.log.maxfilesize", "100", "rm.audit.log.maxbackupindex", "0"}, "rm-audit.log:b", ""},
	} {
		dir := t.TempDir()
		s := cli.Start{LogFile: filepath.Join(dir, "daemon.log"), System: map[string]string{}}
		for i := 0; i < len(c.system); i += 2 {
			s.System[c.system[i]] = c.system[i+1]
		}
		for _, e := range []audit.Entry{{User: "a", Operation: "o", Target: "t"}, {User: "b", Operation: "o", Target: "t", Failed: true}} {
			j, err := openLog(s, "resourcemanager")
			if err != nil {
				t.Fatal(err)
			}
			l, err := j.openAudit(s, auditorOfResourceManager)
			if err != nil {
				t.Fatal(err)
			}
			l.Write(e)
			j.close() // or both may go out in one write, which no bound comes between
		}
		users := func(file string) (out string) {
			b, _ := os.ReadFile(filepath.Join(dir, file))
			for l := range strings.Lines(string(b)) {
				if _, rest, ok := strings.Cut(l, line); ok {
					out += rest[:1]
				}
			}
			return out
		}
		var own []string
		for _, f := range []string{"rm-audit.log", "rm-audit.log.1", "nm-audit.log"} {
			if got := users(f); got != "" {
				own = append(own, f+":"+got)
			}
		}
		if strings.Join(own, " ") != c.own || users("daemon.log") != c.log {
			t.Errorf("%s: own %q, log %q", c.name, own, users("daemon.log"))
		}
	}
}

// TestAuditOfForeground: a daemon without a log file has the lines among its others, unless it is told to write a file.
func TestAuditOfForeground(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		logger string
		files  []string
	}{{"", nil}, {"INFO,console", nil}, {"INFO,NMAUDIT", []string{"nm-audit.log"}}} {
		s := cli.Start{System: map[string]string{"nm.audit.logger": c.logger, "yarn.log.dir": dir}}
		j, err := openLog(s, "nodemanager")
		if err != nil {
			t.Fatal(err)
		}
		l, err := j.openAudit(s, auditorOfNodeManager)
		if err != nil {
			t.Fatal(err)
		}
		if (j.audit != nil) != (c.files != nil) || l == nil {
			t.Errorf("%q: file %v, log %v", c.logger, j.audit, l)
		}
		j.close()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, e := range entries {
			files = append(files, e.Name())
		}
		if !slices.Equal(files, c.files) {
			t.Errorf("%q: %v", c.logger, files)
		}
	}
	for _, bad := range [][2]string{{"rm.audit.logger", "LOUD,RMAUDIT"}, {"rm.audit.log.maxfilesize", "much"}, {"rm.audit.log.maxbackupindex", "-1"}, {"rm.audit.containers", "some"}} {
		s := cli.Start{LogFile: filepath.Join(dir, "log"), System: map[string]string{bad[0]: bad[1]}}
		j, err := openLog(s, "resourcemanager")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.openAudit(s, auditorOfResourceManager); err == nil || !strings.Contains(err.Error(), bad[0]) {
			t.Errorf("%v: %v", bad, err)
		}
		j.close()
	}
}
