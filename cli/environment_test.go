package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A daemon in the background keeps its files where hadoop-env.sh and yarn-env.sh say, and has the settings that they make.
func TestDaemonObeysItsScripts(t *testing.T) {
	root := install(t, map[string]string{
		"conf/hadoop-env.sh": `# Licensed to nobody
export HADOOP_LOG_DIR=ROOT/logs/$USER
HADOOP_PID_DIR="ROOT/pids"
export HADOOP_IDENT_STRING=${HADOOP_IDENT_STRING:-$USER}
export HADOOP_OS_TYPE=${HADOOP_OS_TYPE:-$(uname -s)}
case ${HADOOP_OS_TYPE} in
  Darwin*)
    export HADOOP_IDENT_STRING=darwin
  ;;
esac
`,
		"conf/yarn-env.sh": `export YARN_IDENT_STRING=ops
if [ "$YARN_LOG_DIR" = "" ]; then
  YARN_LOG_DIR=ROOT/yarnlogs
fi
export HADOOP_DAEMON_ROOT_LOGGER=WARN,RFA
ulimit -n 4096
`})
	w, _ := background(t, "wait")
	for _, name := range []string{"HADOOP_PID_DIR", "HADOOP_LOG_DIR", "HADOOP_IDENT_STRING"} {
		delete(w.vars, name)
	}
	conf := filepath.Join(root, "conf")
	got := w.run("--config", conf, "--daemon", "start", "resourcemanager")
	stop := func() result { return w.run("--config", conf, "--daemon", "stop", "resourcemanager") }
	defer stop()
	want := "WARNING: " + conf + "/yarn-env.sh:6: not an assignment of a plain value; it is not run: ulimit -n 4096\n" +
		"WARNING: YARN_LOG_DIR has been replaced by HADOOP_LOG_DIR. Using value of YARN_LOG_DIR.\n" +
		"WARNING: YARN_IDENT_STRING has been replaced by HADOOP_IDENT_STRING. Using value of YARN_IDENT_STRING.\n" +
		"WARNING: " + root + "/pids does not exist. Creating.\nWARNING: " + root + "/yarnlogs does not exist. Creating.\n"
	if got.code != 0 || got.err != want {
		t.Fatalf("%+v\nwant %s", got, want)
	}
	pid, err := readPID(filepath.Join(root, "pids", "hadoop-ops-resourcemanager.pid"))
	if err != nil || !alive(pid) {
		t.Fatal(pid, err)
	}
	host, _ := os.Hostname()
	base := filepath.Join(root, "yarnlogs", "hadoop-ops-resourcemanager-"+host)
	out := written(t, base+".out", "logs to ")
	if !strings.Contains(out, "logs to "+base+".log, args [], dir "+conf+", level WARN\n") {
		t.Error(out)
	}
	if got := stop(); got.code != 0 || alive(pid) {
		t.Errorf("%+v", got)
	}
}

