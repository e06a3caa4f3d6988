package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

// cluster is a ResourceManager and one NodeManager on which tenants run shell commands: each is the master of an application,
// and registers nowhere, so that the application ends with it.
type cluster struct {
	*arena
	rm, nm *daemon
	jobs   int
}

// cluster starts both; own are settings of the NodeManager. Hundreds of small containers find room.
func (a *arena) cluster(own map[string]string) *cluster {
	c := &cluster{arena: a}
	c.rm = a.resourceManager(properties("yarn.scheduler.minimum-allocation-mb", "16", "yarn.resourcemanager.max-completed-applications", "1000000", "yarn.resourcemanager.nm.liveness-monitor.expiry-interval-ms", "600000",
		"yarn.am.liveness-monitor.expiry-interval-ms", "600000", "yarn.resourcemanager.am.max-attempts", "1000"))
	with := properties("yarn.nodemanager.resource.memory-mb", "65536", "yarn.nodemanager.resource.cpu-vcores", "1000",
		"yarn.nodemanager.disk-health-checker.disk-utilization-threshold.enabled", "false", "fs.defaultFS", "file:///",
		"yarn.nodemanager.delete.debug-delay-sec", "0", "yarn.nodemanager.log.retain-seconds", "1")
	for name, value := range own {
		with[name] = value
	}
	c.nm = a.nodeManager(c.rm, "nm", with)
	a.must(os.MkdirAll(c.path("marks"), 0o755))
	return c
}

func (c *cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.dir}, parts...)...)
}

// job is a command that a tenant has submitted. Its process has begun when the mark, which has its id, is there.
type job struct {
	app  yarn.ApplicationID
	mark string
	at   time.Time
}

// submit has a command run, after it has made its mark.
func (c *cluster) submit(x *client.Client, command string, attempts int32, files map[string]client.File) job {
	c.jobs++
	j, err := c.try(x, strconv.Itoa(c.jobs), command, attempts, files)
	c.must(err)
	return j
}

func (c *cluster) try(x *client.Client, mark, command string, attempts int32, files map[string]client.File) (j job, err error) {
	j.mark, j.at = c.path("marks", mark), time.Now()
	if j.app, _, err = x.NewApplication(c.ctx); err != nil {
		return j, err
	}
	return j, x.Submit(c.ctx, client.Submission{ID: j.app, Name: "attack", Queue: "default", MaxAttempts: attempts, Master: client.Resource{MemoryMB: 16, VCores: 1},
		Launch: client.Launch{Commands: []string{"echo $$ > " + j.mark + ".new; mv " + j.mark + ".new " + j.mark + "; exec /bin/sh -c '" + command + "'"}, Resources: files}})
}

// private is a file below the arena's directory as one user's containers get it.
func (c *cluster) private(path string, kind client.FileType) client.File {
	f, err := private(path, kind)
	c.must(err)
	return f
}

func private(path string, kind client.FileType) (client.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return client.File{}, err
	}
	return client.File{Scheme: "file", Path: path, Size: info.Size(), Timestamp: info.ModTime().UnixMilli(), Type: kind, Visibility: client.Private}, nil
}

// begun tells whether the command runs, or has run.
func (j job) begun() bool {
	_, err := os.Stat(j.mark)
	return err == nil
}

// lives tells whether its process is there.
func (j job) lives() bool {
	text, err := os.ReadFile(j.mark)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && pid > 1 && syscall.Kill(pid, 0) == nil
}

// reap ends what a driver's containers have left, one process after the other.
func (c *cluster) reap(jobs []job) {
	for _, j := range jobs {
		if text, err := os.ReadFile(j.mark); err == nil && j.lives() {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// over is the application's end: whether it is there, and what it says.
func (c *cluster) over(x *client.Client, j job) (bool, string) {
	a, err := x.Application(c.ctx, j.app)
	c.must(err)
	why := ""
	if a.Diagnostics != nil {
		why = *a.Diagnostics
	}
	return a.State == yarn.PublicFailed || a.State == yarn.PublicFinished || a.State == yarn.PublicKilled, why
}

// endAll kills what is not over.
func (c *cluster) endAll(x *client.Client, jobs []job) {
	for _, j := range jobs {
		if over, _ := c.over(x, j); !over {
			c.must(x.KillApplication(c.ctx, j.app, "the attack is over"))
		}
	}
}

// node asks the NodeManager for one of its REST pages.
func (c *cluster) node(page string, into any) error {
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.nm.address[nodeWebPort]+"/ws/v1/node"+page, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", page, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// command runs a program and gives what it has printed.
func command(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return string(out), err
}
