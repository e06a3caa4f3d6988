package resourcemanager

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/secrets"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
)

// delegation issues delegation tokens: every answer waits until the store has
// what it promises.
type delegation struct {
	keeper *secrets.Delegation
	loop   *loop.Loop
}

// openDelegation takes over the tokens that were stored.
func (t *term) openDelegation(s *state.Snapshot) {
	set := &t.settings.Tokens
	t.delegation.keeper = secrets.NewDelegation(secrets.Rolling{Length: t.storedKeyLength()}, secrets.Lifetimes{
		KeyInterval: set.DelegationKeyUpdate, Renewal: set.DelegationRenew, Total: set.DelegationMaxLifetime, Scan: set.DelegationScan}, time.Now)
	if s == nil {
		return
	}
	if err := t.delegation.keeper.Restore(s.DelegationKeys, s.DelegationTokens, s.DelegationSequence); err != nil {
		t.Log.Error("some delegation tokens cannot be used any more", "error", err)
	}
}

// startDelegation begins to issue tokens. Without a key that is stored none can be.
func (t *term) startDelegation() {
	t.delegation.loop = t.loop
	if keys := t.delegation.keeper.Start(); len(keys) > 0 {
		t.delegation.store(keys, func(err error) {
			if err != nil {
				t.fail(fmt.Errorf("cannot store the key of delegation tokens: %w", err))
			}
		})
	}
}

// tendDelegation makes new keys and removes expired tokens.
func (t *term) tendDelegation(ctx context.Context) {
	x := &t.delegation
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(time.Until(x.keeper.Due()), time.Second)):
		}
		if ops := x.keeper.Tick(); len(ops) > 0 {
			x.store(ops, func(err error) {
				if err != nil {
					t.Log.Error("cannot store a change of the delegation tokens", "error", err)
				}
			})
		}
	}
}

func (x *delegation) store(ops []state.Op, done func(error)) {
	x.loop.Post(engine.Remember{Ops: ops, Ticket: x.loop.Expect(func(_ any, err error) { done(err) })})
}

// storeOrUndo stores a change, or takes it back.
func (x *delegation) storeOrUndo(c secrets.Amendment, done func(error)) {
	x.store(c.Ops, func(err error) {
		if err != nil {
			x.keeper.Undo(c)
		}
		done(err)
	})
}

func callerOf(c *ipc.Identity) secrets.Caller {
	return secrets.Caller{User: c.User, Short: c.User, RealUser: c.RealUser}
}

// Issue implements client.Delegation.
func (x *delegation) Issue(c *ipc.Identity, renewer string, done func(token.Token, error)) {
	t, change, err := x.keeper.Issue(callerOf(c), renewer)
	if err != nil {
		done(t, err)
		return
	}
	x.storeOrUndo(change, func(err error) { done(t, err) })
}

// Renew implements client.Delegation.
func (x *delegation) Renew(c *ipc.Identity, t token.Token, done func(int64, error)) {
	until, change, err := x.keeper.Renew(t, c.User)
	if err != nil {
		done(0, err)
		return
	}
	x.storeOrUndo(change, func(err error) { done(until, err) })
}

// Cancel implements client.Delegation.
func (x *delegation) Cancel(c *ipc.Identity, t token.Token, done func(error)) {
	change, err := x.keeper.Cancel(t, callerOf(c))
	if err != nil {
		done(err)
		return
	}
	x.storeOrUndo(change, done)
}
