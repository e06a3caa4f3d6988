package resourcemanager

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// maxPlanned bounds the applications that one finding of a plan names.
const maxPlanned = 100

// Plan implements access.QueueConf. Both configurations are tried on schedulers of their own, on as much of each partition as the nodes have now; what
// is used is as it is in the one that runs.
func (a *queueAccess) Plan(ctx context.Context, c webgate.Caller, list []config.Setting) (access.Plan, error) {
	if err := a.mayLook(c); err != nil {
		return access.Plan{}, err
	}
	kept := a.queues.kept.Load()
	values, err := valuesOf(list)
	if err != nil {
		return access.Plan{}, refusedAs(err)
	}
	out := access.Plan{Version: kept.Version, Changes: differencesOf(confstore.Diff(a.queueValues(kept), values))}
	cfg, err := a.checkQueues(ctx, values, kept.Version+1)
	if err != nil {
		out.Refusal = err.Error()
		return out, nil //nolint:nilerr // the refusal is the answer
	}
	now, err := a.Cluster(ctx, view.Queues|view.Nodes|view.Applications)
	if err != nil {
		return out, err
	}
	before, err := tried(a.access.schedule.Load(), now)
	if err != nil {
		return out, err
	}
	after, err := tried(cfg, now)
	if err != nil {
		out.Refusal = "Failed to re-init queues : " + err.Error()
		return out, nil //nolint:nilerr // likewise
	}
	labels := []string{""}
	for _, l := range knownLabels(now) {
		labels = append(labels, l.Name)
	}
	p := &planning{now: now, before: before, after: after, labels: labels, dominant: cfg.Dominant}
	out.Queues = p.queues()
	out.Findings = p.findings()
	return out, nil
}

// tried are the queues of a configuration on as much as the usable nodes of each partition have together.
func tried(cfg *config.Config, now *view.Cluster) (*queue.Snapshot, error) {
	s, err := scheduler.New(cfg)
	if err != nil {
		return nil, err
	}
	var labels []scheduler.Label
	for _, l := range knownLabels(now) {
		labels = append(labels, scheduler.Label(l))
	}
	s.SetLabels(labels)
	totals := map[string]yarn.Resource{}
	for _, n := range now.Nodes {
		if n.State.Usable() {
			label := ""
			if len(n.Labels) > 0 {
				label = n.Labels[0]
			}
			totals[label] = totals[label].Add(n.Total)
		}
	}
	for i, label := range sortedKeys(totals) {
		s.AddNode(scheduler.Node{ID: yarn.NodeID{Host: fmt.Sprintf("partition-%d", i), Port: 1}, Label: label, Total: totals[label]})
	}
	return s.Queues(), nil
}

