package java

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/jvm"
)

// Runtime is the Java and the Hadoop that localizers run on.
type Runtime struct {
	Java    string // the program
	Version int    // 0: not known
	Path    string // -classpath
	Native  string // java.library.path; "" for Java's own
}

// localizerJar begins the name of the jar that has ContainerLocalizer.
const localizerJar = "hadoop-yarn-server-nodemanager"

// parts are the directories of an installation, by the variable that may lead elsewhere than HADOOP_HOME does.
var parts = []struct{ variable, dir string }{
	{"HADOOP_COMMON_HOME", "common"}, {"HADOOP_HDFS_HOME", "hdfs"}, {"HADOOP_YARN_HOME", "yarn"}, {"HADOOP_MAPRED_HOME", "mapreduce"}}

// Find looks for a Java and a Hadoop in the environment: JAVA_HOME, else the java of PATH; and as class path conf, then the
// share/hadoop directories of HADOOP_HOME, or of HADOOP_COMMON_HOME and its likes where these are set, with
// share/hadoop/tools/lib if HADOOP_OPTIONAL_TOOLS names anything, then HADOOP_CLASSPATH. The error says what is missing and
// what to set.
func Find(getenv func(string) string, conf string) (Runtime, error) {
	var r Runtime
	home := jvm.Home(getenv)
	if home == "" {
		return r, errors.New("no Java was found: set JAVA_HOME in the NodeManager's environment")
	}
	r.Java = filepath.Join(home, "bin", "java")
	if _, err := os.Stat(r.Java); err != nil {
		return r, fmt.Errorf("no Java was found (JAVA_HOME in the NodeManager's environment): %w", err)
	}
	entries := hadoop(getenv)
	for _, entry := range filepath.SplitList(getenv("HADOOP_CLASSPATH")) {
		if entry != "" && !slices.Contains(entries, entry) {
			entries = append(entries, entry)
		}
	}
	if !slices.ContainsFunc(entries, hasLocalizer) {
		return r, fmt.Errorf("no %s-*.jar was found: set HADOOP_HOME or HADOOP_CLASSPATH in the NodeManager's environment to a Hadoop", localizerJar)
	}
	if conf != "" {
		entries = slices.Insert(entries, 0, conf)
	}
	r.Version, r.Path, r.Native = jvm.Version(home), strings.Join(entries, string(filepath.ListSeparator)), native(getenv)
	return r, nil
}

// hadoop is the class path of an installation, in the order of Hadoop's scripts.
func hadoop(getenv func(string) string) (out []string) {
	add := func(home string, subs ...string) {
		for _, sub := range subs {
			dir := filepath.Join(home, "share", "hadoop", sub)
			if info, err := os.Stat(dir); home != "" && err == nil && info.IsDir() {
				out = append(out, filepath.Join(dir, "*"))
			}
		}
	}
	for _, p := range parts {
		home := getenv(p.variable)
		if home == "" {
			home = getenv("HADOOP_HOME")
		}
		add(home, filepath.Join(p.dir, "lib"), p.dir)
	}
	if getenv("HADOOP_OPTIONAL_TOOLS") != "" {
		add(getenv("HADOOP_HOME"), filepath.Join("tools", "lib"))
	}
	return out
}

// hasLocalizer tells of an entry of a class path that holds ContainerLocalizer.
func hasLocalizer(entry string) bool {
	if !strings.HasSuffix(entry, "*") {
		_, err := os.Stat(entry)
		return err == nil && isLocalizer(filepath.Base(entry))
	}
	infos, _ := os.ReadDir(filepath.Dir(entry)) // Java passes over what cannot be read, too
	return slices.ContainsFunc(infos, func(e os.DirEntry) bool { return isLocalizer(e.Name()) })
}

func isLocalizer(name string) bool {
	return strings.HasPrefix(name, localizerJar) && strings.HasSuffix(name, ".jar") && !strings.HasSuffix(name, "-tests.jar") && !strings.HasSuffix(name, "-sources.jar")
}

// native is where Hadoop's libraries are that are not Java's.
func native(getenv func(string) string) string {
	if set := getenv("JAVA_LIBRARY_PATH"); set != "" {
		return set
	}
	for _, variable := range []string{"HADOOP_COMMON_HOME", "HADOOP_HOME"} {
		if home := getenv(variable); home != "" {
			dir := filepath.Join(home, "lib", "native")
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				return dir
			}
		}
	}
	return ""
}
