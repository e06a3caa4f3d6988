package core

import "github.com/heddle-project/heddle/yarn"

// Remedy is the smallest change after which a limit no longer holds an application. The zero value is none that is known.
type Remedy struct {
	Settings []Setting     // all of them are needed
	Free     yarn.Resource // or so much has to become free: in the queue, for masters, of the user's, or on the node that the reason names
	Room     bool          // Free says what is needed
	Never    bool          // nothing but a larger node, or a smaller ask, helps
}

// Setting is a property with the value that it would have.
type Setting struct{ Name, Value string }

// Remedy is what would do away with the reason why an application waits. Only the CapacityScheduler knows settings.
func (s *Core) Remedy(_ AppRef, why yarn.Reason) Remedy { return s.LackOf(why) }

// LackOf is what is missing by the amounts of a reason.
func (s *Core) LackOf(why yarn.Reason) (r Remedy) {
	if why.Needed.IsZero() {
		return r
	}
	for i := range why.Needed {
		if lack := why.Needed[i] - why.Limit[i]; lack > 0 {
			r.Free[i], r.Room = lack, true
		}
	}
	return r
}
