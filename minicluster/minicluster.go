// Package minicluster runs a whole cluster in one process: a ResourceManager and some NodeManagers on loopback, with a
// configuration of its own in a directory that commands and applications can use.
package minicluster

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/freeport"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/nodemanager"
	"github.com/heddle-project/heddle/resourcemanager"
)

// MaxNodes bounds the NodeManagers of one process.
const MaxNodes = 100

// Options describe a cluster.
type Options struct {
	Dir        string // for all its files; it is made
	Nodes      int
	MemoryMB   int64 // of each node
	VCores     int
	Properties []conf.Override // on top of what is written into yarn-site.xml
	Env        func(string) (string, bool)
	Environ    []string
	System     map[string]string
	User       string
	Level      slog.Level
}

// Cluster is a running one.
type Cluster struct {
	o      Options
	Web    string // the ResourceManager's pages
	rm     *resourcemanager.Daemon
	nodes  []*nodemanager.Daemon
	files  []io.Closer
	failed chan error
	end    context.CancelFunc
}

// ConfDir is where the configuration lies.
func (c *Cluster) ConfDir() string { return filepath.Join(c.o.Dir, "conf") }

// LogDir is where the daemons' logs lie.
func (c *Cluster) LogDir() string { return filepath.Join(c.o.Dir, "logs") }

// Start writes the configuration and starts the daemons. On an error nothing is left running.
func Start(o Options) (started *Cluster, err error) {
	if o.Nodes < 1 || o.Nodes > MaxNodes {
		return nil, fmt.Errorf("%d nodes: 1 to %d are possible", o.Nodes, MaxNodes)
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	c := &Cluster{o: o, failed: make(chan error, 1+o.Nodes), end: end}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	if err = c.write(); err != nil {
		return nil, err
	}
	log, err := c.log("resourcemanager")
	if err != nil {
		return nil, err
	}
	if c.rm, err = resourcemanager.Start(ctx, resourcemanager.Options{Load: func() (*conf.Properties, error) { return c.load(nil, o.Properties) },
		Dir: c.ConfDir(), User: o.User, Log: log}); err != nil {
		return nil, fmt.Errorf("cannot start the ResourceManager: %w", err)
	}
	c.watch(ctx, "the ResourceManager", c.rm.Wait)
	for i := range o.Nodes {
		if err = c.startNode(ctx, i+1); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Cluster) nodeDir(number int) string {
	return filepath.Join(c.o.Dir, "nodemanager"+strconv.Itoa(number))
}

func (c *Cluster) logDir(number int) string { return filepath.Join(c.nodeDir(number), "logs") }

func (c *Cluster) logDirs() string {
	var all []string
	for i := range c.o.Nodes {
		all = append(all, c.logDir(i+1))
	}
	return strings.Join(all, ",")
}

func (c *Cluster) startNode(ctx context.Context, number int) error {
	name := "nodemanager" + strconv.Itoa(number)
	log, err := c.log(name)
	if err != nil {
		return err
	}
	dir := c.nodeDir(number)
	own := []conf.Override{
		{Name: "yarn.nodemanager.local-dirs", Value: filepath.Join(dir, "local")},
		{Name: "yarn.nodemanager.log-dirs", Value: c.logDir(number)},
		{Name: "yarn.nodemanager.recovery.dir", Value: filepath.Join(dir, "recovery")},
		{Name: "yarn.nodemanager.linux-container-executor.cgroups.hierarchy", Value: "/hadoop-yarn/" + name},
	}
	d, err := nodemanager.Start(nodemanager.Options{Load: func() (*conf.Properties, error) {
		return c.load(conf.NodeManagerFiles, append(own, c.o.Properties...))
	}, User: c.o.User, Environ: c.o.Environ, Log: log})
	if err != nil {
		return fmt.Errorf("cannot start NodeManager %d: %w", number, err)
	}
	c.nodes = append(c.nodes, d)
	c.watch(ctx, name, d.Wait)
	return nil
}

// watch reports the first daemon that cannot go on.
func (c *Cluster) watch(ctx context.Context, name string, wait func(context.Context) error) {
	go func() {
		if err := wait(ctx); err != nil {
			c.failed <- fmt.Errorf("%s has ended: %w", name, err)
		}
	}()
}

// Wait returns when ctx ends, or with what made a daemon unable to go on.
func (c *Cluster) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.failed:
		return err
	}
}

