package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/resourcemanager/store/labelfiles"
	"github.com/heddle-project/heddle/yarn"
)

// CheckStore reads what a start would load, and says on out what is damaged. It
// changes nothing. whole tells that nothing is.
func CheckStore(o Options, out io.Writer) (whole bool, err error) {
	return lookAfterStore(o, out, bolt.Check, replica.Check, labelfiles.Check)
}

// RepairStore sets damaged files aside, keeps what can be read of them and says
// on out what is lost.
func RepairStore(o Options, out io.Writer) error {
	now := time.Now()
	_, err := lookAfterStore(o, out,
		func(path string, b bolt.Options) (*sealed.Report, error) { return bolt.Repair(path, b, now) },
		func(c replica.Config) (*replica.Report, error) { return nil, errNoRepair },
		func(ctx context.Context, l labelfiles.Options) (*labelfiles.Report, error) {
			return labelfiles.Repair(ctx, l, now)
		})
	return err
}

func lookAfterStore(o Options, out io.Writer, records func(string, bolt.Options) (*sealed.Report, error),
	copies func(replica.Config) (*replica.Report, error), labels func(context.Context, labelfiles.Options) (*labelfiles.Report, error)) (whole bool, err error) {
	p := &process{Options: o}
	site, err := o.Load()
	if err != nil {
		return false, err
	}
	p.site = site
	if p.settings, err = p.readSettings(site); err != nil {
		return false, err
	}
	cluster, err := p.readCluster(site)
	if err != nil {
		return false, err
	}
	whole = true
	r := &p.settings.Recovery
	kept := r.Enabled && r.Store == storeBolt
	if kept {
		report, err := records(r.Path, bolt.Options{Options: store.Options{Types: cluster.Types}})
		if err != nil {
			return false, fmt.Errorf("the state store (yarn.resourcemanager.heddle.state-store.path): %w", err)
		}
		report.Print(out, "state store")
		for _, id := range lostApplications(report) {
			fmt.Fprintf(out, "lost: %s, of which attempts are there\n", id)
		}
		whole = report.Damage == nil
	}
	if r.Enabled && r.Store == storeRaft {
		report, err := copies(memberConfig(p.settings))
		if err != nil {
			return false, fmt.Errorf("this ResourceManager's copy of the state store (%s): %w", raftPath, err)
		}
		report.Print(out, "copy of the state store")
		fmt.Fprintf(out, "its last entry is %d of term %d\n", report.Entry, report.Term)
		whole, kept = report.Damage == nil, true
	}
	if p.settings.Labels.Enabled {
		l, err := p.labelOptions()
		if err != nil {
			return false, err
		}
		report, err := labels(context.Background(), l)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(out, "node labels %s: there are none yet\n", l.URL)
		case err != nil:
			return false, err
		default:
			printLabels(out, report)
			whole = whole && report.Damage == nil
		}
	} else if keeps(r) && !kept {
		return false, fmt.Errorf("the state store is of the kind %q (yarn.resourcemanager.store.class), which has no sums to check; a start lists in its log what it cannot use", r.Store)
	} else if !kept {
		return false, errors.New("nothing is kept: neither yarn.resourcemanager.recovery.enabled nor yarn.node-labels.enabled is set")
	}
	return whole, nil
}

// errNoRepair is why a copy is not repaired: with less than it had it could make others lose what was acknowledged.
var errNoRepair = errors.New("a copy is not repaired, but made anew from the others': while they run, set it aside with -format-state-store and start this ResourceManager")

// lostApplications are those whose attempts are there and whose own record is not.
func lostApplications(r *sealed.Report) (lost []yarn.ApplicationID) {
	there := map[string]bool{}
	for _, name := range r.Keys(string(state.Applications)) {
		there[name] = true
	}
	for _, x := range r.Lost {
		there[x.Key] = true // told already
	}
	for _, name := range r.Keys(string(state.Attempts)) {
		id, err := yarn.ParseAttemptID(name)
		if app := id.Application; err == nil && !there[app.String()] && !slices.Contains(lost, app) {
			lost = append(lost, app)
		}
	}
	return lost
}

func printLabels(out io.Writer, r *labelfiles.Report) {
	if r.Damage == nil {
		fmt.Fprintf(out, "node labels %s: whole, %d labels, %d nodes\n", r.Directory, len(r.Readable.Known), len(r.Readable.Nodes))
		return
	}
	fmt.Fprintf(out, "node labels %s: damaged\n  %s: %v\n", r.Directory, r.Damage.File, r.Damage.Err)
	was := "how many there were is not known"
	if r.WantLabels >= 0 {
		was = fmt.Sprintf("there were %d and %d", r.WantLabels, r.Nodes)
	}
	fmt.Fprintf(out, "%d labels and %d nodes can be read (%s). Compare them: an entry has no sum of its own\n", len(r.Readable.Known), len(r.Readable.Nodes), was)
	for _, x := range r.Readable.Known {
		fmt.Fprintf(out, "  %s exclusive=%t\n", x.Name, x.Exclusive)
	}
	for _, x := range r.Readable.Nodes {
		fmt.Fprintf(out, "  %s=%s\n", x.Node, x.Label)
	}
	for _, name := range r.Aside {
		fmt.Fprintf(out, "the damaged file is kept as %s\n", name)
	}
	if r.Repaired {
		fmt.Fprintf(out, "repaired: %s has what can be read\n", r.Directory)
	}
}
