package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/internal/descriptors"
)

// Exit codes of --daemon status, as the Linux Standard Base has them.
const (
	statusRunning Exit = 0
	statusDead    Exit = 1 // a pid file without its process
	statusStopped Exit = 3
	statusUnknown Exit = 4 // the pid file cannot be read
)

// defaultStopTimeout is how many seconds a daemon has to end.
const defaultStopTimeout = 5

// logFileVariable tells a daemon in the background where to log.
const logFileVariable = "HEDDLE_DAEMON_LOG"

// daemon runs a daemon in the foreground, or does what --daemon or an option of its own says.
func (c *call) daemon(args []string) int {
	d, ok := c.function()
	if !ok {
		fmt.Fprintf(c.Stderr, "yarn %s: not built yet in this version\n", c.command.name)
		return 1
	}
	g, rest, err := genericOptions(args)
	if err != nil {
		return c.report(err)
	}
	if !c.command.raw {
		if helps(rest) {
			c.command.explain(c.Stdout)
			return 0
		}
		if d, rest, err = c.action(d, rest); err != nil {
			return c.report(err)
		}
	}
	switch c.global.daemon {
	case "start":
		return c.report(c.startDaemon(args))
	case "stop":
		return c.report(c.stopDaemon())
	case "status":
		return int(c.statusOf())
	}
	return c.foreground(d, g, rest)
}

func (c *call) function() (Daemon, bool) {
	d := map[string]Daemon{"resourcemanager": c.Daemons.ResourceManager, "nodemanager": c.Daemons.NodeManager, "logserver": c.Daemons.LogServer,
		"minicluster": c.Daemons.Minicluster, "sim": c.Daemons.Simulation}[c.command.name]
	return d, d != nil
}

func (c *call) foreground(d Daemon, g genericValues, rest []string) int {
	s, err := c.begin(g)
	if err != nil {
		return c.report(err)
	}
	if !c.command.bare {
		c.warnOfJava()
	}
	s.Args, s.LogFile = rest, c.Getenv(logFileVariable)
	err = d(c.ctx, s)
	if errors.Is(err, context.Canceled) && c.ctx.Err() != nil {
		return 0 // asked to stop
	}
	return c.report(err)
}

// files are the paths of a daemon in the background.
type files struct{ pid, out, log string }

func (c *call) files() files {
	name := "hadoop-" + c.Getenv("HADOOP_IDENT_STRING") + "-" + c.command.name
	logs := filepath.Join(c.Getenv("HADOOP_LOG_DIR"), name+"-"+c.Getenv("HOSTNAME"))
	return files{filepath.Join(c.Getenv("HADOOP_PID_DIR"), name+".pid"), logs + ".out", logs + ".log"}
}

// errNoPID: the pid file holds something other than a process id.
var errNoPID = errors.New("not a process id")

// readPID returns the process that a pid file names, or 0 if the file is empty or not there.
func readPID(path string) (int, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read the pid file: %w (HADOOP_PID_DIR)", err)
	}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		return 0, nil
	}
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("pid file %s holds %.20q, %w", path, raw, errNoPID)
	}
	return pid, nil
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil && err != syscall.EPERM {
		return false
	}
	state := stat(pid)
	return len(state) == 0 || state[0] != "Z"
}

// stat returns the fields of /proc/PID/stat from the third, the state, on; none if they cannot be read.
func stat(pid int) []string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:])) // the second is the program's name in parentheses
}

// runs reports whether pid is this daemon, Heddle's or Apache's (their pid files have the same names). A pid may have been reused, even by the
// process that asks. A process whose command line cannot be read counts as the daemon.
func (c *call) runs(pid int) bool {
	if pid == 0 || pid == os.Getpid() || !alive(pid) {
		return false
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return true
	}
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // another user's cannot be read
	return c.isDaemon(cmdline, exe, stat(pid))
}