// knownLabels are those of the cluster.
func knownLabels(now *view.Cluster) []view.Label {
	if now.Labels == nil {
		return nil
	}
	return now.Labels.Known
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

type planning struct {
	now           *view.Cluster
	before, after *queue.Snapshot
	labels        []string
	dominant      bool // all types of resources count, not memory alone
}

// fits tells whether what is used is within a limit.
func (p *planning) fits(used, limit yarn.Resource) bool {
	return used.MemoryMB() <= limit.MemoryMB() && (!p.dominant || used.FitsIn(limit))
}

// queues are all queues of either configuration, in each partition where they may have anything.
func (p *planning) queues() (out []access.PlannedQueue) {
	paths := map[string]bool{}
	for _, s := range []*queue.Snapshot{p.before, p.after} {
		for i := range s.Queues {
			paths[s.Queues[i].Path] = true
		}
	}
	for _, path := range sortedKeys(paths) {
		for _, label := range p.labels {
			q := access.PlannedQueue{Path: path, Label: label, Before: shareOf(p.before, path, label), After: shareOf(p.after, path, label)}
			if info, ok := p.now.Queues.ByPath(path); ok {
				q.Used = info.In(label).Used
			}
			if q.Before != nil || q.After != nil {
				out = append(out, q)
			}
		}
	}
	return out
}

// shareOf is what a queue has in a partition; nil: nothing, or there is no such queue.
func shareOf(s *queue.Snapshot, path, label string) *access.PlannedShare {
	info, ok := s.ByPath(path)
	if !ok || info.Capacity == nil {
		return nil
	}
	share, of := info.In(label), info.Capacity.In(label)
	if share.EffectiveMax.IsZero() && share.EffectiveMin.IsZero() && label != "" {
		return nil
	}
	return &access.PlannedShare{State: info.State.String(), Min: share.EffectiveMin, Max: share.EffectiveMax, Capacity: of.AbsoluteCapacity * 100, MaxCapacity: of.AbsoluteMax * 100}
}

// findings are what would be unlike what somebody may expect.
func (p *planning) findings() (out []access.PlanFinding) {
	apps := map[string][]*view.Application{}
	for _, a := range p.now.Applications {
		if !a.State.Final() {
			apps[a.Queue] = append(apps[a.Queue], a)
		}
	}
	for i := range p.now.Queues.Queues {
		q := &p.now.Queues.Queues[i]
		next, stays := p.after.ByPath(q.Path)
		switch {
		case !stays && q.Dynamic:
		case !stays:
			if n := len(apps[q.Path]); n > 0 {
				out = append(out, finding("queue-gone", q.Path, "", apps[q.Path], fmt.Sprintf("the queue is gone, and %d applications are in it", n)))
			}
		default:
			out = append(out, p.about(q, next, apps[q.Path])...)
		}
	}
	return out
}

func finding(kind, path, label string, apps []*view.Application, text string) access.PlanFinding {
	f := access.PlanFinding{Kind: kind, Queue: path, Label: label, Text: text}
	for _, a := range apps[:min(len(apps), maxPlanned)] {
		f.Applications = append(f.Applications, a.ID)
	}
	return f
}

// about compares what is used in a queue with what it is to have.
func (p *planning) about(q, next *queue.Info, apps []*view.Application) (out []access.PlanFinding) {
	slices.SortFunc(apps, func(a, b *view.Application) int {
		return cmp.Or(cmp.Compare(a.SubmitTime, b.SubmitTime), a.ID.Compare(b.ID))
	})
	var waiting []*view.Application
	for _, a := range apps {
		if a.State != yarn.AppRunning {
			waiting = append(waiting, a)
		}
	}
	types := p.now.ResourceTypes
	for _, label := range p.labels {
		if used, most := q.In(label).Used, next.In(label).EffectiveMax; !p.fits(used, most) {
			out = append(out, finding("above-maximum", q.Path, label, nil,
				fmt.Sprintf("%s are used, and the maximum becomes %s: nothing more is placed until less is used", types.Format(used), types.Format(most))))
		}
		if q.Leaf && next.Leaf && q.Capacity != nil {
			if used, limit := q.Capacity.In(label).AMUsed, next.Capacity.In(label).AMLimit; !p.fits(used, limit) {
				out = append(out, finding("over-am-limit", q.Path, label, waiting,
					fmt.Sprintf("ApplicationMasters use %s, and the limit becomes %s: %d applications wait until others end", types.Format(used), types.Format(limit), len(waiting))))
			}
		}
	}
	if !q.Leaf || !next.Leaf || q.Capacity == nil {
		return out
	}
	if most := int(next.Capacity.MaxApps); len(apps) > most {
		out = append(out, finding("over-maximum-applications", q.Path, "", apps[most:], fmt.Sprintf("%d applications are in the queue, and the limit becomes %d: it takes no more until others end", len(apps), most)))
	}
	if most, runs := int(next.Capacity.MaxParallelApps), len(apps)-len(waiting); runs > most {
		out = append(out, finding("over-maximum-parallel-applications", q.Path, "", waiting, fmt.Sprintf("%d applications run, and the limit becomes %d: %d wait until others end", runs, most, len(waiting))))
	}
	if q.State == queue.Running && next.State != queue.Running {
		out = append(out, finding("stopped", q.Path, "", apps, "the queue takes no more applications"))
	}
	return out
}
