package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-project/heddle/conf"
)

// setting reads a variable of the environment, or the one that it replaced in
// Hadoop 3, which wins with a warning, as in Hadoop's scripts.
func (e *Env) setting(name, old string) string {
	value := e.Getenv(name)
	if old == "" {
		return value
	}
	if was := e.Getenv(old); was != "" && was != value {
		fmt.Fprintf(e.Stderr, "WARNING: %s has been replaced by %s. Using value of %s.\n", old, name, old)
		return was
	}
	return value
}

// home is the Hadoop directory that this program is installed in or beside.
func (e *Env) home() string {
	if h := e.Getenv("HADOOP_HOME"); h != "" {
		return h
	}
	return filepath.Dir(filepath.Dir(e.Program))
}

// confDir is the directory of the configuration: --config, the environment, or
// etc/hadoop of the installation.
func (c *call) confDir() (string, error) {
	dir := c.global.config
	if dir == "" {
		dir = c.setting("HADOOP_CONF_DIR", "YARN_CONF_DIR")
	}
	given := dir != ""
	if !given {
		dir = filepath.Join(c.home(), "etc", "hadoop")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if given && err == nil && !info.IsDir() {
		err = fmt.Errorf("not a directory")
	}
	if given && err != nil {
		return "", fmt.Errorf("configuration directory %s: %w (set by --config, HADOOP_CONF_DIR or YARN_CONF_DIR)", dir, err)
	}
	return dir, nil
}

// begin gathers what a daemon starts with, or what load needs.
func (c *call) begin(g genericValues) (Start, error) {
	s := Start{Files: g.files, Env: c.LookupEnv, System: c.systemProperties(), LogLevel: c.logLevel(),
		Stdout: c.Stdout, Stderr: c.Stderr}
	var err error
	if s.ConfDir, err = c.confDir(); err != nil {
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

// logLevel is --loglevel, or the level at the head of HADOOP_ROOT_LOGGER.
func (c *call) logLevel() string {
	if c.global.logLevel != "" {
		return c.global.logLevel
	}
	level, _, _ := strings.Cut(c.setting("HADOOP_ROOT_LOGGER", "YARN_ROOT_LOGGER"), ",")
	return level
}

// systemProperties are what ${name} in a configuration may mean besides its own
// properties: what a Java virtual machine and Hadoop's start scripts would
// answer, and the -Dname=value of the variables that hold a virtual machine's
// options. The rest of those means nothing here.
func (c *call) systemProperties() map[string]string {
	home := c.home()
	logs := c.Getenv("HADOOP_LOG_DIR")
	if logs == "" {
		logs = filepath.Join(home, "logs")
	}
	out := map[string]string{"user.name": c.User, "user.home": c.Getenv("HOME"), "java.io.tmpdir": "/tmp", "file.separator": "/",
		"path.separator": ":", "hadoop.home.dir": home, "yarn.home.dir": home, "hadoop.log.dir": logs, "yarn.log.dir": logs}
	take := func(variable string) {
		for _, word := range strings.Fields(c.Getenv(variable)) {
			if name, value, ok := strings.Cut(strings.TrimPrefix(word, "-D"), "="); ok && strings.HasPrefix(word, "-D") {
				out[name] = value
			}
		}
	}
	take("HADOOP_OPTS")
	if c.Getenv("YARN_OPTS") != "" {
		fmt.Fprintln(c.Stderr, "WARNING: YARN_OPTS has been replaced by HADOOP_OPTS. Only its -Dname=value are used.")
		take("YARN_OPTS")
	}
	if c.command != nil && c.command.kind == daemonCommand {
		take("YARN_" + strings.ToUpper(c.command.name) + "_OPTS")
	}
	return out
}

// Getenv is a variable's value, "" if it is not set.
func (e *Env) Getenv(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}