// Stop ends the daemons and everything that runs on them. It may be called again.
func (c *Cluster) Stop() {
	c.end()
	done := make(chan struct{})
	for _, d := range c.nodes {
		go func() {
			d.Stop()
			done <- struct{}{}
		}()
	}
	for range c.nodes {
		<-done
	}
	if c.rm != nil {
		c.rm.Stop()
	}
	for _, f := range c.files {
		_ = f.Close()
	}
	c.files = nil
}

func (c *Cluster) load(files []string, overrides []conf.Override) (*conf.Properties, error) {
	return conf.Load(conf.Options{Dir: c.ConfDir(), Files: files, Optional: true, Overrides: overrides, Env: c.o.Env, System: c.o.System})
}

func (c *Cluster) log(name string) (*slog.Logger, error) {
	f, err := os.OpenFile(filepath.Join(c.LogDir(), name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("cannot open a log: %w", err)
	}
	c.files = append(c.files, f)
	return slog.New(logs.New(f, logs.NewLevels(c.o.Level))).With("logger", name), nil
}

// write writes the configuration files.
func (c *Cluster) write() error {
	for _, dir := range []string{c.ConfDir(), c.LogDir()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot make the cluster's directory: %w", err)
		}
	}
	ports, err := freeport.Loopback(5)
	if err != nil {
		return err
	}
	at := func(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i])) }
	c.Web = "http://" + at(4)
	site := []conf.Override{
		{Name: "yarn.resourcemanager.hostname", Value: "127.0.0.1"},
		{Name: "yarn.resourcemanager.address", Value: at(0)},
		{Name: "yarn.resourcemanager.scheduler.address", Value: at(1)},
		{Name: "yarn.resourcemanager.resource-tracker.address", Value: at(2)},
		{Name: "yarn.resourcemanager.admin.address", Value: at(3)},
		{Name: "yarn.resourcemanager.webapp.address", Value: at(4)},
		{Name: "yarn.scheduler.minimum-allocation-mb", Value: "128"},
		{Name: "yarn.nodemanager.hostname", Value: "127.0.0.1"},
		{Name: "yarn.nodemanager.address", Value: "127.0.0.1:0"},
		{Name: "yarn.nodemanager.localizer.address", Value: "127.0.0.1:0"},
		{Name: "yarn.nodemanager.webapp.address", Value: "127.0.0.1:0"},
		{Name: "yarn.nodemanager.resource.memory-mb", Value: strconv.FormatInt(c.o.MemoryMB, 10)},
		{Name: "yarn.nodemanager.resource.cpu-vcores", Value: strconv.Itoa(c.o.VCores)},
		{Name: "yarn.nodemanager.aux-services", Value: "mapreduce_shuffle"},
		{Name: "yarn.nodemanager.aux-services.mapreduce_shuffle.class", Value: "org.apache.hadoop.mapred.ShuffleHandler"},
		{Name: "yarn.nodemanager.log-dirs", Value: c.logDirs()}, // of all nodes, for people and tools; each node is given its own
		{Name: "yarn.log-aggregation-enable", Value: "true"},
		{Name: "yarn.nodemanager.remote-app-log-dir", Value: "file://" + filepath.Join(c.o.Dir, "aggregated-logs")},
		{Name: "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", Value: "99.5"},
	}
	queues := []conf.Override{
		{Name: "yarn.scheduler.capacity.root.queues", Value: "default"},
		{Name: "yarn.scheduler.capacity.root.default.capacity", Value: "100"},
		{Name: "yarn.scheduler.capacity.maximum-am-resource-percent", Value: "0.5"},
	}
	core := []conf.Override{
		{Name: "fs.defaultFS", Value: "file:///"},
		{Name: "hadoop.tmp.dir", Value: filepath.Join(c.o.Dir, "tmp")},
	}
	shuffle := []conf.Override{{Name: "mapreduce.framework.name", Value: "yarn"}, {Name: "mapreduce.shuffle.port", Value: "0"}}
	return errors.Join(c.writeFile("core-site.xml", core), c.writeFile("yarn-site.xml", append(site, c.o.Properties...)),
		c.writeFile("capacity-scheduler.xml", queues), c.writeFile("mapred-site.xml", shuffle))
}

func (c *Cluster) writeFile(name string, properties []conf.Override) error {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for _, p := range properties {
		b.WriteString("  <property><name>")
		_ = xml.EscapeText(&b, []byte(p.Name)) // a builder takes everything
		b.WriteString("</name><value>")
		_ = xml.EscapeText(&b, []byte(p.Value))
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	if err := os.WriteFile(filepath.Join(c.ConfDir(), name), []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("cannot write the cluster's configuration: %w", err)
	}
	return nil
}
