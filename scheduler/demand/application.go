// Package demand holds what one application still wants: its asks by priority
// and place, what they amount to in each partition, and how often nodes passed
// that were less local than it hoped for.
package demand

import "github.com/heddle-project/heddle/yarn"

// Application is what the scheduler must know of an application.
type Application struct {
	ID          yarn.ApplicationID
	User        string
	RealUser    string
	Groups      []string // of the user, the primary one first
	Queue       string   // as submitted; "" is "default"
	Name        string
	Tags        []string
	Priority    int32
	PrioritySet bool
	Label       string // label expression of the submission, inherited by its asks
	LabelSet    bool
	Unmanaged   bool
	AM          yarn.Resource // of the master's container, as asked for
	Recovering  bool
	Placed      bool   // a mapping rule chose the queue; Place sets it
	Reservation string // the queue, below a plan, of the reservation that it was submitted with; "": none
}

// Kept is what the scheduler keeps of an application that it has taken.
type Kept struct {
	ID         yarn.ApplicationID
	User       string
	Label      string
	LabelSet   bool
	Unmanaged  bool
	Recovering bool
}

// Kept is what is kept of the application.
func (a *Application) Kept() Kept {
	return Kept{ID: a.ID, User: a.User, Label: a.Label, LabelSet: a.LabelSet, Unmanaged: a.Unmanaged, Recovering: a.Recovering}
}

// Attempt is one try at running an application's master.
type Attempt struct {
	ID             yarn.AttemptID
	AM             yarn.Resource // capability of the master's container, normalised
	AMLabel        string        // partition of the master's container
	StartWall      int64         // milliseconds; orders attempts under the fair policy
	KeepContainers bool          // live containers of the attempt before come along
	Epoch          int64         // upper bits of the numbers of its containers
}
