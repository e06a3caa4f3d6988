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

// Find looks for a Java and a Hadoop in the environment: JAVA_HOME, else the java of PATH, and the class path that jvm.ClassPath makes. The
// error says what is missing and what to set.
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
	entries := jvm.ClassPath(getenv, conf)
	if !slices.ContainsFunc(entries, hasLocalizer) {
		return r, fmt.Errorf("no %s-*.jar was found: set HADOOP_HOME or HADOOP_CLASSPATH in the NodeManager's environment to a Hadoop", localizerJar)
	}
	r.Version, r.Path, r.Native = jvm.Version(home), strings.Join(entries, string(filepath.ListSeparator)), jvm.Native(getenv)
	return r, nil
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
