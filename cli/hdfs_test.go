package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/cli/shell"
)

// What hdfs-site.xml says, or fails to say, is part of the answer.
func TestCommandsReadHDFSSite(t *testing.T) {
	w := newLogsWorld(t, t.TempDir())
	w.root = "hdfs://kit/logs"
	dir := w.confDir(t)
	site := filepath.Join(dir, "hdfs-site.xml")
	if err := os.WriteFile(site, []byte("<configuration><property><name>dfs.nameservices</name><value>kit</value></property></configuration>"), 0o644); err != nil {
		t.Fatal(err)
	}
	asks := func(command, said string) {
		if !strings.Contains(said, "dfs.nameservices names kit, but where its NameNodes are is not set: dfs.ha.namenodes.kit") || !strings.Contains(said, site+" was read") {
			t.Errorf("%s: %s", command, said)
		}
	}
	got := newWorld().run("--config", dir, "logs", "-applicationId", "application_1700000000000_0007")
	asks("logs", got.out+got.err)
	if got.code == 0 {
		t.Error("yarn logs has succeeded")
	}
	props, err := Start{ConfDir: dir}.Load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shell.Stage(t.Context(), props, "alice", "hdfs://kit/x", "app", []shell.Source{{Path: site, Name: "a"}}); err == nil {
		t.Error("a file was staged")
	} else {
		asks("shell", err.Error())
	}
}
