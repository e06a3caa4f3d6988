package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeSSH prints its words and fails for the host named bad.
const fakeSSH = `#!/bin/sh
printf '%s|' "$@"
echo
[ "$2" != bad ]
`

func waits(ctx context.Context, _ Start) error { <-ctx.Done(); return ctx.Err() }

func TestWorkers(t *testing.T) {
	root := install(t, map[string]string{"bin/ssh": fakeSSH, "conf/workers": "# all\nn1\nn2 # second\n\n  n3\n", "conf/few": "n2\n", "conf/hadoop-env.sh": "HADOOP_SSH_OPTS=-q\n",
		"old/slaves": "n9\n", "none/x": ""})
	w := newWorld("PATH=" + root + "/bin:/usr/bin:/bin")
	conf := filepath.Join(root, "conf")
	there := "|--|/opt/heddle/bin/yarn|--config|" + conf + "|--daemon|start|nodemanager|\n"
	sorted := func(out string) string {
		lines := strings.SplitAfter(out, "\n")
		slices.Sort(lines)
		return strings.Join(lines, "")
	}
	for _, x := range []struct{ line, out, err string }{
		{"--config CONF --workers --daemon start nodemanager", "n1: -q|n1" + there + "n2: -q|n2" + there + "n3: -q|n3" + there, ""},
		{"--config CONF --daemon start --workers --hosts few nodemanager", "n2: -q|n2" + there, ""},
		{"--config CONF --workers --hosts CONF/few --daemon start nodemanager", "n2: -q|n2" + there, ""},
		{"--config CONF --hostnames h1,h2 --workers --daemon start nodemanager", "h1: -q|h1" + there + "h2: -q|h2" + there, ""},
		{"--workers --config CONF --hostnames h1 --daemon start nodemanager -D a=b;c'd", "h1: -q|h1" + strings.TrimSuffix(there, "\n") + `-D|'a=b;c'\''d'|` + "\n", ""},
		{"--config CONF --workers --hostnames h1,bad --daemon start nodemanager", "bad: -q|bad" + there + "h1: -q|h1" + there, "yarn nodemanager: 1 of 2 hosts failed: bad (exit status 1)\n"},
		{"--config CONF --workers --hosts nowhere --daemon start nodemanager", "", "yarn nodemanager: cannot find hosts file \"nowhere\"\n"},
		{"--config CONF --workers --hosts few --hostnames h1 --daemon start nodemanager", "", "yarn nodemanager: both HADOOP_WORKERS (--hosts) and HADOOP_WORKER_NAMES (--hostnames) were given"},
		{"--config CONF --workers --hostnames -oProxyCommand=x --daemon start nodemanager", "", "yarn nodemanager: --hostnames names the host \"-oProxyCommand=x\": a name does not begin with a dash\n"},
		{"--config CONF/../none --workers node -list", "", "yarn node: --workers has no hosts: open " + root + "/none/workers: no such file"},
	} {
		got := w.run(strings.Fields(strings.ReplaceAll(x.line, "CONF", conf))...)
		if sorted(got.out) != sorted(x.out) || !strings.HasPrefix(got.err, x.err) || (x.err == "") != (got.code == 0) || (x.err == "") != (got.err == "") {
			t.Errorf("%s:\n%+v\nwant %s %s", x.line, got, x.out, x.err)
		}
	}
	w.vars["HADOOP_SSH_PARALLEL"] = "0"
	if got := w.run("--config", conf, "--workers", "node"); got.code != 1 || !strings.Contains(got.err, "HADOOP_SSH_PARALLEL=0: it must be a number from 1") {
		t.Errorf("%+v", got)
	}
	w.vars["HADOOP_SSH_PARALLEL"] = "1"
	got := w.run("--config", filepath.Join(root, "old"), "--workers", "node", "-list")
	if got.code != 0 || !strings.HasPrefix(got.out, "n9: -o|BatchMode=yes|-o|StrictHostKeyChecking=no|-o|ConnectTimeout=10s|n9|--|/opt/heddle/bin/yarn|--config|") ||
		!strings.Contains(got.err, "'slaves' file has been deprecated") {
		t.Errorf("%+v", got)
	}
}

