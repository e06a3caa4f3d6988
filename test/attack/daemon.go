package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/freeport"
)

// daemon is a real process of the binary.
type daemon struct {
	arena   *arena
	kind    string // "resourcemanager" or "nodemanager"
	name    string // of its directory and log
	config  map[string]string
	cmd     *exec.Cmd
	ended   chan struct{}
	exit    error // of the process, once ended is closed
	address map[string]string
}

// Properties whose value is a port that a daemon listens on.
const (
	clientPort  = "yarn.resourcemanager.address"
	masterPort  = "yarn.resourcemanager.scheduler.address"
	trackerPort = "yarn.resourcemanager.resource-tracker.address"
	adminPort   = "yarn.resourcemanager.admin.address"
	webPort     = "yarn.resourcemanager.webapp.address"

	nodePort      = "yarn.nodemanager.address"
	localizerPort = "yarn.nodemanager.localizer.address"
	nodeWebPort   = "yarn.nodemanager.webapp.address"
)

const started = 30 * time.Second // is what a start may take

// properties is a configuration from name, value, name, value ….
func properties(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// resourceManager starts a ResourceManager with a queue root.default; own settings go over those of the arena.
func (a *arena) resourceManager(own map[string]string) *daemon {
	d := a.declare("resourcemanager", "rm", own, clientPort, masterPort, trackerPort, adminPort, webPort)
	d.start()
	return d
}

// nodeManager starts a NodeManager below rm. Without yarn.nodemanager.local-dirs and the like in own it has its directories in the arena.
func (a *arena) nodeManager(rm *daemon, name string, own map[string]string) *daemon {
	dir := filepath.Join(a.dir, name)
	with := properties("yarn.nodemanager.local-dirs", filepath.Join(dir, "local"), "yarn.nodemanager.log-dirs", filepath.Join(dir, "containers"),
		"yarn.nodemanager.recovery.dir", filepath.Join(dir, "recovery"), "yarn.nodemanager.resource.memory-mb", "8192",
		"yarn.nodemanager.resource.cpu-vcores", "8", "yarn.nodemanager.vmem-check-enabled", "false",
		"yarn.resourcemanager.connect.retry-interval.ms", "200", "yarn.nodemanager.heartbeat.interval-ms", "200")
	for _, p := range []string{clientPort, masterPort, trackerPort, adminPort, webPort} {
		with[p] = rm.address[p]
	}
	maps.Copy(with, own)
	d := a.declare("nodemanager", name, with, nodePort, localizerPort, nodeWebPort)
	d.start()
	return d
}

// declare writes the configuration of a daemon that is not started yet, with a free port for each of the properties.
func (a *arena) declare(kind, name string, own map[string]string, ports ...string) *daemon {
	dir := filepath.Join(a.dir, name)
	d := &daemon{arena: a, kind: kind, name: name, address: map[string]string{}}
	d.config = properties("hadoop.tmp.dir", filepath.Join(dir, "tmp"), "yarn.resourcemanager.fs.state-store.uri", "file://"+filepath.Join(dir, "state"),
		"hadoop.security.authorization", "false", "yarn.resourcemanager.hostname", "127.0.0.1")
	for i, port := range a.freePorts(len(ports)) {
		d.address[ports[i]] = "127.0.0.1:" + strconv.Itoa(port)
	}
	maps.Copy(d.config, d.address)
	maps.Copy(d.config, own)
	for p := range d.address {
		d.address[p] = d.config[p]
	}
	a.must(os.MkdirAll(d.confDir(), 0o755))
	d.write("yarn-site.xml", d.config)
	d.write("core-site.xml", nil)
	if kind == "resourcemanager" {
		if _, err := os.Stat(filepath.Join(d.confDir(), "capacity-scheduler.xml")); errors.Is(err, os.ErrNotExist) {
			d.write("capacity-scheduler.xml", properties("yarn.scheduler.capacity.root.queues", "default",
				"yarn.scheduler.capacity.root.default.capacity", "100", "yarn.scheduler.capacity.maximum-am-resource-percent", "1.0",
				"yarn.scheduler.capacity.maximum-applications", "1000000"))
		}
	}
	a.mu.Lock()
	a.daemons = append(a.daemons, d)
	a.mu.Unlock()
	return d
}

// freePorts are ports of loopback that nobody listens on at the moment, all different.
func (a *arena) freePorts(n int) []int {
	ports, err := freeport.Loopback(n)
	a.must(err)
	return ports
}

func (d *daemon) dir() string     { return filepath.Join(d.arena.dir, d.name) }
func (d *daemon) confDir() string { return filepath.Join(d.dir(), "conf") }
func (d *daemon) logFile() string { return filepath.Join(d.dir(), "log") }

// log is all that the daemon has written so far, over all its starts.
func (d *daemon) log() string {
	b, err := os.ReadFile(d.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// write makes a configuration file of the daemon.
func (d *daemon) write(name string, values map[string]string) {
	var b bytes.Buffer
	b.WriteString("<configuration>\n")
	for _, k := range slices.Sorted(maps.Keys(values)) {
		b.WriteString("<property><name>")
		_ = xml.EscapeText(&b, []byte(k)) // a buffer takes everything
		b.WriteString("</name><value>")
		_ = xml.EscapeText(&b, []byte(values[k]))
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	d.arena.must(os.WriteFile(filepath.Join(d.confDir(), name), b.Bytes(), 0o644))
}

// start starts the process and waits until it serves.
func (d *daemon) start() {
	d.launch()
	if err := d.up(); err != nil {
		fmt.Println(last(d.log(), 40))
		d.arena.must(err)
	}
}

// launch starts the process without waiting.
func (d *daemon) launch() {
	out, err := os.OpenFile(d.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	d.arena.must(err)
	defer out.Close()
	d.cmd = exec.Command(d.arena.binary, "--config", d.confDir(), d.kind)
	d.cmd.Stdout, d.cmd.Stderr = out, out
	d.cmd.Dir = d.dir()
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	d.arena.must(d.cmd.Start())
	d.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		d.exit = cmd.Wait()
		close(ended)
	}(d.cmd, d.ended)
}

// up waits until the daemon's web port answers.
func (d *daemon) up() error {
	port, page := webPort, "/ws/v1/cluster/info"
	if d.kind == "nodemanager" {
		port, page = nodeWebPort, "/ws/v1/node/info"
	}
	get := http.Client{Timeout: time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var err error
	up := d.arena.until(started, func() bool {
		if !d.running() {
			return true
		}
		var r *http.Response
		if r, err = get.Get("http://" + d.address[port] + page); err == nil {
			r.Body.Close()
		}
		return err == nil
	})
	switch {
	case !d.running():
		return fmt.Errorf("the %s ended at its start: %w", d.kind, errors.Join(errors.New("see its log"), d.exit))
	case !up:
		return fmt.Errorf("the %s does not serve after %v: %w", d.kind, started, err)
	}
	return nil
}

func (d *daemon) running() bool {
	if d.ended == nil {
		return false
	}
	select {
	case <-d.ended:
		return false
	default:
		return true
	}
}

// kill ends the process at once, as a power failure would. stop asks it to end.
func (d *daemon) kill() { d.end(syscall.SIGKILL) }
func (d *daemon) stop() { d.end(syscall.SIGTERM) }

func (d *daemon) end(s syscall.Signal) {
	if !d.running() {
		return
	}
	d.cmd.Process.Signal(s)
	select {
	case <-d.ended:
	case <-time.After(30 * time.Second):
		d.cmd.Process.Kill()
		<-d.ended
	}
}

// resident and peak are the resident memory of the process now and at its most, in MB.
func (d *daemon) resident() float64 { return d.memory("VmRSS:") }
func (d *daemon) peak() float64     { return d.memory("VmHWM:") }

func (d *daemon) memory(field string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

// forgetPeak makes the resident memory of now the most so far.
func (d *daemon) forgetPeak() {
	d.arena.must(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", d.cmd.Process.Pid), []byte("5"), 0))
}

// properties is the daemon's configuration as a client reads it.
func (d *daemon) properties() *conf.Properties {
	p, err := conf.Load(conf.Options{Dir: d.confDir()})
	d.arena.must(err)
	return p
}

// client acts for a user; the caller closes it.
func (d *daemon) client(user string) *client.Client {
	c, err := client.New(d.properties(), user, client.Options{})
	d.arena.must(err)
	return c
}

// last is the last n lines of a text.
func last(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// descriptors counts the open files and connections of a daemon.
func descriptors(d *daemon) int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid))
	d.arena.must(err)
	return len(list)
}
