package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/cli"
	"github.com/heddle-project/heddle/internal/freeport"
	"github.com/heddle-project/heddle/nodemanager"
	"github.com/heddle-project/heddle/resourcemanager"
)

// formerlyTwo is the configuration of a cluster that had two ResourceManagers, of which the one with that id is this machine.
func formerlyTwo(t *testing.T, here string, ports []int) string {
	t.Helper()
	dir := t.TempDir()
	values := map[string]string{
		"yarn.resourcemanager.ha.enabled": "false", "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
		"yarn.nodemanager.address": "127.0.0.1:0", "yarn.nodemanager.localizer.address": "127.0.0.1:0", "yarn.nodemanager.webapp.address": "127.0.0.1:0",
		"yarn.nodemanager.local-dirs": filepath.Join(dir, "local"), "yarn.nodemanager.log-dirs": filepath.Join(dir, "logs"), "hadoop.tmp.dir": dir,
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
	}
	for i, name := range []string{"address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address"} {
		for _, id := range []string{"rm1", "rm2"} {
			values["yarn.resourcemanager."+name+"."+id] = "192.0.2.1:1"
		}
		values["yarn.resourcemanager."+name+"."+here] = fmt.Sprintf("127.0.0.1:%d", ports[i])
	}
	queues := map[string]string{"yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": "100"}
	for file, values := range map[string]map[string]string{"yarn-site.xml": values, "capacity-scheduler.xml": queues} {
		text := "<configuration>"
		for name, value := range values {
			text += `<property name="` + name + `" value="` + value + `"/>`
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"</configuration>"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFilesOfTwoResourceManagers: with high availability off, and no address but those with ids, daemons and commands find each other
// at rm1's ports.
func TestFilesOfTwoResourceManagers(t *testing.T) {
	s, log := answering(t, "rm1")
	nm, err := nodemanager.Start(nodeManagerOptions(s, log))
	if err != nil {
		t.Fatal(err)
	}
	defer nm.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	nodes := ""
	for !strings.Contains(nodes, "Total Nodes:1") {
		var out, complaints bytes.Buffer
		e := &cli.Env{Stdout: &out, Stderr: &complaints, LookupEnv: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil }, User: "ann", Zone: time.UTC, Now: time.Now}
		if code := e.Run(ctx, []string{"--config", s.ConfDir, "node", "-list"}); code != 0 || complaints.Len() != 0 {
			t.Fatalf("exit code %d\n%s%s", code, out.String(), complaints.String())
		}
		nodes = out.String()
	}
	text, err := os.ReadFile(s.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "those of rm1 are used"); n != 2 {
		t.Errorf("each daemon says once whose addresses are used, %d do:\n%s", n, text)
	}
}

// answering starts a ResourceManager with the files of two, of which this machine was id, and calls each of its ports. It runs until the test ends.
func answering(t *testing.T, id string) (cli.Start, *journal) {
	t.Helper()
	ports, err := freeport.Loopback(5)
	if err != nil {
		t.Fatal(err)
	}
	dir := formerlyTwo(t, id, ports)
	s := cli.Start{ConfDir: dir, LogFile: filepath.Join(dir, "daemons.log")}
	log, err := openLog(s, "daemons")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.close)
	rm, err := resourcemanager.Start(t.Context(), resourceManagerOptions(s, log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rm.Stop)
	for _, port := range ports {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Error(err)
			continue
		}
		c.Close()
	}
	return s, log
}

// TestFilesOfTwoOnTheSecond: the ResourceManager is the one whose addresses are this machine's, also if it is not the first.
func TestFilesOfTwoOnTheSecond(t *testing.T) {
	answering(t, "rm2")
}
