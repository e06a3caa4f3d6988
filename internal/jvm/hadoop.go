package jvm

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// parts are the directories of an installation of Hadoop, in the order of its scripts: the variable of the home that has it, the variables
// that say where it is below that, and where it is if they do not.
var parts = []struct{ home, dir, jars, at string }{
	{"HADOOP_COMMON_HOME", "HADOOP_COMMON_DIR", "HADOOP_COMMON_LIB_JARS_DIR", "share/hadoop/common"},
	{"HADOOP_HDFS_HOME", "HDFS_DIR", "HDFS_LIB_JARS_DIR", "share/hadoop/hdfs"},
	{"HADOOP_MAPRED_HOME", "MAPRED_DIR", "MAPRED_LIB_JARS_DIR", "share/hadoop/mapreduce"},
	{"HADOOP_YARN_HOME", "YARN_DIR", "YARN_LIB_JARS_DIR", "share/hadoop/yarn"},
}

// ClassPath is what Hadoop's scripts make of the environment: conf, the jars of the installation in HADOOP_HOME, or in HADOOP_COMMON_HOME
// and its likes where these are set, its tools if HADOOP_OPTIONAL_TOOLS names anything, and HADOOP_CLASSPATH, which comes first with
// HADOOP_USER_CLASSPATH_FIRST and not at all with HADOOP_USE_CLIENT_CLASSLOADER. What does not exist is left out.
func ClassPath(getenv func(string) string, conf string) []string {
	var path []string
	add := func(entry string) {
		if exists(entry) && !slices.Contains(path, entry) {
			path = append(path, entry)
		}
	}
	add(conf)
	for _, p := range parts {
		home := cmp.Or(getenv(p.home), getenv("HADOOP_HOME"))
		if home == "" {
			continue
		}
		dir := filepath.Join(home, cmp.Or(getenv(p.dir), p.at))
		if exists(filepath.Join(dir, "webapps")) {
			add(dir)
		}
		add(filepath.Join(home, cmp.Or(getenv(p.jars), p.at+"/lib"), "*"))
		add(filepath.Join(dir, "*"))
	}
	if home := cmp.Or(getenv("HADOOP_TOOLS_HOME"), getenv("HADOOP_HOME")); home != "" && getenv("HADOOP_OPTIONAL_TOOLS") != "" {
		tools := cmp.Or(getenv("HADOOP_TOOLS_DIR"), "share/hadoop/tools")
		add(filepath.Join(home, cmp.Or(getenv("HADOOP_TOOLS_LIB_JARS_DIR"), tools+"/lib"), "*"))
	}
	if getenv("HADOOP_USE_CLIENT_CLASSLOADER") != "" {
		return path
	}
	installed := path
	if getenv("HADOOP_USER_CLASSPATH_FIRST") != "" {
		path = nil
	}
	for _, entry := range filepath.SplitList(getenv("HADOOP_CLASSPATH")) {
		add(entry)
	}
	if getenv("HADOOP_USER_CLASSPATH_FIRST") != "" {
		for _, entry := range installed {
			add(entry)
		}
	}
	return path
}

// exists tells whether an entry of a class path exists; one with a star in its middle is left for the program to judge.
func exists(entry string) bool {
	if dir, ok := strings.CutSuffix(entry, "*"); ok && !strings.Contains(dir, "*") {
		info, err := os.Stat(cmp.Or(dir, "."))
		return err == nil && info.IsDir()
	}
	if strings.Contains(entry, "*") {
		return true
	}
	_, err := os.Stat(entry)
	return entry != "" && err == nil
}

// Native is where Hadoop's native libraries are: JAVA_LIBRARY_PATH, or the installation's directory; "" if there are none.
func Native(getenv func(string) string) string {
	if set := getenv("JAVA_LIBRARY_PATH"); set != "" {
		return set
	}
	for _, variable := range []string{"HADOOP_COMMON_HOME", "HADOOP_HOME"} {
		if home := getenv(variable); home != "" {
			dir := filepath.Join(home, cmp.Or(getenv("HADOOP_COMMON_LIB_NATIVE_DIR"), "lib/native"))
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				return dir
			}
		}
	}
	return ""
}

// Homes are the variables for the homes of those parts of Hadoop that are installed below home.
func Homes(getenv func(string) string, home string) (names []string) {
	for _, p := range parts {
		if info, err := os.Stat(filepath.Join(home, cmp.Or(getenv(p.dir), p.at))); err == nil && info.IsDir() {
			names = append(names, p.home)
		}
	}
	return names
}
