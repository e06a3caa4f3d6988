// Package blackbox records the commands that the loop applies, so that a run of the
// engine can be repeated: the last commands in memory, and all of them in a file if
// that is asked for. sim/rerun replays a file.
//
// A command is encoded when it is applied. So a recording is not affected by later
// changes of a command's slices, keeps no other memory alive, and has a known size.
//
// A recording has no secrets: of records of keys and tokens it has only the keys of
// the records, and commands have no launch contexts. It does have names of users,
// hosts, applications and queues, and diagnostics.
package blackbox
