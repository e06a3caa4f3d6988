package capacity

import (
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/yarn"
)

// updates are the changes of running containers that an attempt waits for.
type updates struct{}

func (s *Scheduler) matchUpdate(a *app, w *demand.Want, c ContainerRef) {}

func (s *Scheduler) forgetUpdates(a *app, c ContainerRef) {}

// Update starts changes; see the facade.
func (s *Scheduler) Update(ref AppRef, list []yarn.ContainerUpdate) []UpdateError { return nil }

// Updated applies changes; see the facade.
func (s *Scheduler) Updated(ref AppRef, out []Changed) []Changed { return out }
