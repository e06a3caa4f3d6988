package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// install writes files below a new directory; those in bin are programs.
func install(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		mode := os.FileMode(0o644)
		if filepath.Base(filepath.Dir(path)) == "bin" {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(strings.ReplaceAll(text, "ROOT/", root+"/")), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// The jars of a Hadoop that this program stands in are run with the options and the environment that Hadoop's scripts would give.
func TestJava(t *testing.T) {
	root := install(t, map[string]string{
		"hadoop/share/hadoop/common/lib/guava.jar": "", "hadoop/share/hadoop/common/common.jar": "", "hadoop/share/hadoop/yarn/yarn.jar": "",
		"hadoop/lib/native/libhadoop.so": "", "jdk/bin/java": "",
		"hadoop/etc/hadoop/hadoop-env.sh": "export JAVA_HOME=ROOT/jdk\nexport HADOOP_HEAPSIZE_MAX=512\nHADOOP_CLIENT_OPTS=\"-Dclient=1 $HADOOP_CLIENT_OPTS\"\nexport MINE=yes\nexport HADOOP_CLASSPATH=$HADOOP_CLASSPATH:ROOT/extra\n",
		"hadoop/etc/hadoop/yarn-env.sh":   "export YARN_JAR_OPTS=\"-Dhadoop.log.file=jar.log\"\n", "extra/x": ""})
	w := newWorld("HOME=/nowhere")
	w.Program = filepath.Join(root, "hadoop", "bin", "yarn")
	hadoop := filepath.Join(root, "hadoop")
	path := strings.Join([]string{hadoop + "/etc/hadoop", hadoop + "/share/hadoop/common/lib/*", hadoop + "/share/hadoop/common/*", hadoop + "/share/hadoop/yarn/*", root + "/extra"}, ":")
	if got := w.run("classpath"); got != (result{path + "\n", "", 0}) {
		t.Errorf("%+v, want %s", got, path)
	}
	var argv, environ []string
	w.Replace = func(p string, a, e []string) error {
		argv, environ = append([]string{p}, a[1:]...), e
		return os.ErrPermission
	}
	got := w.run("--loglevel", "WARN", "jar", "x.jar", "-a", "b c")
	want := []string{root + "/jdk/bin/java", "-Dproc_jar", "-Dhadoop.process.name=org.apache.hadoop.util.RunJar", "-Djava.net.preferIPv4Stack=true", "-Dclient=1",
		"-Dhadoop.log.file=jar.log", "-Dyarn.log.dir=" + hadoop + "/logs", "-Dyarn.log.file=hadoop.log", "-Dyarn.home.dir=" + hadoop, "-Dyarn.root.logger=INFO,console",
		"-Djava.library.path=" + hadoop + "/lib/native", "-Xmx512m", "-Dhadoop.log.dir=" + hadoop + "/logs", "-Dhadoop.home.dir=" + hadoop, "-Dhadoop.id.str=alice",
		"-Dhadoop.root.logger=WARN,console", "-Dhadoop.policy.file=hadoop-policy.xml", "-Dhadoop.security.logger=INFO,NullAppender", "-XX:+IgnoreUnrecognizedVMOptions"}
	for _, name := range strings.Fields("java.io java.lang java.lang.reflect java.math java.net java.text java.util java.util.concurrent java.util.zip sun.security.util sun.security.x509") {
		want = append(want, "--add-opens=java.base/"+name+"=ALL-UNNAMED")
	}
	want = append(want, "org.apache.hadoop.util.RunJar", "x.jar", "-a", "b c")
	if !slices.Equal(argv, want) || got.code != 1 || !strings.Contains(got.err, "permission denied") {
		t.Errorf("%q\nwant %q\n%+v", argv, want, got)
	}
	for _, entry := range []string{"CLASSPATH=" + path, "MINE=yes", "HADOOP_HOME=" + hadoop, "HADOOP_YARN_HOME=" + hadoop, "HADOOP_CONF_DIR=" + hadoop + "/etc/hadoop", "MALLOC_ARENA_MAX=4"} {
		if !slices.Contains(environ, entry) {
			t.Errorf("no %s in %q", entry, environ)
		}
	}
	if slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, "HADOOP_CLIENT_OPTS=") }) {
		t.Error("what is not exported went to Java")
	}
	w.run("org.example.Main", "-a")
	if i := slices.Index(argv, "org.example.Main"); i < 0 || !slices.Equal(argv[i:], []string{"org.example.Main", "-a"}) {
		t.Errorf("%q", argv)
	}
	w.run("classpath", "--glob")
	if !slices.Equal(argv[len(argv)-2:], []string{"org.apache.hadoop.util.Classpath", "--glob"}) {
		t.Errorf("%q", argv)
	}
}

func TestJavaIsMissing(t *testing.T) {
	root := install(t, map[string]string{"hadoop/share/hadoop/common/common.jar": ""})
	w := newWorld("HADOOP_HOME="+root, "PATH=/nowhere")
	if got := w.run("jar", "x.jar"); got.code != 1 || !strings.Contains(got.err, "no jars of Hadoop in "+root) {
		t.Errorf("%+v", got)
	}
	w.vars["HADOOP_HOME"] = filepath.Join(root, "hadoop")
	if got := w.run("jar", "x.jar"); got.code != 1 || !strings.Contains(got.err, "no Java was found: set JAVA_HOME") {
		t.Errorf("%+v", got)
	}
	w.vars["JAVA_HOME"] = root
	if got := w.run("jar", "x.jar"); got.code != 1 || !strings.Contains(got.err, "no Java was found (JAVA_HOME="+root) {
		t.Errorf("%+v", got)
	}
}
