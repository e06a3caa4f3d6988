package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/local"
)

var confOptions = []option{
	{name: "lint", arg: "DIR", values: 1, optional: true, help: "Checks the site files of a directory, without a daemon. Exit code 1: a daemon would not start with them."},
	{name: "config", arg: "DIR", values: 1, help: "With -lint: the directory, like --config before the command."},
	{name: "for", arg: "resourcemanager|nodemanager", values: 1, help: "With -lint: checks for this daemon alone."},
	{name: "strict", help: "With -lint: exit code 1 also if something is changed."},
	{name: "help", help: "Prints this text."},
}

// siteFile is one that every configuration has, though it may be absent.
const siteFile = "yarn-site.xml"

// starter is a daemon, and the parts of its configuration that it checks when
// it starts.
type starter struct {
	daemon      string
	files       []string // beside the site files
	local       func(host string) bool
	read        func(*conf.Properties) error
	unsupported func(*conf.Properties) conf.Findings
}

var starters = []starter{
	{"resourcemanager", nil, local.Host, func(p *conf.Properties) error { _, err := conf.ReadResourceManager(p); return err }, conf.UnsupportedByResourceManager},
	{"nodemanager", conf.NodeManagerFiles, nil, func(p *conf.Properties) error { _, err := conf.ReadNodeManager(p); return err }, conf.UnsupportedByNodeManager},
}

// judged is a finding, and the daemons that make it.
type judged struct {
	conf.Finding
	daemons []string
}

// configuration is yarn conf: -lint prints everything that the daemons would
// report about their configuration when they start. It contacts none of them.
func configuration(c *call) error {
	if c.opts.has("help") {
		c.usage()
		return nil
	}
	if !c.opts.has("lint") {
		return c.invalid(failed)
	}
	dir, findings, err := c.judgements()
	if err != nil {
		fmt.Fprintf(c.Stderr, "yarn conf -lint: %v\n", err)
		return lintUsage
	}
	counts := [3]int{}
	for _, f := range findings {
		counts[f.Severity]++
	}
	if err := c.writeJudgements(dir, findings, counts); err != nil {
		return err
	}
	if counts[conf.Refused] > 0 || counts[conf.Changed] > 0 && c.opts.has("strict") {
		return lintRefused
	}
	return nil
}

// judgements are the findings of all daemons, the worst first, in the order of
// files. An error means that nothing could be checked.
func (c *call) judgements() (dir string, out []judged, err error) {
	if len(c.opts.words) > 0 {
		return "", nil, fmt.Errorf("unexpected %q: give one directory", c.opts.words[0])
	}
	wanted := starters
	if name := c.opts.first("for"); name != "" {
		wanted = slices.DeleteFunc(slices.Clone(starters), func(s starter) bool { return s.daemon != name })
		if len(wanted) == 0 {
			return "", nil, fmt.Errorf("-for %s: want resourcemanager or nodemanager", name)
		}
	}
	if dir, _, err = c.lintTarget(cmp.Or(c.opts.first("lint"), c.opts.first("config"))); err != nil {
		return "", nil, err
	}
	for _, s := range wanted {
		found, err := c.judgement(s, dir)
		if err != nil {
			return "", nil, err
		}
		out = merge(out, found, s.daemon)
	}
	slices.SortStableFunc(out, func(a, b judged) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), strings.Compare(a.Origin.File, b.Origin.File), a.Origin.Line-b.Origin.Line, a.Origin.Column-b.Origin.Column)
	})
	return dir, out, nil
}

// judgement is what one daemon reports. Errors in the contents of files are
// findings; an error means that the files cannot be read at all.
func (c *call) judgement(s starter, dir string) (conf.Findings, error) {
	files := conf.Options{Dir: dir, Files: s.files, Optional: true, Env: c.LookupEnv, System: c.systemProperties(), Overrides: c.overrides(), Local: s.local}
	p, err := conf.Load(files)
	if err != nil {
		return broken(err)
	}
	if !slices.Contains(p.Files(), filepath.Join(dir, siteFile)) {
		fmt.Fprintf(c.Stderr, "WARN %s has no %s\n", dir, siteFile)
	}
	bad, err := broken(s.read(p))
	return append(bad, s.unsupported(p)...), err
}

// broken turns errors in the contents of files into findings.
func broken(err error) (out conf.Findings, _ error) {
	var many conf.Problems
	var one conf.Problem
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &one):
		many = conf.Problems{one}
	case !errors.As(err, &many):
		return nil, err
	}
	for _, p := range many {
		out = append(out, conf.Finding{Severity: conf.Refused, Name: p.Name, Value: p.Value, Origin: p.Origin, Reason: p.Text})
	}
	return out, nil
}

// merge adds a daemon's findings to those of others.
func merge(all []judged, found conf.Findings, daemon string) []judged {
	for _, f := range found {
		if i := slices.IndexFunc(all, func(j judged) bool { return j.Finding == f }); i >= 0 {
			all[i].daemons = append(all[i].daemons, daemon)
			continue
		}
		all = append(all, judged{f, []string{daemon}})
	}
	return all
}

// writeJudgements prints one line for each finding and one that counts them.
func (c *call) writeJudgements(dir string, findings []judged, n [3]int) error {
	if c.json {
		return c.writeDocument("confLint", document{{"directory", dir}, {"refused", n[conf.Refused]}, {"changed", n[conf.Changed]}, {"ignored", n[conf.Ignored]},
			{"findings", items(findings, judgedDocument)}})
	}
	var b strings.Builder
	for _, f := range findings {
		p := conf.Problem{Name: f.Name, Value: f.Value, Text: f.Text()}
		fmt.Fprintf(&b, "%s: %s [%s] %s\n", f.Origin.Position(), f.Severity, strings.Join(f.daemons, ","), p.Error())
	}
	fmt.Fprintf(&b, "%s: refused: %d, changed: %d, ignored: %d\n", dir, n[conf.Refused], n[conf.Changed], n[conf.Ignored])
	_, err := fmt.Fprint(c.Stdout, b.String())
	return err
}

func judgedDocument(f judged) document {
	return document{{"severity", f.Severity.String()}, {"daemons", f.daemons}, {"file", f.Origin.File}, {"line", f.Origin.Line}, {"column", f.Origin.Column},
		{"key", f.Name}, {"value", f.Value}, {"feature", f.Feature}, {"what", f.Reason}, {"fix", f.Advice}}
}
