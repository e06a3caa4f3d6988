// Package secrets keeps the ResourceManager's keys and issues the tokens that
// are signed with them:
//
//	AMRM        an attempt's master logs in to the ResourceManager
//	NM          an attempt's master logs in to a node
//	Containers  a master may start a container on a node
//	Delegation  a user's client logs in to the ResourceManager
//
// The first three roll: every Interval a next key is made, and after Delay it
// becomes the current one. In between tokens signed with either are valid, so
// that nodes and masters have time to get the next key. Nothing here has a
// timer: the caller must call Tick, at the latest at the time that Due returns.
//
// Keys have 32 random bytes unless configured otherwise. Hadoop's default of 64
// bits (hadoop.security.secret-manager.key-length) can be found by exhaustive
// search; stock NodeManagers and masters take keys of any length. A restored
// key of another length stays in use and is rolled early; replacing it at once
// would invalidate the tokens of all running masters.
//
// What must survive a restart is returned to the caller as records of package
// state. All types are safe for use by many goroutines at once.
package secrets
