package store

// Follower keeps a copy of what a store holds while another ResourceManager owns it, so that a store which is opened with it need not
// read all again to take over. It changes nothing in the store.
type Follower interface {
	// Copy tells how much of the store the copy has.
	Copy() Copy
	// Close ends it. What it has is lost, unless a store has taken it before. It may be repeated.
	Close() error
}

// Copy is how much of a store a Follower has.
type Copy struct {
	Whole   bool   // all but what is Behind; else a store reads all when it takes over
	Records int    // nodes or records of the copy
	Bytes   int64  // of their values
	Behind  int    // changes that are known and not read yet
	Why     string // what it does or why it has no copy, while it is not Whole
}
