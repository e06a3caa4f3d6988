package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/labelfiles"
	"github.com/heddle-project/heddle/resourcemanager/store/raft"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
)

// openStore opens the state store and the directory of node labels, where configured, and loads what earlier terms have left.
func (t *term) openStore(ctx context.Context) (err error) {
	kept := keeps(&t.settings.Recovery)
	t.openDelegation(nil)
	if kept {
		r, err := t.records(t.site, t.settings, store.Options{Types: t.types})
		if err != nil {
			return fmt.Errorf("cannot open the state store: %w", err)
		}
		r.with(t.following.get())
		if r.kind == storeBolt {
			t.stream = store.NewStream()
			r.bolt.Read, r.bolt.Stream = t.readAhead, t.stream // the bolt store can read single contexts later
		}
		if t.store, err = r.open(t.openBolt); err != nil {
			return err
		}
		t.replicated, _ = t.store.(*raft.Store)
		t.contexts.stored, _ = t.store.(store.Contexts)
		t.Log.Info("applications are kept for a restart", "stateStore", r.where)
		t.warnOfStore(&r)
	} else {
		t.Log.Info("no application is kept for a restart: yarn.resourcemanager.recovery.enabled is not set")
	}
	if t.settings.Labels.Enabled {
		labels, err := t.openLabels(ctx)
		if err != nil {
			return fmt.Errorf("cannot keep node labels (yarn.node-labels.fs-store.root-dir): %w", err)
		}
		t.store = labels
	}
	if t.store == nil {
		return nil
	}
	began := time.Now()
	var had store.Copy
	if f := t.following.get(); f != nil {
		had = f.Copy()
	}
	snapshot, err := t.store.Load(ctx)
	if err != nil {
		return cannotLoad(err, t.stream.Each(ctx, func(store.Part) {})) // whatever else is wrong is told, too
	}
	t.Log.Info("what an earlier ResourceManager has stored is loaded", "applications", len(snapshot.Applications)+snapshot.Coming.Count, "attempts", len(snapshot.Attempts),
		"tookMillis", time.Since(began).Milliseconds(), "ofCopy", had.Whole, "copyWasBehind", had.Behind)
	t.snapshot = snapshot
	if !kept {
		return nil
	}
	t.epoch = snapshot.Epoch
	if t.started = snapshot.Started(t.stamp); t.started != t.stamp {
		t.Log.Warn("the clock was set back: applications are stored with later ids than it gives, so ids of this start are later still",
			"clock", time.UnixMilli(t.stamp), "idsFrom", time.UnixMilli(t.started))
	}
	t.grants.issuer = t.started
	t.openDelegation(snapshot)
	for _, q := range snapshot.Quarantined {
		t.leaveAlone(q.Key, q.Reason)
	}
	t.recovering = len(snapshot.Applications)+snapshot.Coming.Count > 0
	t.grants.amrm.Restore(snapshot.MasterKeys, time.Now())
	return nil
}

// cannotLoad is an error for all reasons why the stores cannot be loaded.
func cannotLoad(why ...error) error {
	if err := errors.Join(why...); err != nil {
		return fmt.Errorf("cannot load what an earlier ResourceManager has stored: %w", err)
	}
	return nil
}

// maxSetAside is how many of the records that cannot be used are shown.
const maxSetAside = 100

// leaveAlone says that a record of the state store cannot be used, and shows it on the page
// "About" and over REST. It stays as it is.
func (t *term) leaveAlone(key state.Key, reason string) {
	t.Log.Error("a record of the state store cannot be used; it stays there as it is", "record", key, "reason", reason)
	if t.aside++; len(t.setAside) < maxSetAside {
		t.setAside = append(t.setAside, access.SetAside{Record: key.String(), Reason: reason})
	}
}

// warnOfStore says that a state store lies where it may not outlive a restart of the machine.
func (t *term) warnOfStore(r *records) {
	const loss = "every application would be lost with it"
	switch r.kind {
	case storeBolt:
		t.warnOfTemporary("the state store", r.where, loss,
			"set yarn.resourcemanager.heddle.state-store.path to a file on a disk that stays, and while the ResourceManager is down move the file and its .witness there")
	case storeFiles:
		if u := r.files.Systems.Resolve(r.files.URL); strings.EqualFold(u.Scheme, "file") {
			t.warnOfTemporary("the state store", u.Path, loss,
				"set yarn.resourcemanager.fs.state-store.uri to a directory on a disk that stays, or on hdfs://, and while the ResourceManager is down move the files there")
		}
	}
}

// storeIsOdd logs what is odd about the state store, and no damage.
func (p *process) storeIsOdd(text string) {
	p.Log.Warn("the state store is used, but odd", "what", text)
}

// openLabels puts the directory of node labels over the state store, if there is one.
func (t *term) openLabels(ctx context.Context) (store.Store, error) {
	o, err := t.labelOptions()
	if err != nil {
		return nil, err
	}
	if u := o.Systems.Resolve(o.URL); strings.EqualFold(u.Scheme, "file") {
		t.warnOfTemporary("the directory of node labels", u.Path, "all labels of the cluster would be lost with it",
			"set yarn.node-labels.fs-store.root-dir to a directory on a disk that stays, or on hdfs://, and while the ResourceManager is down move the files there")
	}
	o.Over = t.store
	return labelfiles.Open(ctx, o)
}

// fileSystems are those that the configuration leads to. Who waits for HDFS says so.
func (p *process) fileSystems(site *conf.Properties) (*filesystem.Systems, error) {
	return filesystem.New(filesystem.Config{Default: site.Get("fs.defaultFS"), Property: site.Get, Site: site.HDFSSite(),
		Waiting: func(text string) { p.Log.Warn("waiting for HDFS", "why", text) }})
}

// labelOptions say where labels are kept.
func (p *process) labelOptions() (labelfiles.Options, error) {
	l := &p.settings.Labels
	text := l.Directory
	if text == "" {
		text = "file:///tmp/hadoop-yarn-" + p.User + "/node-labels"
	}
	url, err := filesystem.ParseURL(text)
	if err != nil {
		return labelfiles.Options{}, err
	}
	systems, err := p.fileSystems(p.site)
	if err != nil {
		return labelfiles.Options{}, err
	}
	return labelfiles.Options{Systems: systems, URL: url, User: p.User, Nodes: !l.ByNodes, NoLog: l.NoLog,
		Limits: labelfiles.Limits{Labels: engine.MaxLabels, Nodes: engine.MaxLabelledNodes}, Log: p.Log}, nil
}