// What scripts export is in the daemon's environment; what they only set is not, and settings of Java are named.
func TestWhatADaemonGetsOfItsScripts(t *testing.T) {
	root := install(t, map[string]string{
		"hadoop-env.sh": "export A=1\nB=2\nexport JAVA_HOME=/jdk\nexport HADOOP_CONF_DIR=/elsewhere\nexport HADOOP_OPTS=\"$HADOOP_OPTS -Dx=hadoop\"\n",
		"yarn-env.sh": "export YARN_RESOURCEMANAGER_OPTS=\"-Dy=rm -Xmx4g -javaagent:/j.jar $YARN_RESOURCEMANAGER_OPTS\"\nexport YARN_RESOURCEMANAGER_HEAPSIZE=4096\n" +
			"export HADOOP_MAPRED_HOME=$( echo /m )\n",
		"home/.hadoop-env": "export A=3\n"})
	w := newWorld("HOME="+filepath.Join(root, "home"), "A=0", "YARN_RESOURCEMANAGER_OPTS=-Dz=mine")
	var s Start
	w.Daemons.ResourceManager = func(_ context.Context, got Start) error { s = got; return nil }
	got := w.run("--config", root, "resourcemanager")
	want := "WARNING: " + root + "/yarn-env.sh:3: its value is a program's output; none is run: HADOOP_MAPRED_HOME=$( echo /m ) (HADOOP_MAPRED_HOME: left as it was)\n" +
		"WARNING: these are for Java and mean nothing to resourcemanager, which is no Java program (GOMEMLIMIT bounds its memory): " +
		"YARN_RESOURCEMANAGER_HEAPSIZE=4096 -Xmx4g -javaagent:/j.jar\n"
	if got.code != 0 || got.err != want {
		t.Errorf("%+v\nwant %s", got, want)
	}
	if a, _ := s.Env("A"); a != "3" || s.ConfDir != root || s.System["x"] != "hadoop" || s.System["y"] != "rm" || s.System["z"] != "mine" {
		t.Errorf("A=%s %+v", a, s)
	}
	if _, ok := s.Env("B"); ok || slices.Contains(s.Environ, "B=2") || !slices.Contains(s.Environ, "JAVA_HOME=/jdk") || !slices.Contains(s.Environ, "HADOOP_CONF_DIR="+root) {
		t.Errorf("%q", s.Environ)
	}
	// Commands that only call the cluster name what matters to them.
	if got := w.run("--config", root, "queue", "-lint", filepath.Join(root, "none.xml")); strings.Contains(got.err, "yarn-env.sh") {
		t.Errorf("%+v", got)
	}
	// Scripts that have been read already are not read again.
	w.vars["HADOOP_ENV_PROCESSED"], w.vars["HADOOP_YARN_ENV_PROCESSED"], w.vars["HOME"] = "true", "true", "/nowhere"
	if got := w.run("--config", root, "resourcemanager"); got != (result{"", "", 0}) {
		t.Errorf("%+v", got)
	}
	if a, _ := s.Env("A"); a != "0" {
		t.Error(a)
	}
}

// Files of functions are named that Hadoop's scripts would have run, but for Hadoop's own example.
func TestFilesOfFunctions(t *testing.T) {
	root := install(t, map[string]string{"conf/hadoop-user-functions.sh": "", "conf/shellprofile.d/example.sh": "", "conf/shellprofile.d/site.sh": "", "conf/shellprofile.d/README": "", "conf/shellprofile.d/.site.sh": "",
		"conf[1]/shellprofile.d/more.sh": "", "conf1/shellprofile.d/other.sh": "",
		"home/.hadooprc": ""})
	w := newWorld("HOME=" + root + "/home")
	w.Daemons.NodeManager = func(context.Context, Start) error { return nil }
	want := ""
	for _, file := range []string{"conf/hadoop-user-functions.sh", "home/.hadooprc", "conf/shellprofile.d/site.sh"} {
		want += "WARNING: " + root + "/" + file + " is not read: it has functions and calls of them, which are not run\n"
	}
	if got := w.run("--config", root+"/conf", "nodemanager"); got != (result{"", want, 0}) {
		t.Errorf("%+v\nwant %s", got, want)
	}
	if got := w.run("--config", root+"/conf[1]", "nodemanager"); got.code != 0 || !strings.Contains(got.err, "WARNING: "+root+"/conf[1]/shellprofile.d/more.sh is not read") || strings.Contains(got.err, "other.sh") {
		t.Errorf("%+v", got)
	}
	if got := w.run("--config", root+"/conf", "conf", "-lint"); strings.Contains(got.err, "is not read") {
		t.Errorf("%+v", got)
	}
}

