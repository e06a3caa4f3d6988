package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names in the working directory, the log directory and the private one.
const (
	launchScript  = "launch_container.sh"
	wrapperScript = "default_container_executor.sh"
	sessionScript = "default_container_executor_session.sh"
	tokensFile    = "container_tokens"
	prelaunchOut  = "prelaunch.out"
	prelaunchErr  = "prelaunch.err"
	directoryInfo = "directory.info"
	wrapperOutput = "wrapper.out" // what the scripts write before their output is redirected
	exitSuffix    = ".exitcode"
)

// maxWildcard bounds the entries of a directory that one link stands for.
const maxWildcard = 100_000

func (c *Container) pidFile() string { return filepath.Join(c.PrivateDir, c.ID.String()+".pid") }

// script is the text of launch_container.sh. Nothing is escaped in it: containers rely on the shell's expansions in values
// and commands, and on quotes that end the ones around them.
func (l *Launcher) script(c *Container, e *environment, own []string, links []Link) string {
	var b strings.Builder
	b.WriteString("#!/bin/bash\n\nset -o pipefail -e\n")
	writeRedirect(&b, "PRELAUNCH_OUT", ">", filepath.Join(c.LogDir, prelaunchOut))
	writeRedirect(&b, "PRELAUNCH_ERR", "2>", filepath.Join(c.LogDir, prelaunchErr))
	b.WriteString("echo \"Setting up env variables\"\n")
	l.writeVariables(&b, e, own)
	b.WriteString("echo \"Setting up job resources\"\n")
	for _, link := range links {
		writeLink(&b, link)
	}
	if l.cfg.Debug {
		writeDebug(&b, c.LogDir)
	}
	expand := l.expander(c, e)
	commands := make([]string, len(c.Command))
	for i, command := range c.Command {
		commands[i] = expand(command)
	}
	b.WriteString("echo \"Launching container\"\nexec /bin/bash -c \"" + strings.Join(commands, " ") + "\"\n")
	return b.String()
}

func writeRedirect(b *strings.Builder, name, operator, file string) {
	writeVariable(b, name, file)
	b.WriteString("exec " + operator + "\"${" + name + "}\"\n")
}

// writeVariables exports the daemon's variables that containers may have from it, then the node's own, then the
// container's.
func (l *Launcher) writeVariables(b *strings.Builder, e *environment, own []string) {
	for _, name := range l.cfg.Whitelist {
		_, set := e.values[name]
		if value, ok := l.own[name]; ok && !set {
			fmt.Fprintf(b, "export %s=${%s:-\"%s\"}\n", name, name, value)
		}
	}
	written := make(map[string]bool, len(own))
	for _, name := range own {
		written[name] = true
		writeVariable(b, name, e.values[name])
	}
	for _, name := range e.ordered() {
		if !written[name] {
			writeVariable(b, name, e.values[name])
		}
	}
}

func writeVariable(b *strings.Builder, name, value string) {
	b.WriteString("export " + name + "=\"" + value + "\"\n")
}

// expandLinks replaces those for whole directories and checks the others. Names are brought to the form in which the script
// has them.
func expandLinks(links []Link) ([]Link, error) {
	var out []Link
	for _, link := range links {
		name, err := linkName(link)
		if err != nil {
			return nil, err
		}
		if filepath.Base(name) != "*" {
			out = append(out, Link{link.Target, name})
			continue
		}
		names, err := entries(link.Target)
		if err != nil {
			return nil, fmt.Errorf("link to all entries of %s: %w", link.Target, err)
		}
		for _, entry := range names {
			out = append(out, Link{filepath.Join(link.Target, entry), entry})
		}
	}
	return out, nil
}

// linkName is the name without needless slashes.
func linkName(link Link) (string, error) {
	var parts []string
	for part := range strings.SplitSeq(link.Name, "/") {
		if part != "" {
			parts = append(parts, part)
		}
	}
	switch {
	case !filepath.IsAbs(link.Target):
		return "", fmt.Errorf("link %.200q: its target %.200q is no absolute path", link.Name, link.Target)
	case len(parts) == 0 || link.Name[0] == '/':
		return "", fmt.Errorf("link %.200q to %.200q: its name must be relative to the working directory", link.Name, link.Target)
	}
	return strings.Join(parts, "/"), nil
}

var errTooMany = fmt.Errorf("it has more than %d", maxWildcard)

// entries are the names in a directory, sorted.
func entries(dir string) ([]string, error) {
	names, err := namesIn(dir, maxWildcard+1)
	if err == nil && len(names) > maxWildcard {
		err = errTooMany
	}
	return names, err
}

// namesIn are the names of the first entries of a directory, sorted.
func namesIn(dir string, limit int) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(limit)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// compat: the parent is not quoted.
func writeLink(b *strings.Builder, link Link) {
	if dir := filepath.Dir(link.Name); dir != "." {
		b.WriteString("mkdir -p " + dir + "\n")
	}
	b.WriteString("ln -sf -- \"" + link.Target + "\" \"" + link.Name + "\"\n")
}

// writeDebug has the script leave a copy of itself and a listing in the log directory.
func writeDebug(b *strings.Builder, logDir string) {
	script, list := filepath.Join(logDir, launchScript), filepath.Join(logDir, directoryInfo)
	fmt.Fprintf(b, "echo \"Copying debugging information\"\n# Creating copy of launch script\ncp \"%s\" \"%s\"\nchmod 640 \"%s\"\n",
		launchScript, script, script)
	b.WriteString("# Determining directory contents\n")
	redirect := " 1>"
	for _, step := range [...][2]string{
		{"ls -l:", "ls -l"},
		{"find -L . -maxdepth 5 -ls:", "find -L . -maxdepth 5 -ls"},
		{"broken symlinks(find -L . -maxdepth 5 -type l -ls):", "find -L . -maxdepth 5 -type l -ls"},
	} {
		fmt.Fprintf(b, "echo \"%s\"%s\"%s\"\n%s 1>>\"%s\"\n", step[0], redirect, list, step[1], list)
		redirect = " 1>>"
	}
}

// wrapper is the text of default_container_executor.sh, which outlives the container to keep its exit code.
func wrapper(c *Container) string {
	exit := c.pidFile() + exitSuffix
	return fmt.Sprintf("#!/bin/bash\n/bin/bash \"%s\"\nrc=$?\necho $rc > \"%s.tmp\"\n/bin/mv -f \"%s.tmp\" \"%s\"\nexit $rc\n",
		filepath.Join(c.WorkDir, sessionScript), exit, exit, exit)
}

// session is the text of default_container_executor_session.sh, which becomes the container.
func session(c *Container) string {
	pid := c.pidFile()
	return fmt.Sprintf("#!/bin/bash\n\necho $$ > %s.tmp\n/bin/mv -f %s.tmp %s\nexec setsid /bin/bash \"%s\"",
		pid, pid, pid, filepath.Join(c.WorkDir, launchScript))
}
