package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of what --workers does.
const (
	maxParallel = 1000
	maxWorkers  = 1 << 20 // bytes of the file of hosts
	maxLine     = 64 << 10
	patience    = 5 * time.Second // to wait for the output of an ssh that was killed
)

// as tells whether this command runs as the user that YARN_<COMMAND>_USER names. If not, root becomes that user and everybody else is
// refused, as by Hadoop's scripts; code is then the exit code.
func (c *call) as(args []string) (code int, done bool) {
	who := c.Getenv(c.variable("USER"))
	if who == "" || who == c.User {
		return 0, false
	}
	if !c.Root || c.global.again {
		fmt.Fprintf(c.Stderr, "ERROR: %s can only be executed by %s.\n", c.command.name, who)
		return 1, true
	}
	if _, err := user.Lookup(who); err != nil || strings.HasPrefix(who, "-") {
		fmt.Fprintf(c.Stderr, "ERROR: Refusing to run as root: %s account is not found. Aborting.\n", who)
		return 1, true
	}
	su, err := c.executable("su")
	if err == nil { // a login shell takes the first word for a script of its own, hence the line that calls the program
		err = c.Replace(su, append([]string{su, "-l", who, "-c", `exec "$0" "$@"`, "--", c.Program, "--reexec"}, args...), c.Environ())
	}
	fmt.Fprintf(c.Stderr, "ERROR: becoming %s (%s): %v\n", who, c.variable("USER"), err)
	return 1, true
}

// executable finds a program in PATH.
func (c *call) executable(name string) (string, error) {
	for _, dir := range filepath.SplitList(c.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s in PATH", name)
}

// onWorkers runs the command line on every host by ssh, several at a time, and prefixes each line of output with the host's
// name.
func (c *call) onWorkers(args, rest []string) error {
	hosts, err := c.workers()
	if err != nil {
		return err
	}
	ssh, err := c.executable("ssh")
	if err != nil {
		return err
	}
	parallel, err := strconv.Atoi(c.Getenv("HADOOP_SSH_PARALLEL"))
	if err != nil || parallel < 1 || parallel > maxParallel {
		return fmt.Errorf("HADOOP_SSH_PARALLEL=%s: it must be a number from 1 to %d", c.Getenv("HADOOP_SSH_PARALLEL"), maxParallel)
	}
	words := strings.Fields(c.Getenv("HADOOP_SSH_OPTS"))
	there := append([]string{"--", c.Program}, elsewhere(args[:len(args)-len(rest)])...)
	there = append(there, rest...)
	for i := range there[1:] {
		there[i+1] = quote(there[i+1])
	}
	out := &lines{out: c.Stdout}
	var running sync.WaitGroup
	var mu sync.Mutex
	var failed []string
	turns := make(chan struct{}, parallel)
	for _, host := range hosts {
		turns <- struct{}{}
		running.Go(func() {
			defer func() { <-turns }()
			cmd := exec.CommandContext(c.ctx, ssh, append(append(words[:len(words):len(words)], host), there...)...)
			cmd.Env, cmd.WaitDelay = c.Environ(), patience
			if err := out.of(c.ctx, host, cmd); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, fmt.Sprintf("%s (%v)", host, err))
			}
		})
	}
	running.Wait()
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d hosts failed: %s", len(failed), len(hosts), strings.Join(failed, ", "))
	}
	return nil
}

// elsewhere returns the options before the subcommand without those that select hosts.
func elsewhere(words []string) (out []string) {
	for i := 0; i < len(words); i++ {
		switch "--" + strings.TrimLeft(words[i], "-") {
		case "--workers", "--reexec":
		case "--hosts", "--hostnames":
			i++
		case "--config":
			out = append(out, words[i])
			if i++; i < len(words) {
				dir, err := filepath.Abs(words[i])
				if err != nil {
					dir = words[i]
				}
				out = append(out, dir)
			}
		default:
			out = append(out, words[i])
		}
	}
	return out
}

// quote keeps a word together in the shell of another host.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,=@%", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// workers are the hosts that --hostnames, --hosts or the environment name, else those of the file workers.
func (c *call) workers() ([]string, error) {
	names, file := c.Getenv("HADOOP_WORKER_NAMES"), c.Getenv("HADOOP_WORKERS")
	if c.global.names != "" {
		names = c.global.names
	}
	if c.global.hosts != "" {
		file = c.global.hosts
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(c.around.dir, c.global.hosts)
		}
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("cannot find hosts file %q", c.global.hosts)
		}
	}
	if names != "" && file != "" {
		return nil, errors.New("both HADOOP_WORKERS (--hosts) and HADOOP_WORKER_NAMES (--hostnames) were given: leave one out")
	}
	where := "--hostnames"
	if names == "" {
		text, at, err := c.workersFile(file)
		if err != nil {
			return nil, err
		}
		names, where = text, at
	}
	hosts := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	for _, h := range hosts {
		if strings.HasPrefix(h, "-") {
			return nil, fmt.Errorf("%s names the host %q: a name does not begin with a dash", where, h)
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("%s names no hosts", where)
	}
	return hosts, nil
}

// workersFile is the text of the file of hosts without its comments.
func (c *call) workersFile(file string) (text, path string, err error) {
	if path = file; path == "" {
		path = filepath.Join(c.around.dir, "workers")
		old := filepath.Join(c.around.dir, "slaves")
		if _, err := os.Stat(path); err != nil {
			if _, err := os.Stat(old); err == nil {
				fmt.Fprintln(c.Stderr, "WARNING: 'slaves' file has been deprecated. Please use 'workers' file instead.")
				path = old
			}
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", path, fmt.Errorf("--workers has no hosts: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxWorkers+1))
	if err == nil && len(raw) > maxWorkers {
		err = fmt.Errorf("%s has more than %d bytes", path, maxWorkers)
	}
	var b strings.Builder
	for line := range strings.Lines(string(raw)) {
		before, _, _ := strings.Cut(line, "#")
		b.WriteString(before + "\n")
	}
	return b.String(), path, err
}

// lines prints what several programs say, a whole line at a time.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

// of runs a program and prints its lines with a name before each.
func (l *lines) of(ctx context.Context, name string, cmd *exec.Cmd) error {
	w := &named{lines: l, name: name}
	cmd.Stdout, cmd.Stderr = w, w
	err := cmd.Run()
	if len(w.rest) > 0 {
		w.print(w.rest)
	}
	return errors.Join(err, context.Cause(ctx))
}

type named struct {
	*lines
	name string
	rest []byte
}

func (w *named) print(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.out, "%s: %s\n", w.name, line)
}

func (w *named) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found && len(w.rest) < maxLine {
			return len(p), nil
		}
		w.print(line)
		w.rest = rest
	}
}
