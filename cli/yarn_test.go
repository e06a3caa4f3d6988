package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/wire/pb"
)

func TestGlobalOptions(t *testing.T) {
	for _, x := range []struct {
		line, out, err string
		code           int
	}{
		{"", "Usage: yarn [OPTIONS] SUBCOMMAND", "", 1},
		{"--help", "Usage: yarn [OPTIONS] SUBCOMMAND", "", 0},
		{"--bogus node", "", "ERROR: --bogus: unknown option\nUsage: yarn", 1},
		{"--config", "", "ERROR: --config needs a value\n", 1},
		{"--daemon restart resourcemanager", "", "ERROR: --daemon restart: must be start, stop or status\n", 1},
		{"--daemon start node", "", "ERROR: node is not a daemon; --daemon start does not apply\n", 1},
		{"--workers --daemon start nodemanager", "", "yarn nodemanager: --workers has no hosts: open /opt/heddle/etc/hadoop/workers", 1},
		{"bogus", "", "ERROR: bogus is not a subcommand\nUsage: yarn", 1},
		{"--config /nowhere/at/all node -list", "", "yarn node: configuration directory /nowhere/at/all: stat", 1},
		{"org.example.Main x", "", "ERROR: yarn org.example.Main needs Java and Apache Hadoop: there are no jars of Hadoop in /opt/heddle: set HADOOP_HOME", 1},
		{"jar -help", "usage: yarn jar <jar> [mainClass] args...", "", 0},
		{"jar", "", "usage: yarn jar <jar>", 1},
		{"classpath --help", "usage: yarn classpath", "", 0},
		{"router -help", "yarn router: run a federation router. It is not built yet", "", 0},
		{"router", "", "yarn router: not built yet", 1},
		{"top -help", "usage: yarn top [OPTIONS]\n", "", 0},
		{"version -help", "usage: yarn version", "", 0},
		{"version -bogus", "", "yarn version: -bogus: unknown argument\nusage: yarn version", 1},
		{"version --output csv", "", "yarn version: --output csv: no such format", 1},
	} {
		got := newWorld().run(strings.Fields(x.line)...)
		if got.code != x.code || !strings.HasPrefix(got.out, x.out) || !strings.HasPrefix(got.err, x.err) || (x.out == "") != (got.out == "") || (x.err == "") != (got.err == "") {
			t.Errorf("%q: %+v", x.line, got)
		}
	}
}

func TestVersionKeepsHadoopsLayout(t *testing.T) {
	got := newWorld().run("version")
	lines := strings.Split(got.out, "\n")
	if got.code != 0 || lines[0] != "Hadoop 3.5.0" || lines[1] != "Heddle "+release.Version || !strings.HasPrefix(lines[2], "Source code repository ") ||
		!strings.HasSuffix(lines[2], " -r "+release.Own().Commit) ||
		!strings.HasSuffix(got.out, "\nThis command was run using /opt/heddle/bin/yarn\n") {
		t.Errorf("%+v", got)
	}
}

func TestCallerAndProxyUser(t *testing.T) {
	rm := clienttest.Start(t, methods{"getClusterNodes": nodesOf()})
	for _, x := range []struct{ vars, user, real string }{
		{"A=b", "alice", ""},
		{"HADOOP_USER_NAME=bob", "bob", ""},
		{"HADOOP_USER_NAME=bob HADOOP_PROXY_USER=carol", "carol", "bob"},
	} {
		w := newWorld(strings.Fields(x.vars)...)
		w.vars["HADOOP_CONF_DIR"] = rm.ConfDir(t)
		if got := w.run("node", "-list", "-ALL"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
		calls := rm.Calls()
		if last := calls[len(calls)-1]; last.User != x.user || last.RealUser != x.real {
			t.Errorf("%s: %+v", x.vars, last)
		}
	}
}

func TestUnreachableIsSaidAtOnce(t *testing.T) {
	rm := clienttest.Start(t, nil)
	dir := rm.ConfDir(t)
	got := newWorld().run("--config", dir, "node", "-D", "yarn.resourcemanager.address=127.0.0.1:1", "-list")
	if got.code != 1 || !strings.HasPrefix(got.err, "WARN cannot reach the ResourceManager at 127.0.0.1:1 (yarn.resourcemanager.address), try 1: ") ||
		!strings.Contains(got.err, "\nyarn node: getClusterNodes: no ResourceManager answers at 127.0.0.1:1 (yarn.resourcemanager.address)") {
		t.Errorf("%+v", got)
	}
}

func TestDebugPrintsTheServersTrace(t *testing.T) {
	rm := clienttest.Start(t, methods{"getClusterNodes": clienttest.Refuse("java.lang.X", "boom\n\tat A.java:1")})
	dir := rm.ConfDir(t)
	for _, x := range []struct{ level, want string }{{"INFO", "boom\n"}, {"DEBUG", "boom\n\tat A.java:1\n"}} {
		got := newWorld().run("--config", dir, "--loglevel", x.level, "node", "-list")
		if got.err != `Exception in thread "main" java.lang.X: `+x.want {
			t.Errorf("%s: %+v", x.level, got)
		}
	}
}

func TestInterruptedCommandsEndQuietly(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	rm := clienttest.Start(t, methods{"getApplicationReport": life()["getApplicationReport"],
		"forceKillApplication": func([]byte) (proto.Message, error) {
			cancel() // while the application is still ending
			return &pb.KillApplicationResponse{}, nil
		}})
	w := newWorld()
	if code := w.Run(ctx, []string{"--config", rm.ConfDir(t), "application", "-kill", "application_1_0001"}); code != 130 || w.err.Len() != 0 {
		t.Errorf("exit code %d, %q", code, w.err.String())
	}
}

// Without a configuration that names a ResourceManager, a command says so before it tries the default one.
func TestWhereTheResourceManagerIsIsSaid(t *testing.T) {
	for _, x := range []struct{ file, said string }{
		{"", "it has no yarn-site.xml"},
		{"<configuration/>", "its yarn-site.xml does not set yarn.resourcemanager.hostname"},
		{"<configuration><property><name>yarn.resourcemanager.hostname</name><value>127.0.0.1</value></property></configuration>", ""},
	} {
		dir := t.TempDir()
		if x.file != "" {
			if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(x.file), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nobody is to be reached
		w := newWorld()
		if w.Run(ctx, []string{"--config", dir, "node", "-list"}) == 0 {
			t.Errorf("%q: a list of nodes from nobody", x.file)
		}
		said := w.err.String()
		if got := strings.Contains(said, "names no ResourceManager ("+x.said+"): trying 0.0.0.0:8032."); got != (x.said != "") {
			t.Errorf("%q: %s", x.file, said)
		}
	}
}
