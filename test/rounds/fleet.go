package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/yarn"
)

// fleet is the ResourceManagers of the cluster.
type fleet struct {
	conf, binary, logs string
	members            []*member
	http               http.Client
}

// member is one of them, in the run that it has now.
type member struct {
	id, web string // id is "" if there is only one
	runs    int
	cmd     *exec.Cmd
	ended   chan struct{}
}

func newFleet(dir, binary string, ids []string, props *conf.Properties) *fleet {
	f := &fleet{conf: dir, binary: binary, logs: filepath.Join(filepath.Dir(filepath.Clean(dir)), "logs"), http: http.Client{Timeout: 2 * time.Second}}
	for _, id := range ids {
		property := "yarn.resourcemanager.webapp.address"
		if id != "" {
			property += "." + id
		}
		f.members = append(f.members, &member{id: id, web: props.Get(property)})
	}
	return f
}

// name is for people, and for logs.
func (m *member) name() string {
	if m.id == "" {
		return "rm"
	}
	return m.id
}

func (m *member) log(dir string, run int) string {
	return filepath.Join(dir, fmt.Sprintf("%s.%d.log", m.name(), run))
}

func (f *fleet) start() error {
	for _, m := range f.members {
		if err := f.run(m); err != nil {
			return err
		}
	}
	return nil
}

// run starts one, which logs to a file of this run.
func (f *fleet) run(m *member) error {
	m.runs++
	out, err := os.Create(m.log(f.logs, m.runs))
	if err != nil {
		return err
	}
	defer out.Close()
	args := []string{"--config", f.conf, "resourcemanager"}
	if m.id != "" {
		args = append(args, "-D", "yarn.resourcemanager.ha.id="+m.id)
	}
	m.cmd, m.ended = exec.Command(f.binary, args...), make(chan struct{})
	m.cmd.Stdout, m.cmd.Stderr = out, out
	m.cmd.Env = append(os.Environ(), "YARN_RESOURCEMANAGER_OPTS=-Drm.audit.containers=true")
	if err := m.cmd.Start(); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(m.cmd, m.ended)
	return nil
}

// stop ends all of them.
func (f *fleet) stop() {
	for _, m := range f.members {
		if m.cmd != nil {
			_ = m.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	for _, m := range f.members {
		if m.cmd == nil {
			continue
		}
		select {
		case <-m.ended:
		case <-time.After(10 * time.Second):
			_ = m.cmd.Process.Kill()
			<-m.ended
		}
		m.cmd = nil
	}
}

func (f *fleet) kill(name string) error {
	for _, m := range f.members {
		if m.name() != name {
			continue
		}
		if err := m.cmd.Process.Kill(); err != nil {
			return err
		}
		<-m.ended
		return nil
	}
	return errNotRunning
}

// after starts the one that was killed, and waits for an active one. Of several it must be another one.
func (f *fleet) after(ctx context.Context, killed string) (string, error) {
	i := slices.IndexFunc(f.members, func(m *member) bool { return m.name() == killed })
	if len(f.members) == 1 {
		if err := f.run(f.members[i]); err != nil {
			return "", err
		}
		return f.active(ctx, "")
	}
	next, err := f.active(ctx, killed)
	if err != nil {
		return "", err
	}
	return next, f.run(f.members[i])
}

// active waits for an active one that is not called so, and is its name.
func (f *fleet) active(ctx context.Context, not string) (name string, err error) {
	err = waitFor(ctx, patience, "an active ResourceManager", func() bool {
		for _, m := range f.members {
			if m.name() != not && f.isActive(m) {
				name = m.name()
				return true
			}
		}
		return false
	})
	return name, err
}

func (f *fleet) isActive(m *member) bool {
	r, err := f.http.Get("http://" + m.web + "/isActive")
	if err != nil {
		return false
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, 1000))
	return err == nil && r.StatusCode == http.StatusOK && strings.TrimSpace(string(b)) == "I am Active!"
}

// granted is what one run has granted in one epoch, by its own log.
type granted struct {
	log         string
	first, last time.Time
	count       int
}

const auditTime = "2006-01-02 15:04:05,000-0700"

// grants reads the audit lines of all runs, and tells how many grants they have. No container may be there twice, no epoch in two
// runs, and no grant after the first of a later epoch. received are the containers that masters got; each must be from an epoch of
// the logs.
func (f *fleet) grants(received []yarn.ContainerID) (string, error) {
	epochs, seen := map[int64]*granted{}, map[yarn.ContainerID]string{}
	total := 0
	for _, m := range f.members {
		for run := 1; run <= m.runs; run++ {
			n, err := readGrants(m.log(f.logs, run), epochs, seen)
			if err != nil {
				return "", err
			}
			total += n
		}
	}
	var order []int64
	for e := range epochs {
		order = append(order, e)
	}
	slices.Sort(order)
	for i := 1; i < len(order); i++ {
		if a, b := epochs[order[i-1]], epochs[order[i]]; a.last.After(b.first) {
			return "", fmt.Errorf("%s granted in epoch %d at %s, after %s had granted in epoch %d at %s", a.log, order[i-1], a.last.Format(auditTime), b.log, order[i], b.first.Format(auditTime))
		}
	}
	for _, id := range received {
		if epochs[epochOf(id)] == nil {
			return "", fmt.Errorf("a master got %s, and no log has a grant of its epoch", id)
		}
	}
	if len(order) < 2 {
		return "", fmt.Errorf("the logs have %d grants in %d epochs: nothing to compare", total, len(order))
	}
	return fmt.Sprintf("%d grants in %d epochs, of which none has two ResourceManagers, and none reaches into the next; masters received %d containers of them, each once", total, len(order), len(received)), nil
}

// epochBits are those of a container's number below its epoch.
const epochBits = 40

func epochOf(id yarn.ContainerID) int64 { return id.Number >> epochBits }

func readGrants(path string, epochs map[int64]*granted, seen map[yarn.ContainerID]string) (n int, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, false)
		if atEOF && n == 0 {
			n = len(data) // the kill has cut it off
		}
		return n, line, err
	})
	for lines.Scan() {
		line := lines.Text()
		if !strings.Contains(line, "\tOPERATION=AM Allocated Container\t") {
			continue
		}
		_, text, _ := strings.Cut(line, "\tCONTAINERID=")
		text, _, _ = strings.Cut(text, "\t")
		id, err := yarn.ParseContainerID(text)
		if err != nil {
			return n, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		at, err := time.Parse(auditTime, line[:min(len(line), len(auditTime))])
		if err != nil {
			return n, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		if other, twice := seen[id]; twice {
			return n, fmt.Errorf("%s was granted twice: %s and %s", id, other, path)
		}
		seen[id] = path
		g := epochs[epochOf(id)]
		if g == nil {
			g = &granted{log: path, first: at}
			epochs[epochOf(id)] = g
		}
		if g.log != path {
			return n, fmt.Errorf("two granted in epoch %d: %s and %s", epochOf(id), g.log, path)
		}
		g.last = at
		g.count++
		n++
	}
	return n, lines.Err()
}