// isDaemon reports whether a command line, as /proc has it, is that of this daemon. It is empty while a process begins or exits, which may be the
// daemon, and for threads of the kernel.
func (c *call) isDaemon(cmdline []byte, exe string, state []string) bool {
	if len(cmdline) == 0 {
		return !ofKernel(state)
	}
	words := strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
	if slices.Contains(words, "-Dproc_"+c.command.name) { // what Apache's scripts go by
		return true
	}
	own := []string{"yarn", filepath.Base(c.Program)}
	if !slices.Contains(own, filepath.Base(words[0])) && !slices.Contains(own, filepath.Base(strings.TrimSuffix(exe, " (deleted)"))) {
		return false
	}
	g, rest, err := parseGlobal(words[1:])
	return err == nil && g.daemon == "" && len(rest) > 0 && rest[0] == c.command.name
}

// ofKernel reports whether the fields of stat are those of a thread of the kernel.
func ofKernel(state []string) bool {
	const flags, thread = 6, 0x00200000 // PF_KTHREAD of Linux
	if len(state) <= flags {
		return false
	}
	n, err := strconv.ParseUint(state[flags], 10, 64)
	return err == nil && n&thread != 0
}

func (c *call) statusOf() Exit {
	path := c.files().pid
	pid, err := readPID(path)
	if err != nil {
		fmt.Fprintf(c.Stderr, "WARNING: %v\n", err)
		if !errors.Is(err, errNoPID) {
			fmt.Fprintf(c.Stdout, "The status of %s is unknown.\n", c.command.name)
			return statusUnknown
		}
	}
	if c.runs(pid) {
		fmt.Fprintf(c.Stdout, "%s is running as process %d.\n", c.command.name, pid)
		return statusRunning
	}
	fmt.Fprintf(c.Stdout, "%s is stopped.\n", c.command.name)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return statusStopped
	}
	return statusDead
}

