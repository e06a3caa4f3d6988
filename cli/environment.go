package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/cli/envfile"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/jvm"
)

// replaced are the names that variables had before Hadoop 3. The old one wins, with a warning, as in Hadoop's scripts.
var replaced = []struct{ old, now string }{
	{"HADOOP_SLAVES", "HADOOP_WORKERS"}, {"HADOOP_SLAVE_NAMES", "HADOOP_WORKER_NAMES"},
	{"YARN_CONF_DIR", "HADOOP_CONF_DIR"}, {"YARN_LOG_DIR", "HADOOP_LOG_DIR"}, {"YARN_LOGFILE", "HADOOP_LOGFILE"},
	{"YARN_NICENESS", "HADOOP_NICENESS"}, {"YARN_STOP_TIMEOUT", "HADOOP_STOP_TIMEOUT"}, {"YARN_PID_DIR", "HADOOP_PID_DIR"},
	{"YARN_ROOT_LOGGER", "HADOOP_ROOT_LOGGER"}, {"YARN_IDENT_STRING", "HADOOP_IDENT_STRING"}, {"YARN_OPTS", "HADOOP_OPTS"},
	{"YARN_SLAVES", "HADOOP_WORKERS"}, {"YARN_USER_CLASSPATH", "HADOOP_CLASSPATH"}, {"YARN_USER_CLASSPATH_FIRST", "HADOOP_USER_CLASSPATH_FIRST"},
}

// ofCommands are the variables that matter to a command that only calls the cluster.
var ofCommands = []string{"HADOOP_HOME", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_OPTS", "YARN_OPTS", "HADOOP_CLIENT_OPTS", "YARN_CLIENT_OPTS",
	"HADOOP_LOG_DIR", "YARN_LOG_DIR", "HADOOP_USER_NAME", "HADOOP_PROXY_USER"}

// surroundings are the environment of a call, as Hadoop's scripts would have set it for Java.
type surroundings struct {
	*envfile.Vars
	c     *call
	outer *Env // before the scripts
	dir   string
	err   error // why there is no dir
}

// surround reads the scripts of settings and sets what Hadoop's own scripts would set. From then on c.Getenv reads the result.
func (c *call) surround() {
	v := envfile.New(c.LookupEnv)
	s := &surroundings{Vars: v, c: c, outer: c.Env}
	c.around = s
	inner := *c.Env
	inner.LookupEnv = v.Lookup
	inner.Environ = func() []string { return v.Environ(s.outer.Environ()) }
	c.Env = &inner

	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	system := map[string]string{"linux": "Linux", "darwin": "Darwin"}[runtime.GOOS]
	v.Answers = map[string]string{"hostname": host, "uname": system, "uname -s": system, "whoami": c.User, "id -un": c.User, "id -nu": c.User}
	s.renamed("HADOOP_PREFIX", "HADOOP_HOME")
	v.Default("HADOOP_HOME", filepath.Dir(filepath.Dir(c.Program)))
	for name, value := range map[string]string{"HOSTNAME": host, "USER": c.User, "HADOOP_OS_TYPE": system, "HADOOP_OPTS": "-Djava.net.preferIPv4Stack=true",
		"HADOOP_LIBEXEC_DIR": filepath.Join(v.Value("HADOOP_HOME"), "libexec")} {
		v.Default(name, value)
	}
	if c.global.logLevel != "" {
		v.Set("HADOOP_LOGLEVEL", c.global.logLevel)
	}
	alone := c.command != nil && c.command.bare && c.command.name != "envvars" // envvars shows what the scripts make of the environment
	if !alone {
		s.read(filepath.Join(v.Value("HADOOP_LIBEXEC_DIR"), "hadoop-layout.sh"))
	}
	s.find()
	if !alone && v.Value("HADOOP_ENV_PROCESSED") == "" {
		s.read(filepath.Join(s.dir, "hadoop-env.sh"))
	}
	home := v.Value("HOME")
	if !alone && home != "" {
		s.read(filepath.Join(home, ".hadoop-env"))
	}
	s.defaults()
	if !alone && v.Value("HADOOP_YARN_ENV_PROCESSED") == "" {
		s.find()
		s.read(filepath.Join(s.dir, "yarn-env.sh"))
	}
	for _, r := range replaced {
		s.renamed(r.old, r.now)
	}
	if c.command != nil {
		s.renamed("HADOOP_"+strings.ToUpper(c.command.name)+"_OPTS", c.variable("OPTS"))
	}
	s.find()
	if !alone && !c.calls() {
		s.warnOfFunctions(home)
	}
}

