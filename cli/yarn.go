package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/heddle-project/heddle/conf"
)

// Start is what a daemon or simulation begins with.
type Start struct {
	ConfDir   string          // directory of the configuration files
	Files     []string        // further configuration files (-conf)
	Overrides []conf.Override // -D name=value
	Env       func(string) (string, bool)
	Environ   []string               // all of the same
	System    map[string]string      // Java system properties: variables for ${...}
	Local     func(host string) bool // of the ResourceManager; see conf.Options
	LogLevel  string                 // "" for the configuration's
	LogFile   string                 // where to log; "" for standard error
	Args      []string               // after the subcommand and the generic options; of an action, the values of its option
	Stdout    io.Writer
	Stderr    io.Writer
}

// Load reads the configuration that s names.
func (s Start) Load() (*conf.Properties, error) { return s.LoadWith(nil) }

// LoadWith reads further files of the configuration's directory too, those of
// them that are there; what the user names wins over them.
func (s Start) LoadWith(optional []string) (*conf.Properties, error) {
	base, err := conf.Load(conf.Options{Dir: s.ConfDir, Files: optional, Optional: true, Env: s.Env, System: s.System})
	if err != nil {
		return nil, err
	}
	files := make([]string, len(s.Files))
	for i, f := range s.Files { // named from where the user stands, not from the configuration
		abs, err := filepath.Abs(f)
		if err != nil {
			return nil, fmt.Errorf("cannot find the configuration file %s: %w", f, err)
		}
		files[i] = abs
	}
	return conf.Load(conf.Options{Dir: s.ConfDir, Base: base, Files: files, Overrides: s.Overrides, Env: s.Env, System: s.System, Local: s.Local})
}

// Daemon runs until ctx ends or it cannot go on. An error of type Exit is an
// exit code without a message.
type Daemon func(ctx context.Context, s Start) error

// Daemons are the parts of the program that this package does not know. A nil
// one answers that it is not built.
type Daemons struct {
	ResourceManager Daemon
	NodeManager     Daemon
	LogServer       Daemon
	Minicluster     Daemon
	Simulation      Daemon // Args begin with "replay", "rerun" or "compare"
	// Actions are what the options of daemons' own do in place of running them, by command and option: "resourcemanager -help".
	Actions map[string]Daemon
}

// Env is what commands know of the process that they run in.
type Env struct {
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	LookupEnv func(string) (string, bool)
	Environ   func() []string
	User      string         // of the process, unless HADOOP_USER_NAME names another
	Zone      *time.Location // in which times are printed
	Now       func() time.Time
	Root      bool   // the process may become another user
	Program   string // path of this executable, as it was called
	Daemons   Daemons
	// MustLive is how long a daemon in the background must survive to count as
	// started; a second if zero.
	MustLive time.Duration
	// Replace turns the process into another program and returns only on failure.
	Replace func(path string, argv, environ []string) error
	// Terminal is how many columns the terminal has that Stdout is; ok is false if it is none. Nil: it is none.
	Terminal func() (columns int, ok bool)
	// Keyboard has each key of the terminal that Stdin is come at once and unseen, until restore is called. Nil: Stdin is no terminal.
	Keyboard func() (restore func(), err error)
	// Rows are those of the terminal that Stdout is.
	Rows func() int

	screen, errScreen io.Writer // Stdout and Stderr, for what controls the terminal; never for words of others
}

func (e *Env) terminal() (columns int, ok bool) {
	if e.Terminal == nil {
		return 0, false
	}
	return e.Terminal()
}

// Main runs the yarn command with the process's arguments and returns its exit code.
func Main(d Daemons) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e := &Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Environ: os.Environ,
		User: processUser(), Zone: time.Local, Now: time.Now, Root: os.Geteuid() == 0, Program: program(), Daemons: d, Replace: syscall.Exec,
		Terminal: func() (int, bool) { return columnsOf(os.Stdout) },
		Rows:     func() int { _, rows, _ := term.GetSize(int(os.Stdout.Fd())); return rows }}
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		e.Keyboard = func() (func(), error) {
			before, err := term.MakeRaw(in)
			return func() { _ = term.Restore(in, before) }, err
		}
	}
	return e.Run(ctx, os.Args[1:])
}

// columnsOf are the columns of the terminal that a file is.
func columnsOf(f *os.File) (columns int, ok bool) {
	columns, _, err := term.GetSize(int(f.Fd()))
	if columns <= 0 {
		columns = 80 // it does not know
	}
	return columns, err == nil
}

// program is the path of this executable: the one that was called, which may be a link in an installation of Hadoop, if that can be told. If the
// directory above it has no configuration, as with a link in /usr/bin, the first that the links lead to and that has one is taken.
func program() string {
	self, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	called, err := exec.LookPath(os.Args[0])
	if err == nil {
		called, err = filepath.Abs(called)
	}
	if err != nil {
		return self
	}
	a, err := os.Stat(self)
	if err != nil {
		return called
	}
	if b, err := os.Stat(called); err != nil || !os.SameFile(a, b) {
		return self
	}
	return installed(called)
}

// maxLinks bounds the links that are followed from one to the next.
const maxLinks = 20

// installed is the first of a path and those that its links lead to with a configuration in the directory above its own; the path itself if none has one.
func installed(path string) string {
	for at, left := path, maxLinks; left > 0; left-- {
		home := filepath.Dir(filepath.Dir(at))
		for _, conf := range []string{"etc/hadoop", "conf/hadoop-env.sh"} {
			if _, err := os.Stat(filepath.Join(home, conf)); err == nil {
				return at
			}
		}
		to, err := os.Readlink(at)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		at = to
	}
	return path
}

func processUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

// Run runs one command line, without the program's name, and returns the exit code.
func (e *Env) Run(ctx context.Context, args []string) int {
	g, rest, err := parseGlobal(args)
	if err != nil {
		fmt.Fprintf(e.Stderr, "ERROR: %v\n", err)
		e.list(e.Stderr)
		return 1
	}
	if g.help || len(rest) == 0 {
		e.list(e.Stdout)
		if g.help {
			return 0
		}
		return 1
	}
	k := lookUp(rest[0])
	c := &call{Env: e, ctx: ctx, global: g, command: k}
	if k == nil && (g.daemon != "" || !strings.Contains(rest[0], ".")) {
		fmt.Fprintf(e.Stderr, "ERROR: %s is not a subcommand\n", rest[0])
		c.list(e.Stderr)
		return 1
	}
	if g.daemon != "" && (k.kind != daemonCommand || k.name == "sim") && k.group != groupDaemon {
		fmt.Fprintf(e.Stderr, "ERROR: %s is not a daemon; --daemon %s does not apply\n", k.name, g.daemon)
		return 1
	}
	c.surround()
	if k != nil {
		if code, done := c.as(args); done {
			return code
		}
	}
	if g.workers {
		return c.report(c.onWorkers(args, rest))
	}
	if k == nil {
		return c.java(rest[0], rest[1:])
	}
	switch k.kind {
	case daemonCommand:
		return c.daemon(rest[1:])
	case javaCommand:
		return c.java(k.name, rest[1:])
	case missing:
		if helps(rest[1:]) {
			fmt.Fprintf(e.Stdout, "yarn %s: %s. It is not built yet in this version.\n", k.name, k.summary)
			return 0
		}
		fmt.Fprintf(e.Stderr, "yarn %s: not built yet in this version; %s\n", k.name, cmp.Or(k.why, "use Hadoop's own command for it"))
		return 1
	}
	return c.start(rest[1:])
}

// global are the options before the subcommand.
type global struct {
	config   string
	logLevel string
	daemon   string // start, stop, status or ""
	workers  bool   // run the command on other hosts
	hosts    string // the file of their names
	names    string // their names
	again    bool   // this is the command line of root, run anew as another user
	help     bool
}

// parseGlobal cuts the options before the subcommand off args.
func parseGlobal(args []string) (g global, rest []string, err error) {
	for len(args) > 0 && (strings.HasPrefix(args[0], "-") || args[0] == "help" || args[0] == "?") {
		word := args[0]
		name := "--" + strings.TrimLeft(word, "-")
		args = args[1:]
		switch name {
		case "--help", "--h", "--?": // compat: also without dashes
			g.help = true
			continue
		case "--debug":
			g.logLevel = "DEBUG"
			continue
		case "--buildpaths":
			continue
		case "--workers":
			g.workers = true
			continue
		case "--reexec":
			g.again = true
			continue
		case "--config", "--loglevel", "--daemon", "--hosts", "--hostnames":
		default:
			return g, nil, fmt.Errorf("%s: unknown option", word)
		}
		if len(args) == 0 {
			return g, nil, fmt.Errorf("%s needs a value", word)
		}
		switch name {
		case "--config":
			g.config = args[0]
		case "--loglevel":
			g.logLevel = args[0]
		case "--hosts":
			g.hosts = args[0]
		case "--hostnames":
			g.names = args[0]
		case "--daemon":
			g.daemon = strings.ToLower(args[0])
			if !slices.Contains([]string{"start", "stop", "status"}, g.daemon) {
				return g, nil, fmt.Errorf("--daemon %s: must be start, stop or status", args[0])
			}
		}
		args = args[1:]
	}
	return g, args, nil
}

// list prints what the program can do.
func (e *Env) list(w io.Writer) {
	fmt.Fprint(w, "Usage: yarn [OPTIONS] SUBCOMMAND [SUBCOMMAND OPTIONS]\n"+
		" or    yarn [OPTIONS] CLASSNAME [CLASSNAME OPTIONS]\n\n  OPTIONS:\n\n"+
		"--config dir                      directory of the configuration files\n"+
		"--daemon (start|status|stop)      run a daemon in the background, ask about it, end it\n"+
		"--debug                           same as --loglevel DEBUG\n"+
		"--help                            this text\n"+
		"--hostnames list[,of,host,names]  with --workers: the hosts\n"+
		"--hosts filename                  with --workers: a file of hosts, in place of workers in the configuration\n"+
		"--loglevel level                  log level of this command or daemon\n"+
		"--workers                         run the command on all hosts by ssh\n"+
		"\n  SUBCOMMAND is one of:\n\n")
	for _, group := range []string{groupAdmin, groupClient, groupDaemon} {
		fmt.Fprintf(w, "\n    %s\n\n", group)
		var rows []string
		for _, k := range table() {
			if k.group == group && !k.hidden {
				rows = append(rows, k.row())
			}
		}
		slices.Sort(rows)
		fmt.Fprint(w, strings.Join(rows, ""))
	}
	fmt.Fprint(w, "\nSUBCOMMAND may print help when invoked without options or with -help.\n")
}

func (k *command) row() string {
	name := k.name
	if k.alias != "" {
		name = k.alias + "|" + k.name
	}
	summary := k.summary
	if k.kind == missing {
		summary += " (not built yet)"
	}
	return fmt.Sprintf("%-24s %s\n", name, summary)
}
