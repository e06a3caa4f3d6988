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

// readSchedule reads and checks the scheduler's configuration: for the
// CapacityScheduler, capacity-scheduler.xml over the site files; for the FairScheduler its allocation file. size is what the nodes have
// together, zero before there are any.
func (t *term) readSchedule(site *conf.Properties, size yarn.Resource) (*config.Config, error) {
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
	file := t.queueFilePath()
	stamp := stampOf(file)
	t.queueFile.read.Store(&stamp)
	queues, err := conf.Load(conf.Options{Base: site, Files: []string{file}})
	if err != nil {
		return nil, err
	}
	if rules := setup.MappingFile(queues); rules != "" {
		content, err := conf.ReadFile(rules)
		if err != nil {
			return nil, fmt.Errorf("cannot read the mapping rules (%s): %w", placement.PropJSONFile, err)
		}
		cluster.MappingFile = string(content)
	}
	in := setup.Lint(file, queues, cluster)
	in.Size = size
	t.logFindings(lint.Check(in))
	cfg, _, err := config.Parse(setup.Queues(queues, cluster.Policy), cluster)
	return cfg, err
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
