package setup

import (
	"path/filepath"
	"strings"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/lint"
)

// PropAllocationFile names the FairScheduler's queue file, and allocationFile is the default.
const (
	PropAllocationFile = config.FairPrefix + "allocation.file"
	allocationFile     = "fair-scheduler.xml"
)

// AllocationFile is where the FairScheduler's queue file is.
type AllocationFile struct {
	Path     string     // on this machine; empty: see URL
	URL      string     // on HDFS; empty: see Path
	Optional bool       // it may be missing: then the FairScheduler works without
	Setting  conf.Value // what names it
}

// Name is the file's path or URL, for messages.
func (f AllocationFile) Name() string { return f.Path + f.URL }

// FindAllocationFile says where the FairScheduler's queue file is, by yarn.scheduler.fair.allocation.file. dir is the configuration
// directory. The error is a conf.Problem.
//
// compat: a name without a directory is looked for on the class path, whose first folder is the configuration directory; if it is
// missing there is no file. Of the schemes that Apache reads s3a and viewfs are not built.
func FindAllocationFile(dir string, site *conf.Properties) (AllocationFile, error) {
	v, _ := site.Lookup(PropAllocationFile)
	name := strings.TrimSpace(v.Value)
	if name == "" {
		name = allocationFile
	}
	scheme, rest, is := strings.Cut(name, ":")
	if is = is && !strings.Contains(scheme, "/"); !is {
		if filepath.IsAbs(name) {
			return AllocationFile{Path: name, Setting: v}, nil
		}
		return AllocationFile{Path: filepath.Join(dir, name), Optional: true, Setting: v}, nil
	}
	bad := func(text string) (AllocationFile, error) {
		return AllocationFile{}, conf.Problem{Name: PropAllocationFile, Value: v.Value, Origin: v.Origin, Text: text}
	}
	switch strings.ToLower(scheme) {
	case "hdfs":
		return AllocationFile{URL: name, Setting: v}, nil
	case "file":
		if after, ok := strings.CutPrefix(rest, "//"); ok {
			rest = strings.TrimPrefix(after, "localhost")
		}
		if !strings.HasPrefix(rest, "/") {
			return bad("after file: comes an absolute path, such as file:///etc/hadoop/conf/fair-scheduler.xml")
		}
		return AllocationFile{Path: filepath.Clean(rest), Setting: v}, nil
	case "s3a", "viewfs":
		return bad("allocation files are not read from " + strings.ToLower(scheme) + ": put the file on this machine or on hdfs:")
	}
	return bad("uses an unsupported filesystem: allocation files are read from this machine (file:) and from hdfs:")
}

// LintFair is the input of the linter for the FairScheduler: its properties of the site's files, with line and column, and the allocation
// file that cluster has.
func LintFair(site *conf.Properties, cluster config.Cluster) lint.Input {
	in := lint.Input{Cluster: cluster}
	for _, v := range site.Explicit() {
		in.Properties = append(in.Properties, config.Property{Name: v.Name, Value: v.Value, Origin: v.Origin.Position()})
	}
	if cluster.Allocations != nil {
		in.File = cluster.Allocations.Name
	}
	return in
}
