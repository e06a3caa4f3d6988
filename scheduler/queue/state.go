// Package queue is the tree: names, states, ACLs and the ledger of what is used
// in each partition. It decides nothing: policies do. Of them it knows what readers
// see of their queues.
package queue

// State says whether a queue takes new applications.
type State uint8

// The states of a queue. A draining one finishes what it has.
const (
	Running State = iota
	Draining
	Stopped
)

func (s State) String() string { return [...]string{"RUNNING", "DRAINING", "STOPPED"}[s] }
