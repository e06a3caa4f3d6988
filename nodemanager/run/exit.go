package run

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Bounds of diagnostics, whose sources are the container's.
const (
	maxOutput   = 4 << 10 // of the scripts' own output
	maxLogFiles = 10_000  // of the log directory that are looked at
	maxNamed    = 100     // that are named
	maxPatterns = 64      // that a pattern with braces stands for
)

// explain puts the diagnostics of an exit together, in the words of Apache's NodeManager.
func (p *Process) explain(code int32) Exit {
	e := Exit{Code: code}
	if code == 0 {
		return e
	}
	e.Text = fmt.Sprintf("Container exited with a non-zero exit code %d. ", code)
	if code == exitKilled || code == exitTerminated {
		e.Note = fmt.Sprintf("Container killed on request. Exit code is %d", code)
		return e
	}
	if p.output != "" {
		e.Note = fmt.Sprintf("Exception from container-launch.\nContainer id: %s\nExit code: %d\n", p.id, code)
		if said, _ := tail(p.output, maxOutput); said != "" {
			e.Note += "Exception message: " + said + "\n"
		}
	}
	if p.logDir != "" {
		e.Text += p.complaints()
	}
	return e
}

// complaints are the ends of the error output of the scripts and of the command.
func (p *Process) complaints() string {
	var b strings.Builder
	limit := p.l.cfg.StderrTail
	if text, ok := tail(filepath.Join(p.logDir, prelaunchErr), limit); ok {
		fmt.Fprintf(&b, "Error file: %s.\nLast %d bytes of %s :\n%s", prelaunchErr, limit, prelaunchErr, text)
	}
	names := p.errorFiles()
	if len(names) == 0 {
		return b.String()
	}
	name := p.newest(names)
	if len(names) > 1 {
		fmt.Fprintf(&b, "Error files: %s.\n", strings.Join(names[:min(len(names), maxNamed)], ", "))
	}
	if text, ok := tail(filepath.Join(p.logDir, name), limit); ok {
		fmt.Fprintf(&b, "Last %d bytes of %s :\n%s\n%s", limit, name, text, hint(text))
	}
	return b.String()
}

// hint tells MapReduce's users what its clients' configuration lacks.
func hint(text string) string {
	if !strings.Contains(text, "Error: Could not find or load main class org.apache.hadoop.mapreduce") {
		return ""
	}
	return "MapReduce is not where this node's containers look for it. Set HADOOP_MAPRED_HOME=<its directory> in " +
		"yarn.app.mapreduce.am.env, mapreduce.map.env and mapreduce.reduce.env of the submitting mapred-site.xml.\n"
}

// errorFiles are the regular files in the log directory that the pattern fits, sorted.
func (p *Process) errorFiles() []string {
	names, err := namesIn(p.logDir, maxLogFiles)
	if err != nil {
		return nil
	}
	patterns := alternatives(p.l.cfg.StderrPattern)
	return slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(patterns, func(pattern string) bool {
			fits, err := path.Match(pattern, name)
			return fits && err == nil
		}) || modified(filepath.Join(p.logDir, name)).IsZero()
	})
}

// newest is the file that was last written to, the first of several.
func (p *Process) newest(names []string) string {
	best, at := "", time.Time{}
	for _, name := range names {
		if when := modified(filepath.Join(p.logDir, name)); best == "" || when.After(at) {
			best, at = name, when
		}
	}
	return best
}

// modified is when a regular file was last written to; zero if it is none.
func modified(name string) time.Time {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return time.Time{}
	}
	return info.ModTime()
}

// alternatives are the patterns without braces that one with {a,b} stands for. Braces without a partner stand for
// themselves.
func alternatives(pattern string) []string {
	out := []string{pattern}
	for i := 0; i < len(out); {
		open := strings.IndexByte(out[i], '{')
		end := matching(out[i], open)
		if open < 0 || end < 0 || len(out) >= maxPatterns {
			i++
			continue
		}
		var each []string
		for _, choice := range choices(out[i][open+1 : end]) {
			each = append(each, out[i][:open]+choice+out[i][end+1:])
		}
		out = slices.Replace(out, i, i+1, each...)
	}
	return out
}

// matching is where the brace at open is closed; -1 if it is not.
func matching(text string, open int) int {
	depth := 0
	for i := max(open, 0); i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// choices splits at commas outside inner braces.
func choices(text string) []string {
	var out []string
	depth, begin := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, text[begin:i])
				begin = i + 1
			}
		}
	}
	return append(out, text[begin:])
}

// tail is the end of a regular file as text. Links are not followed: they could lead to what only the daemon may read.
func tail(name string, limit int64) (string, bool) {
	f, info, err := openRegular(name, syscall.O_NOFOLLOW)
	if err != nil {
		return "", false
	}
	defer f.Close()
	from := max(info.Size()-limit, 0)
	text, err := io.ReadAll(io.NewSectionReader(f, from, limit))
	if err != nil {
		return "", false
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), true
}
