package yarn

// Reason is why a check said no: a code, what it is about, and the two numbers
// that were compared. The zero Reason means yes. Reasons are values, cheap to
// make on hot paths; text is added at the edge by whoever shows them.
type Reason struct {
	Code    Code
	Subject string // queue path, user, node or property that the limit belongs to
	Needed  Resource
	Limit   Resource
	Count   int64  // for limits on numbers of things: how many there would be
	Max     int64  // and how many are allowed
	Key     string // the setting that says so, and what else it depends on
	Detail  string
}

// OK tells that the check passed.
func (r Reason) OK() bool { return r.Code == "" }

// Code names a reason. The texts are stable: tests, metrics and --output json
// print them.
type Code string
