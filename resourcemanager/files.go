package resourcemanager

import (
	"fmt"
	"path/filepath"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/hosts"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/scheduler/config"
)

// readLists reads the include and exclude lists.
func (d *Daemon) readLists(site *conf.Properties) error {
	r := conf.NewReader(site)
	include, err := hosts.ReadFile(r.String("yarn.resourcemanager.nodes.include-path", ""))
	if err != nil {
		return fmt.Errorf("cannot read the include list (yarn.resourcemanager.nodes.include-path): %w", err)
	}
	exclude, err := hosts.ReadFile(r.String("yarn.resourcemanager.nodes.exclude-path", ""))
	if err != nil {
		return fmt.Errorf("cannot read the exclude list (yarn.resourcemanager.nodes.exclude-path): %w", err)
	}
	d.lists.Store(&hosts.Lists{Include: include, Exclude: exclude})
	return nil
}

// readCluster reads what the scheduler must know beside its queue file.
func (d *Daemon) readCluster(site *conf.Properties) (config.Cluster, error) {
	types := site
	if file := filepath.Join(d.Dir, "resource-types.xml"); exists(file) {
		var err error
		if types, err = conf.Load(conf.Options{Base: site, Files: []string{file}}); err != nil {
			return config.Cluster{}, err
		}
	}
	return setup.Cluster(site, types, nil)
}

// readSchedule reads and checks the scheduler's configuration:
// capacity-scheduler.xml over the site files.
func (d *Daemon) readSchedule(site *conf.Properties) (*config.Config, error) {
	queues, err := conf.Load(conf.Options{Base: site, Files: []string{filepath.Join(d.Dir, "capacity-scheduler.xml")}})
	if err != nil {
		return nil, err
	}
	cluster, err := d.readCluster(site)
	if err != nil {
		return nil, err
	}
	cfg, findings, err := config.Parse(setup.Queues(queues), cluster)
	for _, f := range findings {
		d.Log.Warn(f.String(), "logger", "scheduler")
	}
	return cfg, err
}
