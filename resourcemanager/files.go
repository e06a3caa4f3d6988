package resourcemanager

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/lint"
	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/yarn"
)

// readCluster reads what the scheduler must know beside its queue file.
func (p *process) readCluster(site *conf.Properties) (config.Cluster, error) {
	types := site
	if file := filepath.Join(p.Dir, "resource-types.xml"); exists(file) {
		var err error
		if types, err = conf.Load(conf.Options{Base: site, Files: []string{file}}); err != nil {
			return config.Cluster{}, err
		}
	}
	return setup.Cluster(site, types, nil)
}

// readCluster is readCluster of the process, but once the term has queues the highest priority is what it was refreshed to last.
func (t *term) readCluster(site *conf.Properties) (config.Cluster, error) {
	c, err := t.process.readCluster(site)
	if t.access.schedule.Load() != nil {
		c.MaxPriority = t.maxPriority.Load()
	}
	return c, err
}

// readSchedule reads and checks the scheduler's configuration: for the
// CapacityScheduler, capacity-scheduler.xml over the site files; for the FairScheduler its allocation file. size is what the nodes have
// together, zero before there are any. A refresh reads the queue file, whatever is kept.
func (t *term) readSchedule(site *conf.Properties, size yarn.Resource, refresh bool) (*config.Config, error) {
	cluster, err := t.readCluster(site)
	if err != nil {
		return nil, err
	}
	if !t.recovering {
		cluster.StartWait = 0 // nothing has to come back before the first container is placed
	}
	if started := t.access.schedule.Load(); started != nil {
		cluster.Policy = started.Cluster.Policy // a refresh changes queues, not who decides
	}
	switch cluster.Policy {
	case config.FairPolicy:
		return t.fairSchedule(site, cluster)
	case config.FifoPolicy:
		cfg, _, err := config.Parse(nil, cluster)
		return cfg, err
	}
	stamp := stampOf(t.queueFilePath())
	t.queueFile.read.Store(&stamp)
	queues, file, err := t.queueProperties(site, refresh)
	if err != nil {
		return nil, err
	}
	if err := readMapping(queues, &cluster); err != nil {
		return nil, err
	}
	in := setup.Lint(file, queues, cluster)
	in.Size = size
	if !t.checks {
		t.logFindings(lint.Check(in))
	}
	cfg, _, err := config.Parse(setup.Queues(queues, cluster.Policy), cluster)
	return cfg, err
}

// scheduleOf is the CapacityScheduler's configuration of queues over a site's files.
func (t *term) scheduleOf(site, queues *conf.Properties) (*config.Config, error) {
	cluster, err := t.readCluster(site)
	if err != nil {
		return nil, err
	}
	if !t.recovering {
		cluster.StartWait = 0
	}
	cluster.Policy = t.access.schedule.Load().Cluster.Policy
	if err := readMapping(queues, &cluster); err != nil {
		return nil, err
	}
	cfg, _, err := config.Parse(setup.Queues(queues, cluster.Policy), cluster)
	return cfg, err
}

// readMapping reads the file of mapping rules that the queues' properties name, if they name one.
func readMapping(queues *conf.Properties, cluster *config.Cluster) error {
	rules := setup.MappingFile(queues)
	if rules == "" {
		return nil
	}
	content, err := conf.ReadFile(rules)
	if err != nil {
		return fmt.Errorf("cannot read the mapping rules (%s): %w", placement.PropJSONFile, err)
	}
	cluster.MappingFile = string(content)
	return nil
}

// maxFindings is how many findings of the linter are logged; yarn queue -lint
// shows all of them.
const maxFindings = 200

// logFindings logs what yarn queue -lint says about the queue file. What is
// refused is refused by the scheduler, not here.
func (p *process) logFindings(findings []lint.Finding) {
	levels := map[lint.Severity]slog.Level{lint.Error: slog.LevelError, lint.Warning: slog.LevelWarn, lint.Hint: slog.LevelInfo}
	for i, f := range findings {
		if i == maxFindings {
			p.Log.Warn("not all findings about the queues are shown: see yarn queue -lint", "logger", "scheduler", "more", len(findings)-i)
			return
		}
		p.Log.Log(context.Background(), levels[f.Severity], f.String(), "logger", "scheduler")
	}
}
