package view

import "github.com/heddle-project/heddle/yarn"

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
}

// Setting is a property with a value.
type Setting struct{ Name, Value string }
