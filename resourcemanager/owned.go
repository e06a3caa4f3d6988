package resourcemanager

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// watchOwner asks the store in every period whether it is still this ResourceManager's, so that one that stores nothing for long hears of
// another one that has become active, too. A store that is away is the committer's business.
func (t *term) watchOwner(ctx context.Context, period time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(period, leastPeriod)):
		}
		if err := t.store.Commit(ctx, nil); errors.Is(err, store.ErrFenced) {
			t.fail(&loop.Loss{Kind: loop.Fenced, Err: err})
			return
		}
	}
}