// warnOfFunctions names the files of functions that Hadoop's scripts would have run.
func (s *surroundings) warnOfFunctions(home string) {
	paths := []string{filepath.Join(s.dir, "hadoop-user-functions.sh"), filepath.Join(home, ".hadooprc")}
	profiles, _ := os.ReadDir(filepath.Join(s.dir, "shellprofile.d")) // there may be none
	for _, p := range profiles {
		if name := p.Name(); strings.HasSuffix(name, ".sh") && !strings.HasPrefix(name, ".") {
			paths = append(paths, filepath.Join(s.dir, "shellprofile.d", name))
		}
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil && filepath.IsAbs(path) && filepath.Base(path) != "example.sh" { // Hadoop's own example
			fmt.Fprintf(s.c.Stderr, "WARNING: %s is not read: it has functions and calls of them, which are not run\n", path)
		}
	}
}

// renamed gives a variable the value of the name that it had before.
func (s *surroundings) renamed(old, now string) {
	if was := s.Value(old); was != "" && was != s.Value(now) {
		fmt.Fprintf(s.c.Stderr, "WARNING: %s has been replaced by %s. Using value of %s.\n", old, now, old)
		s.Set(now, was)
	}
}

// find looks for the directory of the configuration: --config, the environment, or etc/hadoop of the installation. A script of settings
// can lead to another one.
func (s *surroundings) find() {
	dir, given := s.c.global.config, true
	if dir == "" {
		s.renamed("YARN_CONF_DIR", "HADOOP_CONF_DIR")
		if dir = s.Value("HADOOP_CONF_DIR"); dir == "" {
			given = false
			dir = filepath.Join(s.Value("HADOOP_HOME"), "conf")
			if _, err := os.Stat(filepath.Join(dir, "hadoop-env.sh")); err != nil {
				dir = filepath.Join(s.Value("HADOOP_HOME"), "etc", "hadoop")
			}
		}
	}
	if dir, s.err = filepath.Abs(dir); s.err != nil {
		return
	}
	s.dir = dir
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("not a directory")
	}
	switch {
	case err == nil:
		s.Set("HADOOP_CONF_DIR", dir)
		s.Export("HADOOP_CONF_DIR")
	case given:
		s.err = fmt.Errorf("configuration directory %s: %w (set by --config, HADOOP_CONF_DIR or YARN_CONF_DIR)", dir, err)
	case s.c.command != nil && s.c.command.kind == daemonCommand && !s.c.command.bare:
		s.err = fmt.Errorf("there is no configuration directory %s: name one with --config or HADOOP_CONF_DIR", dir)
	}
}

// defaults sets what Hadoop's scripts set before they read yarn-env.sh.
func (s *surroundings) defaults() {
	home := s.Value("HADOOP_HOME")
	if homes := jvm.Homes(s.Value, home); len(homes) > 0 {
		s.Export("HADOOP_HOME")
		for _, name := range homes {
			if s.Value(name) == "" {
				s.Set(name, home)
				s.Export(name)
			}
		}
	}
	s.Default("HADOOP_IDENT_STRING", s.Value("USER"))
	s.Default("HADOOP_LOG_DIR", filepath.Join(home, "logs"))
	s.Default("HADOOP_LOGFILE", "hadoop.log")
	s.Default("HADOOP_PID_DIR", "/tmp")
	s.Default("HADOOP_STOP_TIMEOUT", strconv.Itoa(defaultStopTimeout))
	s.Default("HADOOP_SSH_PARALLEL", "10")
	s.Default("HADOOP_LOGLEVEL", "INFO")
	s.Default("HADOOP_ROOT_LOGGER", s.Value("HADOOP_LOGLEVEL")+",console")
	s.Default("HADOOP_DAEMON_ROOT_LOGGER", s.Value("HADOOP_LOGLEVEL")+",RFA")
	s.Default("HADOOP_POLICYFILE", "hadoop-policy.xml")
	s.Default("HADOOP_SECURITY_LOGGER", "INFO,NullAppender")
	if _, ok := s.Lookup("HADOOP_SSH_OPTS"); !ok {
		s.Set("HADOOP_SSH_OPTS", "-o BatchMode=yes -o StrictHostKeyChecking=no -o ConnectTimeout=10s")
	}
}

// read reads a script of settings, if it exists, and reports the statements that it could not read and that matter to this
// call.
func (s *surroundings) read(path string) {
	unread, err := s.File(path)
	if err != nil {
		fmt.Fprintf(s.c.Stderr, "WARNING: %v\n", err)
	}
	for _, u := range unread {
		if s.c.calls() && !slices.ContainsFunc(u.Names, func(name string) bool { return slices.Contains(ofCommands, name) }) {
			continue
		}
		fmt.Fprintf(s.c.Stderr, "WARNING: %v\n", u)
	}
}

