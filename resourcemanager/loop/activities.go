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

// Gates are the reasons why the application gets nothing now; see engine.Gates.
func (l *Loop) Gates(ctx context.Context, id yarn.ApplicationID) (out []view.Gate, err error) {
	got := make(chan []view.Gate, 1)
	if err := l.aside(ctx, func() { got <- l.cfg.Engine.Gates(id) }); err != nil {
		return nil, err
	}
	return <-got, nil
}