// A command that is for another user's hands is refused, or root becomes that user.
func TestUserOfACommand(t *testing.T) {
	root := install(t, map[string]string{"bin/su": "#!/bin/sh\n", "conf/yarn-env.sh": "YARN_RESOURCEMANAGER_USER=nobody\nexport YARN_NODEMANAGER_USER=no-such-user-here\n"})
	w := newWorld("PATH=" + root + "/bin")
	conf := filepath.Join(root, "conf")
	run := func() result { return w.run("--config", conf, "--daemon", "status", "resourcemanager") }
	w.Daemons.ResourceManager, w.Daemons.NodeManager = waits, waits
	if got := run(); got != (result{"", "ERROR: resourcemanager can only be executed by nobody.\n", 1}) {
		t.Errorf("%+v", got)
	}
	var argv []string
	w.Replace = func(p string, a, _ []string) error { argv = append([]string{p}, a...); return os.ErrPermission }
	w.User, w.Root = "root", true
	got := run()
	want := []string{root + "/bin/su", root + "/bin/su", "-l", "nobody", "-c", `exec "$0" "$@"`, "--", "/opt/heddle/bin/yarn", "--reexec", "--config", conf, "--daemon", "status", "resourcemanager"}
	if !slices.Equal(argv, want) || got.code != 1 || !strings.Contains(got.err, "becoming nobody (YARN_RESOURCEMANAGER_USER): permission denied") {
		t.Errorf("%q %+v", argv, got)
	}
	if got := w.run("--reexec", "--config", conf, "--daemon", "status", "resourcemanager"); got.code != 1 || !strings.Contains(got.err, "can only be executed by nobody") {
		t.Errorf("%+v", got)
	}
	if got := w.run("--config", conf, "nodemanager"); got.code != 1 || !strings.Contains(got.err, "Refusing to run as root: no-such-user-here account is not found") {
		t.Errorf("%+v", got)
	}
	w.User, w.Root = "nobody", false
	w.vars["HADOOP_PID_DIR"] = t.TempDir()
	if got := run(); got.code != int(statusStopped) {
		t.Errorf("%+v", got)
	}
}

// What start-yarn.sh and stop-yarn.sh of Hadoop call starts and stops a daemon on a host, where hadoop-env.sh says.
func TestDaemonsOfWorkers(t *testing.T) {
	root := install(t, map[string]string{"bin/ssh": "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec sh -c \"$*\"\n", "conf/workers": "n1\n",
		"conf/hadoop-env.sh": "export HADOOP_PID_DIR=ROOT/pids HADOOP_LOG_DIR=ROOT/logs HADOOP_IDENT_STRING=there\nHADOOP_STOP_TIMEOUT=20\n"})
	w, _ := background(t, "wait", "PATH="+root+"/bin:/usr/bin:/bin")
	daemon := func(action string) result {
		return w.run("--config", filepath.Join(root, "conf"), "--workers", "--daemon", action, "resourcemanager")
	}
	pidFile := filepath.Join(root, "pids", "hadoop-there-resourcemanager.pid")
	defer daemon("stop")
	if got := daemon("status"); got.code != 1 || got.out != "n1: resourcemanager is stopped.\n" || !strings.Contains(got.err, "1 of 1 hosts failed: n1 (exit status 3)") {
		t.Errorf("%+v", got)
	}
	if got := daemon("start"); got != (result{"n1: WARNING: " + root + "/pids does not exist. Creating.\nn1: WARNING: " + root + "/logs does not exist. Creating.\n", "", 0}) {
		t.Fatalf("%+v", got)
	}
	pid, err := readPID(pidFile)
	if err != nil || !alive(pid) {
		t.Fatal(pid, err)
	}
	if got := daemon("start"); got.code != 1 || !strings.HasPrefix(got.out, "n1: resourcemanager is running as process ") {
		t.Errorf("%+v", got)
	}
	if got := daemon("stop"); got != (result{"", "", 0}) || alive(pid) {
		t.Errorf("%+v", got)
	}
}
