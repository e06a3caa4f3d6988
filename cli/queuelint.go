package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/lint"
	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/yarn"
)

// The exit codes of yarn queue -lint, for scripts.
const (
	lintRefused Exit = 1 // there are errors, or warnings with -strict
	lintUsage   Exit = 2 // nothing could be checked: a wrong command line or an unreadable file
)

const queueFileName = "capacity-scheduler.xml"

// queueLint is yarn queue -lint [FILE|DIR]: it checks a queue file with the
// site files beside it and asks no ResourceManager.
func queueLint(c *call) error {
	in, err := c.lintInput()
	if err != nil {
		fmt.Fprintf(c.Stderr, "yarn queue -lint: %v\n", err)
		return lintUsage
	}
	findings := lint.Check(in)
	if err := c.writeFindings(in.File, findings); err != nil {
		return err
	}
	if bad, warnings, _ := lint.Count(findings); bad > 0 || warnings > 0 && c.opts.has("strict") {
		return lintRefused
	}
	return nil
}

// lintInput gathers what is to be checked. What is wrong with the files'
// contents is among the notes; an error means that nothing can be checked.
func (c *call) lintInput() (in lint.Input, err error) {
	if len(c.opts.words) > 0 {
		return in, fmt.Errorf("unexpected %q: give one file or directory", c.opts.words[0])
	}
	if in.Size, err = clusterSize(c.opts.first("cluster")); err != nil {
		return in, err
	}
	dir, file, err := c.lintTarget(c.opts.first("lint"))
	if err != nil {
		return in, err
	}
	in.File = filepath.Join(dir, file)
	in.Cluster = config.Cluster{Types: yarn.BasicResourceTypes(), MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 4)}
	files := conf.Options{Dir: dir, Env: c.LookupEnv, System: c.systemProperties(), Overrides: c.overrides()}
	site, err := conf.Load(files)
	if err != nil {
		return in, note(&in, err)
	}
	files.Base, files.Files = site, []string{file}
	all, err := conf.Load(files)
	if err != nil {
		return in, note(&in, err)
	}
	if cluster, err := lintCluster(dir, site, all); err != nil {
		if err := note(&in, err); err != nil {
			return in, err
		}
	} else {
		in.Cluster = cluster
	}
	full := setup.Lint(in.File, all, in.Cluster)
	full.Size, full.Notes = in.Size, append(in.Notes, full.Notes...)
	return full, nil
}

// lintTarget is the directory and the name of the queue file.
func (c *call) lintTarget(given string) (dir, file string, err error) {
	if given == "" {
		dir, err = c.confDir()
		return dir, queueFileName, err
	}
	info, err := os.Stat(given)
	switch {
	case err != nil:
		return "", "", err
	case info.IsDir():
		return given, queueFileName, nil
	}
	return filepath.Dir(given), filepath.Base(given), nil
}

// overrides are the properties of the command line.
func (c *call) overrides() []conf.Override {
	var out []conf.Override
	for _, v := range c.props.Explicit() {
		if v.Origin.File == "command line" {
			out = append(out, conf.Override{Name: v.Name, Value: v.Raw})
		}
	}
	return out
}

// note turns what is wrong with the contents of a file into findings. A file
// that cannot be read at all stays an error.
func note(in *lint.Input, err error) error {
	var many conf.Problems
	var one conf.Problem
	switch {
	case errors.As(err, &many):
		for _, p := range many {
			in.Notes = append(in.Notes, setup.LintNote(lint.Error, p))
		}
	case errors.As(err, &one):
		in.Notes = append(in.Notes, setup.LintNote(lint.Error, one))
	default:
		return err
	}
	return nil
}

// lintCluster is what the scheduler knows from outside of the queue file.
func lintCluster(dir string, site, all *conf.Properties) (config.Cluster, error) {
	types, err := conf.Load(conf.Options{Base: site, Dir: dir, Files: []string{"resource-types.xml"}, Optional: true})
	if err != nil {
		return config.Cluster{}, err
	}
	c, err := setup.Cluster(site, types, nil)
	if err != nil {
		return config.Cluster{}, err
	}
	if rules := setup.MappingFile(all); rules != "" {
		data, err := conf.ReadFile(rules)
		if err != nil {
			v, _ := all.Lookup(placement.PropJSONFile)
			return config.Cluster{}, conf.Problem{Name: v.Name, Value: v.Value, Origin: v.Origin, Text: err.Error()}
		}
		c.MappingFile = string(data)
	}
	return c, nil
}

// clusterSize reads memory-mb=65536,vcores=32.
func clusterSize(text string) (size yarn.Resource, err error) {
	if text == "" {
		return size, nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		i := slices.Index([]string{yarn.Memory: "memory-mb", yarn.VCores: "vcores"}, strings.TrimSpace(name))
		if err != nil || n <= 0 || i < 0 {
			return size, fmt.Errorf("-cluster %s: want memory-mb=65536,vcores=32", text)
		}
		size[i] = n
	}
	return size, nil
}

// writeFindings prints one line for each finding and one that counts them.
func (c *call) writeFindings(file string, findings []lint.Finding) error {
	bad, warnings, hints := lint.Count(findings)
	if c.json {
		return writeDocument(c.Stdout, "queueLint", document{{"file", file}, {"errors", bad}, {"warnings", warnings}, {"hints", hints},
			{"findings", items(findings, findingDocument)}})
	}
	var b strings.Builder
	for _, f := range findings {
		b.WriteString(f.String() + "\n")
	}
	fmt.Fprintf(&b, "%s: errors: %d, warnings: %d, hints: %d\n", file, bad, warnings, hints)
	_, err := fmt.Fprint(c.Stdout, b.String())
	return err
}

func findingDocument(f lint.Finding) document {
	file, line, column := f.Place()
	var value any
	if f.Set {
		value = f.Value
	}
	return document{{"severity", f.Severity.String()}, {"code", f.Code}, {"file", file}, {"line", line}, {"column", column},
		{"key", f.Key}, {"value", value}, {"what", f.What}, {"fix", f.Fix}}
}
