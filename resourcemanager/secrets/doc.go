// Package secrets keeps the ResourceManager's keys and issues the tokens that
// are signed with them:
//
//	AMRM        an attempt's master towards the ResourceManager
//	NM          an attempt's master towards a node
//	Containers  permission to start a container on a node
//	ClientToAM  a client towards an attempt's master
//	Delegation  a user towards the ResourceManager
//
// The first three roll: every Interval a next key is made, and after Delay it
// becomes the current one. In between both verify, so that nodes and masters
// have time to learn the next. Nothing here owns a clock or a timer: who does
// calls Tick with the time, at the latest when Due says so.
//
// Keys have 32 random bytes unless configured otherwise. Hadoop's default of 64
// bits (hadoop.security.secret-manager.key-length) can be searched exhaustively;
// on the wire a key is bytes of any length, and stock NodeManagers and masters
// take longer ones as they are. Restored keys of another length are used as they
// are too, and replaced by an early roll instead of at once, which would void
// the tokens of all running masters.
//
// What must survive a restart is handed to the caller as records of package
// state. All types are safe for use by many goroutines at once.
package secrets
