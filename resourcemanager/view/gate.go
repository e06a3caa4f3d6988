package view

import "github.com/heddle-project/heddle/yarn"

// Gates is why an application gets no container now, and what would help.
type Gates struct {
	List       []Gate
	Refused    bool // it was refused by its queue; the gates are those that it would meet now
	Line       Line
	Impossible []Impossible // asks that are never met as the cluster is
	Asks       []Ask        // each kind of what it asks for, the first ones
}

// Gate is one of the reasons why an application gets no container now.
type Gate struct {
	Code          yarn.Code
	Text          string // a sentence
	Setting       string // the properties that govern it; "" if none does
	Origin        string // where these are written, file:line; "" where defaults hold
	Needed, Limit yarn.Resource
	Change        []Setting     // with all of these the limit would not hold the application; none if none is known
	Free          yarn.Resource // or so much has to become free
	Room          bool          // Free says how much
	Never         bool          // no node is, or could become by waiting, large enough
	TooLarge      bool          // what is asked for is by itself more than the limit
	Act           Act           // or this is done, or comes by itself
	Holders       []GateHolder  // who has what would have to become free, or is in the way
	Since         int64         // since when it is known to hold, milliseconds since 1970
}

// Setting is a property with a value. Element is what of an allocation file it stands in, such as "queue root.a"; "" for a property.
type Setting struct{ Name, Value, Element string }

// Act is what somebody does, or what comes by itself.
type Act struct {
	Do, Text string // a word for programs, and a text
	Command  string // that does it; "" if there is none
}

// GateHolder is an application that has what others wait for.
type GateHolder struct {
	App         yarn.ApplicationID
	User, Queue string
	Has         yarn.Resource
	Count       int64 // of containers
}

// Line is a place in line, from 1, among those who wait for the same in a queue; Place 0 is none.
type Line struct {
	Place, Of  int
	For, Queue string
}

// Ask is one kind of what an application asks for, and what holds that.
type Ask struct {
	Priority int32
	Size     yarn.Resource
	Count    int32
	Label    string
	Gate     Gate // the first one
}

// Impossible is an ask that no node could ever meet, whoever ends.
type Impossible struct {
	Priority int32
	Size     yarn.Resource
	Count    int32
	Label    string
	Code     yarn.Code
	Text     string
}

// Room is what a queue, or a user there, could still get in one partition.
type Room struct {
	Queue, Label string
	Largest      yarn.Resource // the largest container that could be placed now; zero: none
	Count        int64         // of that size
	Stop         Gate          // what is in the way of the next one
}

// Wait is how long applications have waited for one cause, milliseconds.
type Wait struct {
	Queue, User string // User "": all users
	Cause       yarn.Code
	Millis      int64
}
