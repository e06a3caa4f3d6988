package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/internal/freeport"
)

const (
	patience = 90 * time.Second       // for one command, repetitions included
	pause    = 500 * time.Millisecond // before it is repeated
)

// stage is where commands run: a directory that stands for the machine.
type stage struct {
	dir     string
	replace map[string]string // what README says, and what is meant here
	app     *regexp.Regexp
	beside  []*beside
}

// beside is a command that runs while others do.
type beside struct {
	until string
	cmd   *exec.Cmd
	out   *output
	done  chan struct{} // closed once it has ended
}

const appInReadme = "application_1700000000000_0001"

// Ports that deploy/conf leaves at their defaults or sets; here each is a free one.
var ports = []string{"yarn.resourcemanager.webapp.address", "yarn.resourcemanager.address", "yarn.resourcemanager.scheduler.address",
	"yarn.resourcemanager.resource-tracker.address", "yarn.resourcemanager.admin.address", "yarn.nodemanager.address",
	"yarn.nodemanager.localizer.address", "yarn.nodemanager.webapp.address"}

// newStage copies deploy/conf. Its directories of the system become directories of the stage, its ports free ones.
func newStage() (*stage, error) {
	dir, err := os.MkdirTemp("", "heddle-readme-")
	if err != nil {
		return nil, err
	}
	s := &stage{dir: dir, app: regexp.MustCompile(`application_\d+_\d+ is submitted`)}
	s.replace = map[string]string{"/etc/hadoop/conf": filepath.Join(dir, "conf"), "/tmp/first": filepath.Join(dir, "first"), "/tmp/replayed": filepath.Join(dir, "replayed")}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "conf"), 0o755), s.configure()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *stage) configure() error {
	own := map[string]string{"mapreduce.shuffle.port": "0", "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5"}
	free, err := freeport.Loopback(len(ports))
	if err != nil {
		return err
	}
	for i, name := range ports {
		own[name] = "localhost:" + strconv.Itoa(free[i])
	}
	s.replace["localhost:8088"] = own["yarn.resourcemanager.webapp.address"]
	var properties strings.Builder
	for name, value := range own {
		fmt.Fprintf(&properties, "<property><name>%s</name><value>%s</value></property>\n", name, value)
	}
	files, err := os.ReadDir("deploy/conf")
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join("deploy/conf", f.Name()))
		if err != nil {
			return err
		}
		text := string(b)
		for _, place := range []string{"/var/lib/hadoop-yarn", "/var/log/hadoop-yarn", "/run/hadoop-yarn"} {
			text = strings.ReplaceAll(text, place, s.dir+place)
		}
		if f.Name() == "yarn-site.xml" || f.Name() == "mapred-site.xml" {
			for name := range own {
				text = property(name).ReplaceAllString(text, "")
			}
			text = strings.Replace(text, "</configuration>", properties.String()+"</configuration>", 1)
		}
		if err := os.WriteFile(filepath.Join(s.dir, "conf", f.Name()), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// meant is a command with everything replaced.
func (s *stage) meant(text string) string {
	for from, to := range s.replace {
		text = strings.ReplaceAll(text, from, to)
	}
	return text
}

// run runs a command until it has done what its way says, and then ends those that run beside until this one.
func (s *stage) run(text string, w way) error {
	err := s.do(text, w)
	var still []*beside
	for _, b := range s.beside {
		if b.until != text {
			still = append(still, b)
			continue
		}
		err = errors.Join(err, b.end())
	}
	s.beside = still
	return err
}

// end interrupts it, as Ctrl-C does.
func (b *beside) end() error {
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGINT) // one that has ended by itself is no error
	select {
	case <-b.done:
		return nil
	case <-time.After(patience / 3):
		_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
		return fmt.Errorf("%s does not end when it is interrupted; it printed:\n%s", b.cmd.Args[len(b.cmd.Args)-1], b.out)
	}
}

// start runs a command beside the next ones, once it has printed what it should.
func (s *stage) start(text string, w way) error {
	wanted, err := regexp.Compile(w.prints)
	if err != nil {
		return err
	}
	b := &beside{until: w.until, out: &output{}, done: make(chan struct{})}
	b.cmd = exec.Command("bash", "-c", strings.TrimSuffix(s.meant(text), " &"))
	b.cmd.Env, b.cmd.Stdout, b.cmd.Stderr = s.environment(), b.out, b.out
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := b.cmd.Start(); err != nil {
		return err
	}
	go func() { _ = b.cmd.Wait(); close(b.done) }()
	s.beside = append(s.beside, b)
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if wanted.MatchString(b.out.String()) {
			s.note(b.out.String())
			return nil
		}
		select {
		case <-b.done:
			return fmt.Errorf("it has ended: %s", b.out)
		default:
		}
	}
	return fmt.Errorf("not what it should print\n  it was run as: %s\n  it should print: %s\n  it printed:\n%s", s.meant(text), w.prints, b.out)
}

