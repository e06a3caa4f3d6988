package conf

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// Environment is what bin/yarn takes from the environment.
type Environment struct {
	Home       string // HADOOP_HOME, else YARN_HOME; "" when there is no installation
	ConfDir    string // HADOOP_CONF_DIR, else YARN_CONF_DIR, else Home/etc/hadoop
	LogDir     string // HADOOP_LOG_DIR, else YARN_LOG_DIR, else Home/logs
	PIDDir     string // HADOOP_PID_DIR, else YARN_PID_DIR, else /tmp
	Ident      string // HADOOP_IDENT_STRING, else YARN_IDENT_STRING, else the user's name
	RootLogger string // HADOOP_ROOT_LOGGER, else YARN_ROOT_LOGGER: "LEVEL,appender"

	// System holds -Dname=value words of HADOOP_OPTS and of the daemon's own
	// options variable, in that order. Other JVM options mean nothing here.
	System map[string]string
	// Warnings name deprecated variables in use, once each.
	Warnings []string
}

// oldVariables are the deprecated spellings, and what replaced them.
var oldVariables = map[string]string{
	"HADOOP_CONF_DIR":     "YARN_CONF_DIR",
	"HADOOP_LOG_DIR":      "YARN_LOG_DIR",
	"HADOOP_PID_DIR":      "YARN_PID_DIR",
	"HADOOP_IDENT_STRING": "YARN_IDENT_STRING",
	"HADOOP_ROOT_LOGGER":  "YARN_ROOT_LOGGER",
	"HADOOP_HOME":         "YARN_HOME",
	"HADOOP_OPTS":         "YARN_OPTS",
}

// ReadEnvironment reads the variables of one daemon or command. daemonOpts
// names its options variable, such as YARN_RESOURCEMANAGER_OPTS; "" for none.
func ReadEnvironment(env func(string) (string, bool), daemonOpts string) Environment {
	var e Environment
	get := func(name, def string) string {
		if s, _ := env(name); s != "" {
			return s
		}
		old := oldVariables[name]
		if s, _ := env(old); s != "" && old != "" {
			e.Warnings = append(e.Warnings, fmt.Sprintf("%s is deprecated, use %s", old, name))
			return s
		}
		return def
	}
	e.Home = get("HADOOP_HOME", "")
	inHome := func(sub string) string {
		if e.Home == "" {
			return ""
		}
		return filepath.Join(e.Home, sub)
	}
	e.ConfDir = get("HADOOP_CONF_DIR", inHome("etc/hadoop"))
	e.LogDir = get("HADOOP_LOG_DIR", inHome("logs"))
	e.PIDDir = get("HADOOP_PID_DIR", "/tmp")
	e.Ident = get("HADOOP_IDENT_STRING", userName(env))
	e.RootLogger = get("HADOOP_ROOT_LOGGER", "INFO,console")
	e.System = map[string]string{}
	for _, opts := range []string{get("HADOOP_OPTS", ""), optional(env, daemonOpts)} {
		for _, word := range strings.Fields(opts) {
			name, value, _ := strings.Cut(strings.TrimPrefix(word, "-D"), "=")
			if strings.HasPrefix(word, "-D") && name != "" {
				e.System[name] = value
			}
		}
	}
	return e
}

func optional(env func(string) (string, bool), name string) string {
	if name == "" {
		return ""
	}
	s, _ := env(name)
	return s
}

func userName(env func(string) (string, bool)) string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	s, _ := env("USER")
	return s
}

// SystemProperties is what a JVM and Hadoop's start scripts would answer for
// ${name}: user.name, user.home, user.dir, java.io.tmpdir, the separators,
// hadoop.home.dir, hadoop.log.dir, yarn.log.dir, hadoop.id.str, and the -D
// words of the environment.
func (e Environment) SystemProperties(env func(string) (string, bool)) map[string]string {
	out := map[string]string{
		"user.name":      userName(env),
		"java.io.tmpdir": "/tmp",
		"file.separator": "/",
		"path.separator": ":",
		"line.separator": "\n",
		"hadoop.id.str":  e.Ident,
	}
	if u, err := user.Current(); err == nil {
		out["user.home"] = u.HomeDir
	}
	if dir, err := os.Getwd(); err == nil {
		out["user.dir"] = dir
	}
	for name, dir := range map[string]string{
		"hadoop.home.dir": e.Home, "yarn.home.dir": e.Home, "hadoop.log.dir": e.LogDir, "yarn.log.dir": e.LogDir,
	} {
		if dir != "" {
			out[name] = dir
		}
	}
	for name, value := range e.System {
		out[name] = value
	}
	return out
}
