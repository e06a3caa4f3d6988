package view

import "github.com/heddle-project/heddle/yarn"

// NodeActivities are what an offer of a node would do now, or for an application offers of several.
type NodeActivities struct {
	Node  yarn.NodeID // zero where no offer comes to the application
	Label string      // of the partition whose asks are served
	State string      // ALLOCATED, RESERVED or SKIPPED
	Why   Refusal
	Root  *Activity
	Queue string // of an application: its full path
	Cut   bool   // there was more
}

// Activity is what an offer did with a queue, an application, or what one asks for under a key.
type Activity struct {
	Name      string
	App       bool // Priority is that of an application
	Request   bool // Priority and RequestID are of what is asked for
	Priority  int32
	RequestID int64
	State     string // ACCEPTED, ALLOCATED, RESERVED or SKIPPED
	Why       Refusal
	Below     []*Activity
}

// Refusal is why nothing came of an activity: Hadoop's words for it, what it is about, and a sentence. The zero value is none.
type Refusal struct {
	Code   yarn.Code
	Short  string // what Hadoop says
	Text   string // a sentence with amounts and settings
	OfNode bool   // it lies with the node
}