// calls tells whether the command only calls the cluster.
func (c *call) calls() bool { return c.command != nil && c.command.kind == clientCommand }

// confDir is the directory of the configuration.
func (c *call) confDir() (string, error) { return c.around.dir, c.around.err }

// begin gathers what a daemon starts with, or what load needs.
func (c *call) begin(g genericValues) (Start, error) {
	s := Start{Files: g.files, Env: c.around.Exported, Environ: c.Environ(), System: c.systemProperties(), LogLevel: c.logLevel(),
		Stdout: c.Stdout, Stderr: c.Stderr}
	var err error
	if s.ConfDir, err = c.confDir(); err != nil && !c.command.bare {
		return s, err
	}
	for _, p := range g.properties {
		o, err := conf.ParseOverride(p)
		if err != nil {
			return s, err
		}
		s.Overrides = append(s.Overrides, o)
	}
	return s, nil
}

func (c *call) load(g genericValues) (*conf.Properties, error) {
	s, err := c.begin(g)
	if err != nil {
		return nil, err
	}
	return s.Load()
}

// logLevel is --loglevel, or the level at the head of HADOOP_ROOT_LOGGER; of a daemon in the background, of HADOOP_DAEMON_ROOT_LOGGER.
func (c *call) logLevel() string {
	if c.global.logLevel != "" {
		return c.global.logLevel
	}
	variable := "HADOOP_ROOT_LOGGER"
	if c.Getenv(logFileVariable) != "" {
		variable = "HADOOP_DAEMON_ROOT_LOGGER"
	}
	level, _, _ := strings.Cut(c.Getenv(variable), ",")
	return level
}

// options are the Java options in the environment that apply to this command: HADOOP_OPTS, those of clients, and the command's
// own.
func (c *call) options() []string {
	words := strings.Fields(c.Getenv("HADOOP_OPTS"))
	if c.command == nil || c.command.kind != daemonCommand {
		clients := c.Getenv("YARN_CLIENT_OPTS")
		if clients == "" {
			clients = c.Getenv("HADOOP_CLIENT_OPTS")
		}
		words = append(words, strings.Fields(clients)...)
	}
	if c.command != nil {
		words = append(words, strings.Fields(c.Getenv(c.variable("OPTS")))...)
	}
	return words
}

// variable is one of the command's own: YARN_RESOURCEMANAGER_OPTS.
func (c *call) variable(what string) string {
	return "YARN_" + strings.ToUpper(c.command.name) + "_" + what
}

// systemProperties are the values that ${name} in a configuration may refer to
// besides its own properties: what a Java virtual machine and Hadoop's start
// scripts would set, and -Dname=value from the variables that hold Java
// options.
func (c *call) systemProperties() map[string]string {
	home, logs := c.Getenv("HADOOP_HOME"), c.Getenv("HADOOP_LOG_DIR")
	out := map[string]string{"user.name": c.User, "user.home": c.Getenv("HOME"), "java.io.tmpdir": "/tmp", "file.separator": "/",
		"path.separator": ":", "hadoop.home.dir": home, "yarn.home.dir": home, "hadoop.log.dir": logs, "yarn.log.dir": logs}
	for _, word := range c.options() {
		if name, value, ok := strings.Cut(strings.TrimPrefix(word, "-D"), "="); ok && strings.HasPrefix(word, "-D") {
			out[name] = value
		}
	}
	return out
}

// warnOfJava says, of a daemon, which of its settings are for a Java virtual machine alone.
func (c *call) warnOfJava() {
	var idle []string
	for _, name := range []string{"HADOOP_HEAPSIZE", "HADOOP_HEAPSIZE_MAX", "HADOOP_HEAPSIZE_MIN", "YARN_HEAPSIZE", c.variable("HEAPSIZE")} {
		if value := c.Getenv(name); value != "" {
			idle = append(idle, name+"="+value)
		}
	}
	for _, word := range c.options() {
		if !strings.HasPrefix(word, "-D") {
			idle = append(idle, word)
		}
	}
	if len(idle) > 0 {
		fmt.Fprintf(c.Stderr, "WARNING: these are for Java and mean nothing to %s, which is no Java program (GOMEMLIMIT bounds its memory): %s\n", c.command.name, strings.Join(idle, " "))
	}
}

// Getenv is a variable's value, "" if it is not set.
func (e *Env) Getenv(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}
