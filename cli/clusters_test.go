package cli

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files said.out in testdata/clusters")

// advised has, for each configuration in testdata/clusters, the properties that the refusals tell an operator to set.
var advised = map[string][]string{
	"bigtop":   nil,
	"dataproc": nil,
	"emr":      {"yarn.nodemanager.container-executor.class=org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor"},
	"cdp": {"yarn.authorization-provider=", "hadoop.http.filter.initializers=org.apache.hadoop.security.HttpCrossOriginFilterInitializer",
		"yarn.resourcemanager.placement-constraints.handler=disabled", "yarn.resourcemanager.proxy-user-privileges.enabled=false",
		"net.topology.script.file.name=/etc/hadoop/conf/topology.py", "yarn.resourcemanager.nodes.include-path=/etc/hadoop/conf/nodes_allow.txt",
		"yarn.resourcemanager.nodes.exclude-path=/etc/hadoop/conf/nodes_exclude.txt",
		"yarn.nodemanager.container-executor.class=org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor",
		"yarn.nodemanager.runtime.linux.allowed-runtimes=default"},
}

// TestConfigurationsOfDistributions: testdata/clusters has configurations as the managers and packages of distributions write them. The file said.out of each
// has what a daemon reports about its scripts, `yarn conf -lint` about its site files and `yarn queue -lint` about its queues. Nothing is refused once
// the operator has done what the refusals say.
func TestConfigurationsOfDistributions(t *testing.T) {
	for name, settings := range advised {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.Abs(filepath.Join("testdata", "clusters", name))
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld()
			w.Daemons.ResourceManager = func(context.Context, Start) error { return nil }
			scripts := w.run("--config", dir, "resourcemanager").err
			lint, queues := newWorld().run("conf", "-lint", dir), newWorld().run("--config", dir, "queue", "-lint")
			said := "# scripts\n" + scripts + "# conf -lint\n" + lint.out + lint.err + "# queue -lint\n" + queues.out + queues.err
			said = strings.ReplaceAll(strings.ReplaceAll(said, dir+"/", ""), dir, name)
			file := filepath.Join(dir, "said.out")
			if *update {
				if err := os.WriteFile(file, []byte(said), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			same(t, name, said, string(want))
			args := []string{"conf"}
			for _, s := range settings {
				args = append(args, "-D", s)
			}
			if got := newWorld().run(append(args, "-lint", dir)...); got.code != 0 || strings.Contains(got.out, ": refused [") {
				t.Errorf("after following the advice, exit code %d\n%s%s", got.code, got.out, got.err)
			}
		})
	}
}

// TestLayoutOfPackages: with the layout of Bigtop's packages, which distributions based on Bigtop share, HADOOP_HOME is enough to find the jars of all parts and the
// configuration, even through the links that alternatives makes.
func TestLayoutOfPackages(t *testing.T) {
	root := t.TempDir()
	lib := filepath.Join(root, "usr/lib")
	for _, dir := range []string{"usr/lib/hadoop/lib", "usr/lib/hadoop/libexec", "usr/lib/hadoop-hdfs/lib", "usr/lib/hadoop-mapreduce/lib", "usr/lib/hadoop-yarn/lib", "etc/hadoop/conf.dist", "etc/alternatives"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	layout := `HADOOP_COMMON_DIR="./"
HADOOP_COMMON_LIB_JARS_DIR="lib"
HDFS_DIR="./"
HDFS_LIB_JARS_DIR="lib"
MAPRED_DIR="./"
MAPRED_LIB_JARS_DIR="lib"
YARN_DIR="./"
YARN_LIB_JARS_DIR="lib"
HADOOP_CONF_DIR=${HADOOP_CONF_DIR:-"ROOT/etc/hadoop/conf"}
HADOOP_COMMON_HOME=${HADOOP_COMMON_HOME:-"ROOT/usr/lib/hadoop"}
HADOOP_HDFS_HOME=${HADOOP_HDFS_HOME:-"ROOT/usr/lib/hadoop-hdfs"}
HADOOP_MAPRED_HOME=${HADOOP_MAPRED_HOME:-"ROOT/usr/lib/hadoop-mapreduce"}
HADOOP_YARN_HOME=${HADOOP_YARN_HOME:-"ROOT/usr/lib/hadoop-yarn"}
`
	for file, text := range map[string]string{"usr/lib/hadoop/libexec/hadoop-layout.sh": strings.ReplaceAll(layout, "ROOT", root), "etc/hadoop/conf.dist/yarn-site.xml": "<configuration/>"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"etc/hadoop/conf": "../alternatives/hadoop-conf", "etc/alternatives/hadoop-conf": filepath.Join(root, "etc/hadoop/conf.dist")} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	conf := filepath.Join(root, "etc/hadoop/conf")
	want := conf
	for _, part := range []string{"hadoop", "hadoop-hdfs", "hadoop-mapreduce", "hadoop-yarn"} {
		want += ":" + filepath.Join(lib, part) + "/lib/*:" + filepath.Join(lib, part) + "/*"
	}
	home := "HADOOP_HOME=" + filepath.Join(lib, "hadoop")
	if got := newWorld(home).run("classpath"); got != (result{want + "\n", "", 0}) {
		t.Errorf("%+v, want %s", got, want)
	}
	if got := newWorld(home).run("envvars"); got.code != 0 || !strings.Contains(got.out, "HADOOP_YARN_HOME='"+filepath.Join(lib, "hadoop-yarn")+"'\n") || !strings.Contains(got.out, "HADOOP_CONF_DIR='"+conf+"'\n") {
		t.Errorf("%+v", got)
	}
	if got := newWorld(home).run("conf", "-lint"); got.code != 0 || !strings.HasPrefix(got.out, conf+": refused: 0") {
		t.Errorf("%+v", got)
	}
}
