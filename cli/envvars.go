package cli

import (
	"cmp"
	"fmt"

	"github.com/heddle-project/heddle/internal/visible"
)

// envVars prints the environment as Hadoop's scripts compute it, one variable a line, in their order.
func envVars(c *call) error {
	if helps(c.args) {
		c.usage()
		return nil
	}
	if len(c.args) > 0 {
		return c.refuse("%s: unknown argument", c.args[0])
	}
	home := c.Getenv("HADOOP_HOME")
	dir, err := c.confDir()
	if err != nil {
		return err
	}
	for _, v := range [][2]string{
		{"JAVA_HOME", c.Getenv("JAVA_HOME")},
		{"HADOOP_YARN_HOME", cmp.Or(c.Getenv("HADOOP_YARN_HOME"), home)},
		{"YARN_DIR", cmp.Or(c.Getenv("YARN_DIR"), "share/hadoop/yarn")},
		{"YARN_LIB_JARS_DIR", cmp.Or(c.Getenv("YARN_LIB_JARS_DIR"), "share/hadoop/yarn/lib")},
		{"HADOOP_CONF_DIR", dir},
		{"HADOOP_TOOLS_HOME", cmp.Or(c.Getenv("HADOOP_TOOLS_HOME"), home)},
		{"HADOOP_TOOLS_DIR", cmp.Or(c.Getenv("HADOOP_TOOLS_DIR"), "share/hadoop/tools")},
		{"HADOOP_TOOLS_LIB_JARS_DIR", cmp.Or(c.Getenv("HADOOP_TOOLS_LIB_JARS_DIR"), "share/hadoop/tools/lib")},
	} {
		fmt.Fprintf(c.Stdout, "%s='%s'\n", v[0], visible.Line(v[1]))
	}
	return nil
}
