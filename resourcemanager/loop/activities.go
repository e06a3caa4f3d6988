package loop

import (
	"context"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// NodeActivities are what an offer of the node would do now; see engine.NodeActivities.
func (l *Loop) NodeActivities(ctx context.Context, id yarn.NodeID) (out []view.NodeActivities, err error) {
	got := make(chan []view.NodeActivities, 1)
	if err := l.aside(ctx, func() { got <- l.cfg.Engine.NodeActivities(id) }); err != nil {
		return nil, err
	}
	return <-got, nil
}

// AppActivities are what offers of at most so many nodes would do for the application now; see engine.AppActivities.
func (l *Loop) AppActivities(ctx context.Context, id yarn.ApplicationID, most int) (out []view.NodeActivities, err error) {
	got := make(chan []view.NodeActivities, 1)
	if err := l.aside(ctx, func() { got <- l.cfg.Engine.AppActivities(id, most) }); err != nil {
		return nil, err
	}
	return <-got, nil
}

// Gates are the reasons why the application gets nothing now, and what would help; see engine.Gates.
func (l *Loop) Gates(ctx context.Context, id yarn.ApplicationID) (out view.Gates, err error) {
	got := make(chan view.Gates, 1)
	if err := l.aside(ctx, func() { got <- l.cfg.Engine.Gates(l.cfg.Clock.Now(), id) }); err != nil {
		return out, err
	}
	return <-got, nil
}

// roomLooks is how many looks at nodes, or at rows of them, Rooms takes between two commands; the leaf that reaches it is finished.
const roomLooks = 20_000

// Rooms is what leaves, or a user there, could still get, by what nodes had free when the question came to the loop; see engine.Rooms.
func (l *Loop) Rooms(ctx context.Context, leaves []string, user string) ([]view.Room, error) {
	var free *scheduler.Free
	var out []view.Room
	some := func() {
		if free == nil {
			free = l.cfg.Engine.FreeRoom()
		}
		for from := free.Looks(); len(leaves) > 0 && free.Looks()-from < roomLooks; leaves = leaves[1:] {
			out = append(out, l.cfg.Engine.Rooms(l.cfg.Clock.Now(), free, leaves[0], user)...)
		}
	}
	for len(leaves) > 0 {
		if err := l.aside(ctx, some); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ObserveWaits looks at some of those who wait; see engine.ObserveWaits.
func (l *Loop) ObserveWaits(ctx context.Context) error {
	return l.aside(ctx, func() { l.cfg.Engine.ObserveWaits(l.cfg.Clock.Now()) })
}

// Waits is how long applications have waited; see engine.Waits.
func (l *Loop) Waits(ctx context.Context) (out []view.Wait, err error) {
	got := make(chan []view.Wait, 1)
	if err := l.aside(ctx, func() { got <- l.cfg.Engine.Waits() }); err != nil {
		return nil, err
	}
	return <-got, nil
}
