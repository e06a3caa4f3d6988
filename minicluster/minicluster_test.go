package minicluster

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/yarn"
)

func start(t *testing.T, nodes int) *Cluster {
	t.Helper()
	c, err := Start(Options{Dir: t.TempDir(), Nodes: nodes, MemoryMB: 2048, VCores: 2, Env: os.LookupEnv, System: map[string]string{"user.name": "ann"},
		User: "ann", Level: slog.LevelInfo})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// running waits until so many nodes run, and returns the cluster's configuration, by which a client has found them, and the nodes.
func running(t *testing.T, c *Cluster, n int) (*conf.Properties, []*client.Node) {
	t.Helper()
	props, err := conf.Load(conf.Options{Dir: c.ConfDir()})
	if err != nil {
		t.Fatal(err)
	}
	cl, err := client.New(props, "ann", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var nodes []*client.Node
	for len(nodes) < n && ctx.Err() == nil {
		if nodes, err = cl.Nodes(ctx, yarn.NodeRunning); err != nil {
			t.Fatal(err)
		}
	}
	if len(nodes) < n {
		t.Fatalf("%d nodes run, want %d", len(nodes), n)
	}
	return props, nodes
}

// Nodes register, clients find the cluster by its directory, and after the end nothing listens.
func TestCluster(t *testing.T) {
	c := start(t, 2)
	props, nodes := running(t, c, 2)
	for _, n := range nodes {
		if n.Capability.MemoryMB != 2048 || n.Capability.VCores != 2 {
			t.Errorf("node %v offers %v", n.ID, n.Capability)
		}
	}
	for _, dir := range strings.Split(props.Get("yarn.nodemanager.log-dirs"), ",") { // of both nodes
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", dir, err)
		}
	}
	answer, err := http.Get(c.Web + "/cluster")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the pages answer %s", answer.Status)
	}
	for _, name := range []string{"resourcemanager.log", "nodemanager1.log", "nodemanager2.log"} {
		if info, err := os.Stat(filepath.Join(c.LogDir(), name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.Stop()
	if _, err := http.Get(c.Web); err == nil {
		t.Error("the pages still answer")
	}
}

// TestLevels: the level of a logger changes while both daemons run, for administrators who say who they are.
func TestLevels(t *testing.T) {
	c := start(t, 1)
	_, nodes := running(t, c, 1)
	for _, daemon := range []string{c.Web, "http://" + *nodes[0].HTTPAddress} {
		for _, x := range []struct {
			query  string
			status int
			text   string
		}{
			{"log=web", http.StatusOK, "Effective Level: <b>INFO</b>"},
			{"log=web&level=DEBUG", http.StatusForbidden, "say who you are"},
			{"log=web&level=DEBUG&user.name=ann", http.StatusOK, "Effective Level: <b>DEBUG</b>"},
			{"log=org.apache.hadoop.http.HttpServer2", http.StatusOK, "Effective Level: <b>DEBUG</b>"},
		} {
			answer, err := http.Get(daemon + "/logLevel?" + x.query)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || answer.StatusCode != x.status || !strings.Contains(string(text), x.text) {
				t.Errorf("%s %s: %s %v\n%s", daemon, x.query, answer.Status, err, text)
			}
		}
	}
}

func TestWrongOptions(t *testing.T) {
	for _, o := range []Options{{Nodes: 0}, {Nodes: MaxNodes + 1},
		{Nodes: 1, MemoryMB: 100, VCores: 1, Properties: []conf.Override{{Name: "yarn.resourcemanager.am.max-attempts", Value: "none"}}}} {
		o.Dir = t.TempDir()
		if c, err := Start(o); err == nil {
			c.Stop()
			t.Errorf("%+v was taken", o)
		}
	}
}
