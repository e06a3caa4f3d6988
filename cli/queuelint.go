package cli

import (
	"errors"
	"fmt"
	"io/fs"
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

// The queue files of the two schedulers that have one.
const (
	queueFileName      = "capacity-scheduler.xml"
	allocationFileName = "fair-scheduler.xml"
)

// queueLint is yarn queue -lint [FILE|DIR]: it checks a queue file with the
// site files beside it and asks no ResourceManager.
func queueLint(c *call) error {
	file, findings, err := c.lintQueues()
	if err != nil {
		fmt.Fprintf(c.Stderr, "yarn queue -lint: %v\n", err)
		return lintUsage
	}
	if err := c.writeFindings(file, findings); err != nil {
		return err
	}
	if bad, warnings, _ := lint.Count(findings); bad > 0 || warnings > 0 && c.opts.has("strict") {
		return lintRefused
	}
	return nil
}

// lintQueues finds the file and checks it. What is wrong with the files'
// contents is among the findings; an error means that nothing can be checked.
func (c *call) lintQueues() (file string, findings []lint.Finding, err error) {
	var in lint.Input
	if len(c.opts.words) > 0 {
		return "", nil, fmt.Errorf("unexpected %q: give one file or directory", c.opts.words[0])
	}
	if in.Size, err = clusterSize(c.opts.first("cluster")); err != nil {
		return "", nil, err
	}
	dir, name, err := c.lintTarget(c.opts.first("lint"))
	if err != nil {
		return "", nil, err
	}
	in.Cluster = config.Cluster{Types: yarn.BasicResourceTypes(), MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 4)}
	files := conf.Options{Dir: dir, Env: c.LookupEnv, System: c.systemProperties(), Overrides: c.overrides()}
	site, siteErr := conf.Load(files)
	path := filepath.Join(dir, name)
	if name == "" {
		path = filepath.Join(dir, queueFileName)
	}
	fair := strings.EqualFold(name, allocationFileName)
	if name == "" && siteErr == nil && fairIsConfigured(site) {
		return c.lintFair(in, dir, site)
	}
	if allocations := filepath.Join(dir, allocationFileName); name == "" && absent(path) && !absent(allocations) {
		return "", nil, fmt.Errorf("%s has %s and no %s, and yarn-site.xml does not ask for the FairScheduler (yarn.resourcemanager.scheduler.class): yarn queue -lint %s checks the file all the same",
			dir, allocationFileName, queueFileName, allocations)
	}
	in.File = path
	if fair || name != "" {
		data, err := conf.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		if fair || lint.AllocationFile(data) {
			err := c.lintSite(&in, dir, site, siteErr)
			return path, lint.CheckAllocations(in, data), err
		}
	}
	in, err = c.lintInput(in, files, site, siteErr)
	if err != nil {
		return "", nil, err
	}
	return path, lint.Check(in), nil
}

func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// fairIsConfigured tells whether the ResourceManager is to have the FairScheduler.
func fairIsConfigured(site *conf.Properties) bool {
	s, err := conf.ReadResourceManager(site)
	return err == nil && s.Allocation.Scheduler == "fair"
}

// lintFair checks what a ResourceManager with the FairScheduler reads from a configuration directory.
func (c *call) lintFair(in lint.Input, dir string, site *conf.Properties) (file string, findings []lint.Finding, err error) {
	if file, err = localAllocationFile(dir, site); err != nil {
		return "", nil, err
	}
	data, err := conf.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	if err := c.lintSite(&in, dir, site, nil); err != nil || len(in.Notes) > 0 {
		in.File = file
		return file, lint.CheckAllocations(in, data), err
	}
	in.Cluster.Allocations = &config.AllocationFile{Name: file, Text: string(data)}
	full := setup.LintFair(site, in.Cluster)
	full.Size = in.Size
	return file, lint.CheckFair(full), nil
}

// localAllocationFile is the FairScheduler's queue file, which must be on this machine.
func localAllocationFile(dir string, site *conf.Properties) (string, error) {
	where, err := setup.FindAllocationFile(dir, site)
	if err == nil && where.Path == "" {
		err = fmt.Errorf("%s: %s = %s is not a file of this machine: copy it here, and give the copy", where.Setting.Origin.Position(), setup.PropAllocationFile, where.URL)
	}
	return where.Path, err
}

// lintSite takes the cluster's resource types from the site files; what is wrong
// there is noted.
func (c *call) lintSite(in *lint.Input, dir string, site *conf.Properties, siteErr error) error {
	if siteErr != nil {
		return note(in, siteErr)
	}
	types, err := lintTypes(dir, site)
	if err != nil {
		return note(in, err)
	}
	cluster, err := setup.Cluster(site, types, nil)
	if err != nil {
		return note(in, err)
	}
	in.Cluster = cluster
	return nil
}

// lintInput gathers what is to be checked of a capacity-scheduler.xml.
func (c *call) lintInput(in lint.Input, files conf.Options, site *conf.Properties, siteErr error) (lint.Input, error) {
	if siteErr != nil {
		return in, note(&in, siteErr)
	}
	files.Base, files.Files = site, []string{filepath.Base(in.File)}
	all, err := conf.Load(files)
	if err != nil {
		return in, note(&in, err)
	}
	if cluster, err := lintCluster(files.Dir, site, all); err != nil {
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

// lintTarget is the directory and the name of the queue file; "" if only the
// directory is known.
func (c *call) lintTarget(given string) (dir, file string, err error) {
	if given == "" {
		dir, err = c.confDir()
		return dir, "", err
	}
	info, err := os.Stat(given)
	switch {
	case err != nil:
		return "", "", err
	case info.IsDir():
		return given, "", nil
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
	types, err := lintTypes(dir, site)
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

func lintTypes(dir string, site *conf.Properties) (*conf.Properties, error) {
	return conf.Load(conf.Options{Base: site, Dir: dir, Files: []string{"resource-types.xml"}, Optional: true})
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
		return c.writeDocument("queueLint", document{{"file", file}, {"errors", bad}, {"warnings", warnings}, {"hints", hints},
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
