package resourcemanager

import (
	"context"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/secrets"
	"github.com/heddle-project/heddle/resourcemanager/state"
)

// makeKeys makes the keys of this run's tokens.
func (t *term) makeKeys() error {
	set := &t.settings.Tokens
	length := t.keyLength()
	now := time.Now()
	amrm := secrets.Rolling{Interval: set.AMRMKeyRolling, Delay: secrets.ActivationDelay(t.settings.Applications.MasterExpiry), Length: t.storedKeyLength()}
	nodes := secrets.Rolling{Interval: set.NMKeyRolling, Delay: secrets.ActivationDelay(t.settings.Nodes.Expiry), Length: length}
	containers := secrets.Rolling{Interval: set.ContainerKeyRolling, Delay: secrets.ActivationDelay(t.settings.Nodes.Expiry), Length: length}
	for property, how := range map[string]secrets.Rolling{
		"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs":     amrm,
		"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs":        nodes,
		"yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs": containers,
	} {
		if err := how.Check(property); err != nil {
			return err
		}
	}
	t.grants = &grants{amrm: secrets.NewAMRM(amrm, now), nodes: secrets.NewNM(nodes, now), containers: secrets.NewContainers(containers, t.types, now),
		addresses: newAddresses(set.UseIP), issuer: t.started, expiry: t.settings.Allocation.ExpiryInterval, contexts: t.contexts}
	return nil
}

// keyLength is the configured length of keys in bytes, if it is more than ours.
func (t *term) keyLength() int {
	return max(t.settings.Tokens.KeyBits/8, secrets.DefaultKeyLength)
}

// storedKeyLength is the length of keys that are stored. A ResourceManager of Apache's gives
// up keys of another length than configured, and with them the masters that they let in; so
// where it may take the store over, ours have that length.
func (t *term) storedKeyLength() int {
	if r := &t.settings.Recovery; keeps(r) && r.Store != storeBolt {
		return t.settings.Tokens.KeyBits / 8
	}
	return t.keyLength()
}

// rollKeys replaces keys when their time has come.
func (t *term) rollKeys(ctx context.Context) {
	g := t.grants
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
			t.Log.Info("the keys of masters' tokens have been rolled")
			t.saveKeys()
		}
	}
}

// saveKeys stores the keys of masters' tokens; new tokens use them from then on.
func (t *term) saveKeys() {
	keys := t.grants.amrm.State()
	t.loop.Post(engine.Remember{Ops: []state.Op{state.Put(keys)}, Ticket: t.loop.Expect(func(_ any, err error) {
		if err != nil {
			t.Log.Error("cannot store the keys of masters' tokens; the old ones stay in use", "error", err)
			return
		}
		t.grants.amrm.Saved(keys)
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
