package cli

import (
	"fmt"
	"os"
	"path/filepath"
)

// delegate replaces the process by the bin/yarn of the Hadoop in HADOOP_HOME,
// for what needs Java. It returns only when that is not possible.
func (c *call) delegate(words []string) int {
	home := c.Getenv("HADOOP_HOME")
	if home == "" {
		return c.needsHadoop(words[0], "set HADOOP_HOME to a Hadoop installation")
	}
	target := filepath.Join(home, "bin", "yarn")
	info, err := os.Stat(target)
	if err != nil {
		return c.needsHadoop(words[0], fmt.Sprintf("HADOOP_HOME has no bin/yarn: %v", err))
	}
	if self, err := os.Stat(c.Program); err == nil && os.SameFile(self, info) {
		return c.needsHadoop(words[0], target+" is this program itself; set HADOOP_HOME to an installation of Apache Hadoop")
	}
	argv := []string{target}
	if c.global.config != "" {
		argv = append(argv, "--config", c.global.config)
	}
	if c.global.logLevel != "" {
		argv = append(argv, "--loglevel", c.global.logLevel)
	}
	err = c.Replace(target, append(argv, words...), c.Environ())
	fmt.Fprintf(c.Stderr, "ERROR: running %s: %v\n", target, err)
	return 1
}

func (c *call) needsHadoop(what, hint string) int {
	fmt.Fprintf(c.Stderr, "ERROR: yarn %s needs Java and Apache Hadoop: %s\n", what, hint)
	return 1
}
