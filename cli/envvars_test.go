package cli

import "testing"

// TestEnvVars: the variables, their order and their quotes are those of Hadoop's bin/yarn.
func TestEnvVars(t *testing.T) {
	dir := t.TempDir()
	w := newWorld("JAVA_HOME=/jvm", "HADOOP_HOME=/opt/hadoop", "HADOOP_CONF_DIR="+dir, "YARN_DIR=y")
	want := "JAVA_HOME='/jvm'\nHADOOP_YARN_HOME='/opt/hadoop'\nYARN_DIR='y'\nYARN_LIB_JARS_DIR='share/hadoop/yarn/lib'\nHADOOP_CONF_DIR='" + dir +
		"'\nHADOOP_TOOLS_HOME='/opt/hadoop'\nHADOOP_TOOLS_DIR='share/hadoop/tools'\nHADOOP_TOOLS_LIB_JARS_DIR='share/hadoop/tools/lib'\n"
	if got := w.run("envvars"); got.out != want || got.err != "" || got.code != 0 {
		t.Errorf("%+v\nwant %s", got, want)
	}
	if got := w.run("envvars", "x"); got.code != 1 || got.out != "" {
		t.Errorf("%+v", got)
	}
}