// The installation's configuration is found without a variable; hadoop-env.sh can lead to another one; --config stays.
func TestWhereTheConfigurationIs(t *testing.T) {
	root := install(t, map[string]string{"a/etc/hadoop/hadoop-env.sh": "export HADOOP_CONF_DIR=ROOT/other\n", "other/yarn-env.sh": "export X=other\n", "b/conf/hadoop-env.sh": "", "c/x": ""})
	w := newWorld()
	var s Start
	w.Daemons.NodeManager = func(_ context.Context, got Start) error { s = got; return nil }
	for _, x := range []struct{ home, config, want string }{{"a", "", "other"}, {"a", "a/etc/hadoop", "a/etc/hadoop"}, {"b", "", "b/conf"}} {
		w.Program = filepath.Join(root, x.home, "bin", "yarn")
		var args []string
		if x.config != "" {
			args = []string{"--config", filepath.Join(root, x.config)}
		}
		got := w.run(append(args, "nodemanager")...)
		if got.code != 0 || s.ConfDir != filepath.Join(root, x.want) {
			t.Errorf("%+v: %+v %s", x, got, s.ConfDir)
		}
		if value, _ := s.Env("X"); (value != "") != (x.want == "other") {
			t.Errorf("%+v: X=%s", x, value)
		}
	}
	w.Program = filepath.Join(root, "c", "bin", "yarn")
	if got := w.run("nodemanager"); got.code != 1 || got.err != "yarn nodemanager: there is no configuration directory "+root+"/c/etc/hadoop: name one with --config or HADOOP_CONF_DIR\n" {
		t.Errorf("%+v", got)
	}
}

// Daemons do not start on arguments that they do not know.
func TestArgumentsOfDaemons(t *testing.T) {
	w := newWorld()
	ran := ""
	w.Daemons.ResourceManager = func(context.Context, Start) error { ran = "daemon"; return nil }
	w.Daemons.NodeManager = w.Daemons.ResourceManager
	w.Daemons.Actions = map[string]Daemon{"resourcemanager -format-state-store": func(_ context.Context, s Start) error { ran = "format"; return nil },
		"resourcemanager -remove-application-from-state-store": func(_ context.Context, s Start) error {
			ran = "remove " + strings.Join(s.Args, " ")
			return nil
		}}
	dir := t.TempDir()
	for _, x := range []struct {
		line, ran, out, err string
		code                int
	}{
		{"resourcemanager", "daemon", "", "", 0},
		{"resourcemanager -D a=b", "daemon", "", "", 0},
		{"resourcemanager -bogus", "", "", "yarn resourcemanager: Unrecognized option: -bogus\nusage: yarn resourcemanager [OPTION]\n", 1},
		{"resourcemanager bogus", "", "", "yarn resourcemanager: bogus: unknown argument\nusage: ", 1},
		{"--daemon start resourcemanager -bogus", "", "", "yarn resourcemanager: Unrecognized option: -bogus\nusage: ", 1},
		{"resourcemanager -help", "", "usage: yarn resourcemanager [OPTION]\n", "", 0},
		{"resourcemanager -format-state-store", "format", "", "", 0},
		{"resourcemanager --format-state-store", "format", "", "", 0},
		{"resourcemanager -format-state-store x", "", "", "yarn resourcemanager: x: unknown argument\n", 1},
		{"resourcemanager -format-state-store -help", "", "", "yarn resourcemanager: one option at a time, not -format-state-store -help\n", 1},
		{"--daemon start resourcemanager -format-state-store", "", "", "yarn resourcemanager: -format-state-store runs in the foreground, without --daemon\n", 1},
		{"resourcemanager -remove-application-from-state-store application_1_0001", "remove application_1_0001", "", "", 0},
		{"resourcemanager -remove-application-from-state-store", "", "", "yarn resourcemanager: Missing argument for option: remove-application-from-state-store\n", 1},
		{"resourcemanager -format-conf-store", "", "", "yarn resourcemanager: -format-conf-store: not built yet", 1},
		{"nodemanager -help", "", "usage: yarn nodemanager [OPTION]\n", "", 0},
		{"nodemanager -x", "", "", "yarn nodemanager: Unrecognized option: -x\nusage: yarn nodemanager [OPTION]\n", 1},
	} {
		ran = ""
		got := w.run(append([]string{"--config", dir}, strings.Fields(x.line)...)...)
		if ran != x.ran || got.code != x.code || !strings.HasPrefix(got.out, x.out) || !strings.HasPrefix(got.err, x.err) || (x.out == "") != (got.out == "") || (x.err == "") != (got.err == "") {
			t.Errorf("%q: ran %q, %+v", x.line, ran, got)
		}
	}
}
