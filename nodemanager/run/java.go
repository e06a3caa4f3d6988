package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/command"
)

const (
	modernJava  = 17 // the first version that needs <ADD_OPENS>
	maxRelease  = 64 << 10
	javaTimeout = 10 * time.Second
	maxVersion  = 4 << 10
)

// modernJava tells whether the Java that a container will run is 17 or newer, which the options of <ADD_OPENS> need and
// older ones refuse. home is the container's JAVA_HOME; if it has none, one that only its script can expand, or one that
// does not say its version, the node's counts: no program is run because a container names it.
// compat: Apache asks the NodeManager's own Java.
func (l *Launcher) modernJava(home string) bool {
	if filepath.IsAbs(home) {
		if version := releaseVersion(home); version != 0 {
			return version >= modernJava
		}
	}
	return l.nodeJava()
}

// askNode finds the Java of the node's containers. One that does not say its version is taken for a new one.
func (l *Launcher) askNode() bool {
	home := l.own["JAVA_HOME"]
	if home == "" {
		home = l.javaOnPath()
	}
	version := 0
	if home != "" {
		if version = releaseVersion(home); version == 0 {
			version = programVersion(filepath.Join(home, "bin", "java"))
		}
	}
	if version == 0 {
		l.cfg.Log.Warn("the Java of containers is not known, taking it for 17 or newer: set JAVA_HOME", "home", home)
		return true
	}
	return version >= modernJava
}

// javaOnPath is the home of the java that the daemon's PATH leads to, links followed.
func (l *Launcher) javaOnPath() string {
	for _, dir := range filepath.SplitList(l.own["PATH"]) {
		if !filepath.IsAbs(dir) {
			continue
		}
		program, err := filepath.EvalSymlinks(filepath.Join(dir, "java"))
		if err == nil && filepath.Base(filepath.Dir(program)) == "bin" {
			return filepath.Dir(filepath.Dir(program))
		}
	}
	return ""
}

// releaseVersion reads the file that comes with a Java; 0 if that says nothing.
func releaseVersion(home string) int {
	text, err := readSmall(filepath.Join(home, "release"), maxRelease, 0)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "JAVA_VERSION="); ok {
			return feature(strings.Trim(value, "\" \t\r\n"))
		}
	}
	return 0
}

// programVersion asks the program; 0 if it does not answer. Java 8 does not know the option.
func programVersion(java string) int {
	if _, err := os.Stat(java); err != nil {
		return 0
	}
	out, err := command.Run(context.Background(), javaTimeout, maxVersion, java, "--version")
	var failure *command.Error
	if errors.As(err, &failure) && errors.As(failure.Err, new(*exec.ExitError)) && strings.Contains(failure.Stderr, "Unrecognized option") {
		return 8
	}
	if fields := strings.Fields(string(out)); err == nil && len(fields) > 1 {
		return feature(fields[1])
	}
	return 0
}

// feature is the first number that counts in "17.0.12", "21-ea" or "1.8.0_402".
func feature(version string) int {
	version = strings.TrimPrefix(version, "1.")
	end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(version)
	}
	n, err := strconv.Atoi(version[:end])
	if err != nil {
		return 0
	}
	return n
}
