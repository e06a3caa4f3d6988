package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/fair/convert"
	"github.com/heddle-project/heddle/yarn"
)

const fairPrefix = "yarn.scheduler.fair."

// read reads all inputs, the conversion rules first.
func (v *conversion) read() error {
	o := &v.input.options
	*o = convert.Options{Percentages: v.opts.has("pc"), Asynchronous: v.opts.has("a"), ObserveOnly: v.opts.first("dp") == "observeonly",
		RulesToFile: v.opts.has("e"), SkipRules: v.opts.has("sp")}
	if file := v.opts.first("r"); file != "" {
		data, err := conf.ReadFile(file)
		if err != nil {
			return err
		}
		var findings []convert.Finding
		if o.Actions, findings, err = convert.ReadActions(string(data)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, f := range findings {
			fmt.Fprintf(v.Stderr, "WARN %s:%d: %s\n", file, f.Line, f.Text)
		}
	}
	dir, err := v.confDir()
	if err != nil {
		return err
	}
	if err := v.readSite(dir); err != nil {
		return err
	}
	return v.readAllocations(dir)
}

// readSite reads yarn-site.xml over the files of the configuration directory. compat: those count, too.
func (v *conversion) readSite(dir string) error {
	file, err := filepath.Abs(v.opts.first("y"))
	if err != nil {
		return err
	}
	files := conf.Options{Dir: dir, Env: v.LookupEnv, System: v.systemProperties()}
	if files.Base, err = conf.Load(files); err != nil {
		return err
	}
	files.Files = []string{file}
	if v.site, err = conf.Load(files); err != nil {
		return err
	}
	v.input.settings, err = fairSettings(v.site)
	if err != nil {
		return err
	}
	queues, err := conf.Load(conf.Options{Dir: dir, Files: []string{queueFileName}, NoDefaults: true, Optional: true})
	if err != nil {
		return err
	}
	v.input.queues = queues.Explicit()
	return nil
}

// fairSettings reads the FairScheduler's properties. The error is about all of them that are refused, with file and line.
func fairSettings(site *conf.Properties) (convert.Settings, error) {
	r, s := conf.NewReader(site), convert.DefaultSettings()
	// compat: a truth value that is none counts as not set.
	flag := func(name string, into *bool) {
		switch text := r.String(name, ""); {
		case strings.EqualFold(text, "true"):
			*into = true
		case strings.EqualFold(text, "false"):
			*into = false
		}
	}
	number := func(name string, into *int32) { *into = r.Int32(fairPrefix+name, *into, conf.AnyInt) }
	share := func(name string, def float32) float32 {
		return float32(r.Float(fairPrefix+name, float64(def), -math.MaxFloat32, math.MaxFloat32))
	}
	flag(fairPrefix+"preemption", &s.Preemption)
	flag(fairPrefix+"assignmultiple", &s.AssignMultiple)
	flag(fairPrefix+"continuous-scheduling-enabled", &s.Continuous)
	flag(fairPrefix+"sizebasedweight", &s.SizeBasedWeight)
	flag(fairPrefix+"user-as-default-queue", &s.UserAsDefaultQueue)
	flag(fairPrefix+"allow-undeclared-pools", &s.AllowUndeclared)
	flag("yarn.resourcemanager.reservation-system.enable", &s.ReservationSystem)
	number("waitTimeBeforeNextStarvationCheck", &s.CheckInterval)
	if s.Preemption {
		number("waitTimeBeforeKill", &s.WaitBeforeKill)
	}
	number("max.assign", &s.MaxAssign)
	number("continuous-scheduling-sleep-ms", &s.ContinuousSleep)
	s.NodeThreshold = share("locality.threshold.node", convert.NoThreshold)
	s.RackThreshold = share("locality.threshold.rack", convert.NoThreshold)
	// The rest becomes nothing. The FairScheduler does not start where it is wrong.
	share("reservable-nodes", 0.05)
	r.Int32("yarn.cluster.max-application-priority", 0, conf.AnyInt)
	for _, name := range []string{"update-interval-ms", "locality-delay-node-ms", "locality-delay-rack-ms"} {
		r.Int64(fairPrefix+name, 0, conf.AnyInt)
	}
	for _, unit := range []struct {
		name     string
		low, top int64
	}{{"mb", 1024, 8192}, {"vcores", 1, 4}} {
		low := r.Int64("yarn.scheduler.minimum-allocation-"+unit.name, unit.low, conf.NotBelow(0))
		name := "yarn.scheduler.maximum-allocation-" + unit.name
		if top := r.Int64(name, unit.top, conf.AnyInt); top < low {
			r.Fail(name, "less than the minimum allocation of %d", low)
		}
		r.Int64("yarn.scheduler.increment-allocation-"+unit.name, unit.low, conf.Positive)
	}
	return s, r.Err()
}

// readAllocations reads the allocation file, for the resource types of the configuration directory.
func (v *conversion) readAllocations(dir string) error {
	v.fairFile = v.opts.first("f")
	if v.fairFile == "" {
		set, ok := v.site.Lookup(setup.PropAllocationFile)
		if !ok || set.Origin.IsDefault() || strings.TrimSpace(set.Value) == "" {
			return fmt.Errorf("Cannot start FS config conversion due to the following precondition error: fair-scheduler.xml is not defined neither in "+ //nolint:staticcheck // Hadoop's words
				"yarn-site.xml(with property: %s) nor directly with its own parameter (f|fsconfig)", setup.PropAllocationFile)
		}
		var err error
		if v.fairFile, err = localAllocationFile(dir, v.site); err != nil {
			return err
		}
	}
	types, err := v.types(dir)
	if err != nil {
		return err
	}
	data, err := conf.ReadFile(v.fairFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no allocation file %s: give one with -f", v.fairFile)
	}
	if err != nil {
		return err
	}
	parse := allocation.Parse
	if v.opts.has("t") {
		parse = allocation.ParseLoosely
	}
	a, findings, err := parse(data, types)
	for _, f := range findings {
		if f.Severity == allocation.Warning {
			fmt.Fprintf(v.Stderr, "WARN %s:%s\n", v.fairFile, f)
		}
	}
	var refused allocation.Errors
	if errors.As(err, &refused) {
		lines := make([]string, len(refused))
		for i, f := range refused {
			lines[i] = v.fairFile + ":" + f.String()
		}
		return errors.New("the allocation file is refused:\n" + strings.Join(lines, "\n"))
	}
	v.input.allocations = a
	return err
}

// types are the resource types of a cluster with that configuration directory.
func (v *conversion) types(dir string) (yarn.ResourceTypes, error) {
	types, err := lintTypes(dir, v.site)
	if err != nil {
		return nil, err
	}
	absent := func(path string) ([]byte, error) { return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist) }
	defaults, err := conf.Load(conf.Options{Read: absent})
	if err != nil {
		return nil, err
	}
	cluster, err := setup.Cluster(defaults, types, nil)
	return cluster.Types, err
}
