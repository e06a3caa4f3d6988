package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-project/heddle/internal/jvm"
)

// The classes behind the commands that are Java's.
const (
	classRunJar    = "org.apache.hadoop.util.RunJar"
	classClassPath = "org.apache.hadoop.util.Classpath"
)

// opened are the packages of java.base that Hadoop and its libraries reach into by reflection, which Java 17 forbids by default.
var opened = []string{"java.io", "java.lang", "java.lang.reflect", "java.math", "java.net", "java.text", "java.util", "java.util.concurrent", "java.util.zip",
	"sun.security.util", "sun.security.x509"}

// java does what needs Java and the jars of a Hadoop: jar, classpath, and classes by their names.
func (c *call) java(name string, args []string) int {
	switch {
	case helps(args):
		c.javaUsage(c.Stdout, name)
		return 0
	case name == "jar" && len(args) == 0:
		c.javaUsage(c.Stderr, name)
		return 1
	}
	if c.around.err != nil {
		return c.javaFails(name, c.around.err.Error())
	}
	home := c.Getenv("HADOOP_HOME")
	if len(jvm.Homes(c.Getenv, home)) == 0 && c.Getenv("HADOOP_COMMON_HOME") == "" {
		return c.javaFails(name, fmt.Sprintf("there are no jars of Hadoop in %s: set HADOOP_HOME (or HADOOP_COMMON_HOME and its likes) to an installation of Apache Hadoop", home))
	}
	path := strings.Join(jvm.ClassPath(c.Getenv, c.around.dir), ":")
	class := name
	switch name {
	case "jar":
		class = classRunJar
	case "classpath":
		if len(args) == 0 {
			fmt.Fprintln(c.Stdout, path)
			return 0
		}
		class = classClassPath
	}
	return c.virtualMachine(name, class, path, args)
}

// virtualMachine replaces the process by Java. It returns only when that is not possible.
func (c *call) virtualMachine(name, class, path string, args []string) int {
	home := jvm.Home(c.Getenv)
	if home == "" {
		return c.javaFails(name, "no Java was found: set JAVA_HOME")
	}
	program := filepath.Join(home, "bin", "java")
	if _, err := os.Stat(program); err != nil {
		return c.javaFails(name, fmt.Sprintf("no Java was found (JAVA_HOME=%s): %v", home, err))
	}
	options := c.javaOptions()
	v := c.around
	v.Default("MALLOC_ARENA_MAX", "4") // arenas of glibc swell a program of many threads
	for name, value := range map[string]string{"CLASSPATH": path, "HADOOP_OPTS": strings.Join(options, " "), "MALLOC_ARENA_MAX": v.Value("MALLOC_ARENA_MAX"),
		"HADOOP_OS_TYPE": v.Value("HADOOP_OS_TYPE"), "HADOOP_ENV_PROCESSED": "true", "HADOOP_YARN_ENV_PROCESSED": "true"} {
		v.Set(name, value)
		v.Export(name)
	}
	argv := append([]string{program, "-Dproc_" + name, "-Dhadoop.process.name=" + class}, options...)
	err := c.Replace(program, append(append(argv, class), args...), c.Environ())
	fmt.Fprintf(c.Stderr, "ERROR: running %s: %v\n", program, err)
	return 1
}

// javaOptions are the options of the environment and those that Hadoop's scripts add where they are not among them.
func (c *call) javaOptions() []string {
	words := c.options()
	add := func(what, word string) {
		if !strings.Contains(strings.Join(words, " "), what) {
			words = append(words, word)
		}
	}
	property := func(name, value string) { add(name, "-D"+name+"="+value) }
	logs, home := c.Getenv("HADOOP_LOG_DIR"), c.Getenv("HADOOP_HOME")
	property("yarn.log.dir", logs)
	property("yarn.log.file", c.Getenv("HADOOP_LOGFILE"))
	property("yarn.home.dir", home)
	property("yarn.root.logger", cmp.Or(c.Getenv("YARN_ROOT_LOGGER"), "INFO,console"))
	if native := jvm.Native(c.Getenv); native != "" {
		property("java.library.path", native)
	}
	for _, heap := range []struct{ variable, option string }{{"HADOOP_HEAPSIZE_MAX", "Xmx"}, {"HADOOP_HEAPSIZE", "Xmx"}, {"HADOOP_HEAPSIZE_MIN", "Xms"}} {
		if size := c.Getenv(heap.variable); size != "" {
			if strings.Trim(size, "0123456789") == "" {
				size += "m"
			}
			add(heap.option, "-"+heap.option+size)
		}
	}
	property("hadoop.log.dir", logs)
	property("hadoop.log.file", c.Getenv("HADOOP_LOGFILE"))
	property("hadoop.home.dir", home)
	property("hadoop.id.str", c.Getenv("HADOOP_IDENT_STRING"))
	property("hadoop.root.logger", c.Getenv("HADOOP_ROOT_LOGGER"))
	property("hadoop.policy.file", c.Getenv("HADOOP_POLICYFILE"))
	property("hadoop.security.logger", c.Getenv("HADOOP_SECURITY_LOGGER"))
	add("IgnoreUnrecognizedVMOptions", "-XX:+IgnoreUnrecognizedVMOptions") // Java 8 knows no modules
	for _, name := range opened {
		words = append(words, "--add-opens=java.base/"+name+"=ALL-UNNAMED")
	}
	return words
}

func (c *call) javaFails(what, why string) int {
	fmt.Fprintf(c.Stderr, "ERROR: yarn %s needs Java and Apache Hadoop: %s\n", what, why)
	return 1
}
