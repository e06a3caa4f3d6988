package jvm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The class path is that of Hadoop's scripts, in their order, wherever the installation has its parts.
func TestClassPath(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"etc", "h/share/hadoop/common/lib", "h/share/hadoop/hdfs/webapps", "h/share/hadoop/hdfs/lib", "h/share/hadoop/mapreduce",
		"h/share/hadoop/yarn/lib", "h/share/hadoop/tools/lib", "h/lib/native", "mine", "usr/lib/hadoop/lib", "usr/lib/hadoop-yarn/lib"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stock := "R/h/share/hadoop/common/lib/*:R/h/share/hadoop/common/*:R/h/share/hadoop/hdfs:R/h/share/hadoop/hdfs/lib/*:R/h/share/hadoop/hdfs/*:" +
		"R/h/share/hadoop/mapreduce/*:R/h/share/hadoop/yarn/lib/*:R/h/share/hadoop/yarn/*"
	for _, x := range []struct{ env, want string }{
		{"", "R/etc"},
		{"HADOOP_HOME=R/h", "R/etc:" + stock},
		{"HADOOP_HOME=R/h HADOOP_OPTIONAL_TOOLS=hadoop-aws HADOOP_CLASSPATH=R/mine/*:R/none.jar:R/mine::R/etc", "R/etc:" + stock + ":R/h/share/hadoop/tools/lib/*:R/mine/*:R/mine"},
		{"HADOOP_HOME=R/h HADOOP_CLASSPATH=R/mine HADOOP_USER_CLASSPATH_FIRST=true", "R/mine:R/etc:" + stock},
		{"HADOOP_HOME=R/h HADOOP_CLASSPATH=R/mine HADOOP_USE_CLIENT_CLASSLOADER=true", "R/etc:" + stock},
		{"HADOOP_HOME=R/usr/lib/hadoop HADOOP_COMMON_DIR=./ HADOOP_COMMON_LIB_JARS_DIR=lib HADOOP_YARN_HOME=R/usr/lib/hadoop-yarn YARN_DIR=./ YARN_LIB_JARS_DIR=lib",
			"R/etc:R/usr/lib/hadoop/lib/*:R/usr/lib/hadoop/*:R/usr/lib/hadoop-yarn/lib/*:R/usr/lib/hadoop-yarn/*"},
	} {
		env := map[string]string{}
		for _, word := range strings.Fields(strings.ReplaceAll(x.env, "R/", root+"/")) {
			name, value, _ := strings.Cut(word, "=")
			env[name] = value
		}
		getenv := func(n string) string { return env[n] }
		if got := strings.ReplaceAll(strings.Join(ClassPath(getenv, filepath.Join(root, "etc")), ":"), root+"/", "R/"); got != x.want {
			t.Errorf("%s:\n got %s\nwant %s", x.env, got, x.want)
		}
		if got := Native(getenv); (got == filepath.Join(root, "h/lib/native")) != (env["HADOOP_HOME"] == root+"/h") {
			t.Errorf("%s: native %q", x.env, got)
		}
	}
}
