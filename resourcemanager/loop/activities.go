package loop

import (
	"context"

	"github.com/heddle-project/heddle/resourcemanager/view"
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

// Rooms is what a leaf, or a user there, could still get; see engine.Rooms.
func (l *Loop) Rooms(ctx context.Context, path, user string) (out []view.Room, err error) {
	got := make(chan []view.Room, 1)
	if err := l.aside(ctx, func() { got <- l.cfg.Engine.Rooms(l.cfg.Clock.Now(), path, user) }); err != nil {
		return nil, err
	}
	return <-got, nil
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