// note remembers the id of the application that was submitted last.
func (s *stage) note(out string) {
	if m := s.app.FindString(out); m != "" {
		s.replace[appInReadme] = strings.Fields(m)[0]
	}
}

func (s *stage) do(text string, w way) error {
	if w.instead != "" {
		text = w.instead
	}
	if w.until != "" {
		return s.start(text, w)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	wanted, err := regexp.Compile(w.prints)
	if err != nil {
		return err
	}
	for {
		out, err := s.once(ctx, s.meant(text), w, wanted)
		s.note(out)
		if err == nil && wanted.MatchString(out) {
			return nil
		}
		if w.again && ctx.Err() == nil {
			time.Sleep(pause)
			continue
		}
		if err == nil {
			err = errors.New("not what it should print")
		}
		return fmt.Errorf("%w\n  it was run as: %s\n  it should print: %s\n  it printed:\n%s", err, s.meant(text), w.prints, out)
	}
}

// once runs a command line by the shell, from the repository's root.
func (s *stage) once(ctx context.Context, line string, w way, wanted *regexp.Regexp) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Env = s.environment()
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return "", err
	}
	if w.stays {
		for !wanted.MatchString(out.String()) && ctx.Err() == nil && alive(cmd.Process.Pid) {
			time.Sleep(20 * time.Millisecond)
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // one that has ended by itself shows in Wait
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		err = fmt.Errorf("not done within %v", patience)
	}
	return out.String(), err
}

// environment is this process's, without what would lead commands to another Hadoop; what is temporary is below the stage.
func (s *stage) environment() []string {
	var out []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "HADOOP_") && !strings.HasPrefix(e, "YARN_") && !strings.HasPrefix(e, "TMPDIR=") {
			out = append(out, e)
		}
	}
	return append(out, "TMPDIR="+s.dir)
}

// warnings are lines of the daemons' logs that a configuration as it should be does not cause. That the stage itself is a
// temporary directory is no fault of the configuration.
func (s *stage) warnings() error {
	logs, err := filepath.Glob(filepath.Join(s.dir, "var/log/hadoop-yarn", "hadoop-*.log"))
	if err == nil && len(logs) != 2 {
		err = fmt.Errorf("there are %d logs in %s, not one of each daemon", len(logs), s.dir)
	}
	for _, name := range logs {
		b, readErr := os.ReadFile(name)
		err = errors.Join(err, readErr)
		for line := range strings.Lines(string(b)) {
			ofStage := strings.Contains(line, "lies below a directory of temporary files") && strings.Contains(line, "path="+s.dir)
			if (strings.Contains(line, " WARN ") || strings.Contains(line, " ERROR ")) && !ofStage {
				err = errors.Join(err, errors.New(strings.TrimSpace(line)))
			}
		}
	}
	return err
}

// close ends what still runs, which is an error, and removes the stage; with keep it stays to be looked at.
func (s *stage) close(keep bool) error {
	var problem error
	for _, pid := range s.processes() {
		problem = errors.Join(problem, fmt.Errorf("process %d was still running", pid), syscall.Kill(pid, syscall.SIGKILL))
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "heddle-minicluster-*")); left != nil {
		problem = errors.Join(problem, fmt.Errorf("the minicluster has left %v", left))
	}
	if keep || problem != nil {
		fmt.Printf("%s stays, with the daemons' logs in %s/var/log/hadoop-yarn\n", s.dir, s.dir)
		return problem
	}
	return os.RemoveAll(s.dir)
}

// processes are those that have the stage's directory in their command line.
func (s *stage) processes() []int {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var out []int
	for _, name := range names {
		line, err := os.ReadFile(name)
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && pid != os.Getpid() && bytes.Contains(line, []byte(s.dir)) && alive(pid) {
			out = append(out, pid)
		}
	}
	return out
}

// alive tells whether a process exists and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(after, "Z")
}

// output gathers what a process writes, and can be read meanwhile.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// property matches a property of a configuration file.
func property(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)<property>\s*<name>` + regexp.QuoteMeta(name) + `</name>.*?</property>`)
}
