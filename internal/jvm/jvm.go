// Package jvm finds the Java of this machine and learns its version, and knows how the class path of a Hadoop for it is made.
package jvm

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/internal/command"
)

const (
	maxRelease  = 64 << 10
	javaTimeout = 10 * time.Second
	maxVersion  = 4 << 10
)

// Home is JAVA_HOME, else the home of the java in PATH, links followed; "" if there is neither.
func Home(getenv func(string) string) string {
	if home := getenv("JAVA_HOME"); home != "" {
		return home
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
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

// Version is the feature number of a Java's version, such as 8 or 17; 0 if it cannot be learned. It may run the
// program.
func Version(home string) int {
	if version := Release(home); version != 0 {
		return version
	}
	return asked(filepath.Join(home, "bin", "java"))
}

// Release is Version as the file "release" in a Java's home tells it; 0 if that does not. No program is run.
func Release(home string) int {
	f, err := os.OpenFile(filepath.Join(home, "release"), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a container may have named a pipe
	if err != nil {
		return 0
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRelease))
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

// asked asks the program; 0 if it does not answer. Java 8 does not know the option.
func asked(java string) int {
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

// feature is the feature number of "17.0.12", "21-ea" or "1.8.0_402".
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
