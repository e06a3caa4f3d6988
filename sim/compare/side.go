package compare

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/config"
)

// Words that stand for a configuration without a file.
const (
	Recorded = "recorded" // the one that the recording has
	Fifo     = "fifo"
)

// Side is one of the configurations that are compared: a queue file and the properties of a site.
type Side struct {
	Name   string           // of the file, or Recorded or Fifo
	Data   []byte           // of the file
	Policy config.Policy    // of the file
	Site   *conf.Properties // nil: what the recording says
}

// ReadSide reads a queue file. The root element tells which scheduler it is for. site is the name of a yarn-site.xml, or empty.
func ReadSide(name, site string) (*Side, error) {
	s := &Side{Name: name}
	var err error
	if site != "" {
		defaults, err := noSite()
		if err != nil {
			return nil, err
		}
		if s.Site, err = conf.Load(conf.Options{Base: defaults, Files: []string{absolute(site)}}); err != nil {
			return nil, err
		}
	}
	switch name {
	case Recorded:
		if site != "" {
			return nil, fmt.Errorf("the recorded configuration has properties of its own: %s cannot count for it", site)
		}
		return s, nil
	case Fifo:
		s.Policy = config.FifoPolicy
		return s, nil
	}
	if s.Data, err = conf.ReadFile(name); err != nil {
		return nil, err
	}
	switch root := allocation.RootElement(s.Data); root {
	case allocation.Root:
		s.Policy = config.FairPolicy
	case "configuration":
	default:
		return nil, fmt.Errorf("%s: the root element is %q: a capacity-scheduler.xml has <configuration>, an allocation file of the FairScheduler <%s>",
			name, root, allocation.Root)
	}
	return s, nil
}

func absolute(name string) string {
	if a, err := filepath.Abs(name); err == nil {
		return a
	}
	return name
}

// noSite are YARN's defaults alone.
func noSite() (*conf.Properties, error) {
	return conf.Load(conf.Options{Read: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
}

// monitors is how often the ResourceManager tends queues.
type monitors struct{ shareEvery, deleteEvery, preemptEvery int64 } // milliseconds; 0: never

// configure makes the configuration for the cluster of a workload.
func (s *Side) configure(w *Workload) (*config.Config, engine.Settings, monitors, error) {
	var m monitors
	cfg, site, err := s.parse(w)
	if err != nil {
		return nil, engine.Settings{}, m, err
	}
	rm, err := conf.ReadResourceManager(site)
	if err != nil {
		return nil, engine.Settings{}, m, err
	}
	start := w.Begun.Settings.ClusterTimestamp
	set, err := setup.Settings(rm, cfg, time.UnixMilli(start), 0)
	if err != nil {
		return nil, set, m, err
	}
	if s.Site == nil {
		r := &w.Begun.Settings
		set.MaxAttempts, set.GlobalMaxAttempts, set.NodeMinimum, set.Correct = r.MaxAttempts, r.GlobalMaxAttempts, r.NodeMinimum, r.Correct
	}
	set.LabelsByNodes = w.Begun.Settings.LabelsByNodes
	// The recording tells which nodes are lost, and the masters of the model do not fall silent.
	set.NodeExpiry, set.MasterExpiry, set.AllocationExpiry, set.UntrackedTimeout = 0, 0, 0, 0
	set.MaxCompleted = MaxApplications
	if cfg.Capacity != nil && s.Site != nil && !w.Trace {
		if rm.Monitors.ShareOut {
			m.shareEvery = max(rm.Monitors.ShareEvery.Milliseconds(), 10)
		}
		if rm.Monitors.DeleteQueues {
			m.deleteEvery = max(cfg.Capacity.ExpirySeconds*1000, 10)
		}
	}
	if cfg.Capacity != nil && cfg.Cluster.Preempts && !w.Trace {
		m.preemptEvery = max(cfg.Capacity.Preemption.Interval, 10)
	}
	return cfg, set, m, nil
}

// parse reads the file.
func (s *Side) parse(w *Workload) (*config.Config, *conf.Properties, error) {
	defaults, err := noSite()
	if err != nil {
		return nil, nil, err
	}
	if s.Name == Recorded {
		cfg, err := w.Begun.Queues.Parse()
		return cfg, defaults, err
	}
	cluster, site := w.Begun.Queues.Cluster, defaults
	if s.Site != nil {
		site = s.Site
		if err := siteCluster(&cluster, site); err != nil {
			return nil, nil, err
		}
	}
	recorded := cluster.Policy
	cluster.Policy, cluster.Allocations, cluster.MappingFile = s.Policy, nil, ""
	var properties []config.Property
	switch s.Policy {
	case config.FairPolicy:
		cluster.Allocations = &config.AllocationFile{Name: s.Name, Text: string(s.Data)}
		properties = setup.Queues(site, s.Policy)
		if s.Site == nil && recorded == config.FairPolicy {
			properties = w.Begun.Queues.Properties
		}
	case config.CapacityPolicy:
		if properties, cluster.MappingFile, err = s.capacity(site); err != nil {
			return nil, nil, err
		}
	case config.FifoPolicy:
		properties = setup.Queues(site, s.Policy)
	}
	if w.Trace { // heartbeats alone schedule
		const asynchronous = config.Prefix + "schedule-asynchronously.enable"
		properties = slices.DeleteFunc(slices.Clone(properties), func(p config.Property) bool { return p.Name == asynchronous })
		properties = append(properties, config.Property{Name: asynchronous, Value: "false"})
	}
	cfg, _, err := config.Parse(properties, cluster)
	return cfg, site, err
}

// capacity reads a capacity-scheduler.xml, and the file of mapping rules that it names.
func (s *Side) capacity(site *conf.Properties) ([]config.Property, string, error) {
	path := absolute(s.Name)
	p, err := conf.Load(conf.Options{Base: site, Files: []string{path}, Read: func(name string) ([]byte, error) {
		if name == path {
			return s.Data, nil
		}
		return conf.ReadFile(name)
	}})
	if err != nil {
		return nil, "", err
	}
	var rules []byte
	if file := setup.MappingFile(p); file != "" {
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		if rules, err = conf.ReadFile(strings.TrimPrefix(file, "file://")); err != nil {
			return nil, "", err
		}
	}
	return setup.Queues(p, config.CapacityPolicy), string(rules), nil
}

// siteCluster has the properties of a site instead of the recorded ones. Types of resources and labels stay those of the
// recording, for its nodes have them.
func siteCluster(c *config.Cluster, site *conf.Properties) error {
	read, err := setup.Cluster(site, site, c.Labels)
	if err != nil {
		return err
	}
	if c.LabelsEnabled && !read.LabelsEnabled {
		return errors.New("nodes of the recording have labels, and the site has yarn.node-labels.enabled=false")
	}
	types, least, most, wait := c.Types, c.MinAllocation, c.MaxAllocation, c.StartWait
	for i, t := range types {
		if j := read.Types.Index(t.Name); j >= 0 {
			least[i], most[i] = read.MinAllocation[j], read.MaxAllocation[j]
		}
	}
	*c = read
	c.Types, c.MinAllocation, c.MaxAllocation, c.StartWait = types, least, most, wait
	return nil
}

// policyName is what the scheduler of a configuration is called.
func policyName(c *config.Config) string {
	switch {
	case c.Fair != nil:
		return "FairScheduler"
	case c.Fifo != nil:
		return "FifoScheduler"
	}
	return "CapacityScheduler"
}
