package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/conf"
)

const deploy = "../deploy"

// The sample configuration has nothing that the linter would say a word about.
func TestSampleQueues(t *testing.T) {
	got := newWorld().run("--config", deploy+"/conf", "queue", "-lint", "-strict")
	dir, err := filepath.Abs(deploy)
	if err != nil {
		t.Fatal(err)
	}
	if want := dir + "/conf/capacity-scheduler.xml: errors: 0, warnings: 0, hints: 0\n"; got.out != want || got.err != "" || got.code != 0 {
		t.Errorf("%+v, want %q", got, want)
	}
}

// What the units of systemd start is a daemon that gets the sample configuration, and understands all of it.
func TestSampleUnits(t *testing.T) {
	for unit, kind := range map[string]string{"yarn-resourcemanager.service": "resourcemanager", "yarn-nodemanager.service": "nodemanager", "yarn-logserver.service": "logserver"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld()
			ran := ""
			read := func(name string, files []string) Daemon {
				return func(_ context.Context, s Start) error {
					ran = name
					understood(t, name, s, files)
					return nil
				}
			}
			w.Daemons = Daemons{ResourceManager: read("resourcemanager", nil), NodeManager: read("nodemanager", conf.NodeManagerFiles), LogServer: read("logserver", conf.LogServerFiles)}
			line := execStart(t, unit)
			for i, word := range line {
				if word == "/etc/hadoop/conf" {
					line[i] = deploy + "/conf"
				}
			}
			if got := w.run(line[1:]...); line[0] != "/usr/local/bin/yarn" || ran != kind || got != (result{}) {
				t.Errorf("%v ran %q: %+v", line, ran, got)
			}
		})
	}
}

// execStart is what a unit starts. Its other lines are sections, comments and settings.
func execStart(t *testing.T, unit string) (line []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(deploy, "systemd", unit))
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(b)) {
		text = strings.TrimSpace(text)
		name, value, ok := strings.Cut(text, "=")
		switch {
		case name == "ExecStart":
			line = strings.Fields(value)
		case text != "" && text[0] != '#' && text[0] != '[' && (!ok || value == "" && name != "CapabilityBoundingSet" || strings.ContainsAny(name, " \t")):
			t.Errorf("%s: %q is no setting", unit, text)
		}
	}
	if len(line) == 0 {
		t.Fatalf("%s starts nothing", unit)
	}
	return line
}

// understood reads a configuration as that daemon does.
func understood(t *testing.T, kind string, s Start, files []string) {
	t.Helper()
	props, err := s.LoadWith(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range props.Warnings() {
		t.Error(w)
	}
	if dir, _ := s.Env("HADOOP_LOG_DIR"); dir != "/var/log/hadoop-yarn" {
		t.Errorf("yarn-env.sh says that logs go to %q", dir)
	}
	switch kind {
	case "resourcemanager":
		rm, err := conf.ReadResourceManager(props)
		if err != nil {
			t.Fatal(err)
		}
		if got := rm.Recovery.Path; !rm.Recovery.Enabled || got != "/var/lib/hadoop-yarn/resourcemanager/rmstore.bolt" {
			t.Errorf("recovery %v by %q", rm.Recovery.Enabled, got)
		}
	case "logserver":
		if _, err := conf.ReadLogServer(props); err != nil {
			t.Fatal(err)
		}
	case "nodemanager":
		nm, err := conf.ReadNodeManager(props)
		if err != nil {
			t.Fatal(err)
		}
		if !nm.Recovery.Enabled || !nm.Recovery.Supervised || nm.Recovery.Dir != "/var/lib/hadoop-yarn/nodemanager/recovery" {
			t.Errorf("recovery %+v", nm.Recovery)
		}
	}
}
