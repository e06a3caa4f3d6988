package resourcemanager

import (
	"context"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/secrets"
	"github.com/heddle-project/heddle/resourcemanager/state"
)

// makeKeys makes the keys of this run's tokens.
func (d *Daemon) makeKeys() error {
	t := &d.settings.Tokens
	length := d.keyLength()
	now := time.Now()
	amrm := secrets.Rolling{Interval: t.AMRMKeyRolling, Delay: secrets.ActivationDelay(d.settings.Applications.MasterExpiry), Length: length}
	nodes := secrets.Rolling{Interval: t.NMKeyRolling, Delay: secrets.ActivationDelay(d.settings.Nodes.Expiry), Length: length}
	containers := secrets.Rolling{Interval: t.ContainerKeyRolling, Delay: secrets.ActivationDelay(d.settings.Nodes.Expiry), Length: length}
	for property, how := range map[string]secrets.Rolling{
		"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs":     amrm,
		"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs":        nodes,
		"yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs": containers,
	} {
		if err := how.Check(property); err != nil {
			return err
		}
	}
	d.grants = &grants{amrm: secrets.NewAMRM(amrm, now), nodes: secrets.NewNM(nodes, now), containers: secrets.NewContainers(containers, d.types, now),
		addresses: newAddresses(t.UseIP), issuer: d.started, expiry: d.settings.Allocation.ExpiryInterval, contexts: d.contexts}
	return nil
}

// keyLength is the configured length of keys in bytes, if it is more than ours.
func (d *Daemon) keyLength() int {
	return max(d.settings.Tokens.KeyBits/8, secrets.DefaultKeyLength)
}

// rollKeys replaces keys when their time has come.
func (d *Daemon) rollKeys(ctx context.Context) {
	g := d.grants
	for {
		next := earliest(g.amrm.Due(), g.nodes.Due(), g.containers.Due())
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(time.Until(next), time.Second)):
		}
		now := time.Now()
		g.nodes.Tick(now)
		g.containers.Tick(now)
		if g.amrm.Tick(now) != secrets.Unchanged {
			d.Log.Info("the keys of masters' tokens have been rolled")
			d.saveKeys()
		}
	}
}

// saveKeys stores the keys of masters' tokens; new tokens use them from then on.
func (d *Daemon) saveKeys() {
	keys := d.grants.amrm.State()
	d.loop.Post(engine.Remember{Ops: []state.Op{state.Put(keys)}, Ticket: d.loop.Expect(func(_ any, err error) {
		if err != nil {
			d.Log.Error("cannot store the keys of masters' tokens; the old ones stay in use", "error", err)
			return
		}
		d.grants.amrm.Saved(keys)
	})})
}

func earliest(times ...time.Time) time.Time {
	first := times[0]
	for _, t := range times[1:] {
		if t.Before(first) {
			first = t
		}
	}
	return first
}
