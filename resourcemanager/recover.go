package resourcemanager

import (
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// recover hands what was stored to the engine, before any port is open. A
// record that makes no sense is reported and left alone; it stops nothing.
func (d *Daemon) recover() {
	s := d.snapshot
	if s == nil {
		return
	}
	d.snapshot = nil
	attempts := map[yarn.ApplicationID][]state.Attempt{}
	for _, t := range s.Attempts { // by id, so each application's are oldest first
		attempts[t.ID.Application] = append(attempts[t.ID.Application], t)
	}
	cfg := client.Config{Types: d.types, MaxTags: d.settings.Applications.MaxTags, MaxTagLength: d.settings.Applications.MaxTagLength}
	cmd := engine.Recover{Labels: s.Labels}
	for _, r := range s.Applications {
		who := client.Submitter{User: r.User, RealUser: r.RealUser, Groups: d.rights.Groups(r.User), CallerContext: r.CallerContext}
		sub, err := client.Stored(cfg, who, r.Context)
		if err != nil || sub.ID != r.ID {
			d.Log.Error("a stored application cannot be recovered; its record stays in the store", "application", r.ID, "error", err)
			continue
		}
		if done, ok := d.contexts.Keep(r.ID, r.Context); ok {
			done(true)
		}
		r.Context = nil
		cmd.Applications = append(cmd.Applications, engine.RecoveredApplication{Submission: sub, Record: r, Attempts: attempts[r.ID]})
	}
	if len(cmd.Applications)+len(cmd.Labels.Known) > 0 {
		d.Log.Info("recovering", "applications", len(cmd.Applications), "attempts", len(s.Attempts), "labels", len(cmd.Labels.Known), "epoch", s.Epoch)
		d.loop.Post(cmd)
	}
}
