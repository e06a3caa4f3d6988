// Package blackbox keeps the commands that the loop has applied, so that the
// engine can be played again: the last ones in memory, all of them in a file if
// somebody wants that. sim/rerun plays a file.
//
// A command is encoded when it is applied. So what is kept does not change when
// somebody changes a command's slices later, holds no other memory alive, and its
// size is known.
//
// Nothing here is a secret: of records of keys and tokens only the names are
// kept, and launch contexts are not in commands. Names of users, hosts,
// applications and queues are, and what diagnostics say.
package blackbox