// startDaemon starts this program again without --daemon, in a session of its
// own, and returns once it has survived for MustLive.
func (c *call) startDaemon(args []string) error {
	f := c.files()
	pid, err := readPID(f.pid)
	if errors.Is(err, errNoPID) {
		fmt.Fprintf(c.Stderr, "WARNING: %v; overwriting it\n", err)
	} else if err != nil {
		return err
	}
	if c.runs(pid) {
		fmt.Fprintf(c.Stderr, "%s is running as process %d.  Stop it first and ensure %s file is empty before retry.\n", c.command.name, pid, f.pid)
		return Exit(1)
	}
	if _, err := c.begin(genericValues{}); err != nil { // a bad directory is better said here than in a file
		return err
	}
	cmd, out, err := c.background(f, args)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := descriptors.CloseOnExec(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", c.Program, err)
	}
	c.renice(cmd.Process.Pid)
	if err := os.WriteFile(f.pid, []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o644); err != nil {
		return errors.Join(fmt.Errorf("cannot write the pid file, so the daemon is stopped again: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return c.survives(cmd, f)
}

func (c *call) background(f files, args []string) (*exec.Cmd, *os.File, error) {
	for _, d := range []struct{ dir, variable string }{{filepath.Dir(f.pid), "HADOOP_PID_DIR"}, {filepath.Dir(f.out), "HADOOP_LOG_DIR"}} {
		if _, err := os.Stat(d.dir); errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(c.Stderr, "WARNING: %s does not exist. Creating.\n", d.dir)
		}
		if err := os.MkdirAll(d.dir, 0o755); err != nil {
			return nil, nil, fmt.Errorf("cannot create %s (%s): %w", d.dir, d.variable, err)
		}
	}
	rotate(f.out)
	out, err := os.OpenFile(f.out, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the daemon's output file (HADOOP_LOG_DIR): %w", err)
	}
	var words []string
	if c.global.config != "" {
		words = append(words, "--config", c.global.config)
	}
	if c.global.logLevel != "" {
		words = append(words, "--loglevel", c.global.logLevel)
	}
	cmd := exec.Command(c.Program, append(append(words, c.command.name), args...)...)
	cmd.Env = append(c.around.outer.Environ(), logFileVariable+"="+f.log)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, out, nil
}

// survives waits for MustLive, or the daemon's end.
func (c *call) survives(cmd *exec.Cmd, f files) error {
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	select {
	case <-ended:
		if err := os.Remove(f.pid); err != nil {
			fmt.Fprintf(c.Stderr, "WARNING: cannot remove the pid file: %v\n", err)
		}
		fmt.Fprintf(c.Stderr, "ERROR: %s ended at once (%v); see %s\n", c.command.name, cmd.ProcessState, f.out)
		return Exit(1)
	case <-time.After(cmp.Or(c.MustLive, time.Second)):
		return nil
	}
}

// renice applies HADOOP_NICENESS.
func (c *call) renice(pid int) {
	set := cmp.Or(c.Getenv("HADOOP_NICENESS"), "0")
	n, err := strconv.Atoi(set)
	if err != nil {
		err = errors.New("not a whole number")
	} else if n != 0 {
		err = syscall.Setpriority(syscall.PRIO_PROCESS, pid, n)
	}
	if err != nil {
		fmt.Fprintf(c.Stderr, "WARNING: HADOOP_NICENESS=%s cannot be applied: %v\n", set, err)
	}
}

// keptLogs is how many older .out files are kept.
const keptLogs = 5

// rotate moves older logs on to make room for a new one. A log that cannot be
// moved is appended to.
func rotate(path string) {
	for i := keptLogs - 1; i >= 1; i-- {
		_ = os.Rename(path+"."+strconv.Itoa(i), path+"."+strconv.Itoa(i+1))
	}
	_ = os.Rename(path, path+".1")
}

// stopDaemon asks a daemon to end and, after HADOOP_STOP_TIMEOUT seconds, kills it.
func (c *call) stopDaemon() error {
	f := c.files()
	pid, err := readPID(f.pid)
	if errors.Is(err, errNoPID) {
		return fmt.Errorf("%w: remove it, and stop the daemon by hand if it runs", err)
	}
	if err != nil || pid == 0 {
		return err // compat: nothing to stop is no failure
	}
	seconds := c.stopTimeout()
	if c.runs(pid) {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("stopping process %d: %w", pid, err)
		}
		patience := time.Duration(seconds) * time.Second
		if !gone(pid, patience) {
			fmt.Fprintf(c.Stderr, "WARNING: %s did not stop gracefully after %d seconds: Trying to kill with kill -9\n", c.command.name, seconds)
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if !gone(pid, patience) {
			fmt.Fprintf(c.Stderr, "ERROR: Unable to kill %d\n", pid)
			return Exit(1)
		}
	} else if alive(pid) {
		fmt.Fprintf(c.Stderr, "WARNING: process %d, which %s names, is not a %s; leaving it alone and removing the file\n", pid, f.pid, c.command.name)
	}
	if now, _ := readPID(f.pid); now != pid { // unreadable is as good as another's
		fmt.Fprintf(c.Stderr, "WARNING: pid has changed for %s, skip deleting pid file\n", c.command.name)
		return nil
	}
	return os.Remove(f.pid)
}

// stopTimeout is HADOOP_STOP_TIMEOUT in whole seconds, at least 1.
func (c *call) stopTimeout() int {
	set := c.Getenv("HADOOP_STOP_TIMEOUT")
	n, err := strconv.ParseFloat(set, 64)
	if err != nil || n < 0 || n > math.MaxInt32 || math.IsNaN(n) {
		fmt.Fprintf(c.Stderr, "WARNING: HADOOP_STOP_TIMEOUT=%s is not a number of seconds; using %d\n", set, defaultStopTimeout)
		return defaultStopTimeout
	}
	return max(1, int(math.RoundToEven(n)))
}

// gone waits for a process to end.
func gone(pid int, patience time.Duration) bool {
	for end := time.Now().Add(patience); alive(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
