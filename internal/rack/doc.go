// Package rack finds the rack of a host, by a script, by a table or not at all.
//
// compat: a script and a table are asked for the address that the host's name
// resolves to, as Hadoop does, and for the name itself if it does not resolve.
// A table may also hold the name.
//
// Answers are kept until Reload. Hosts without an answer share the next run of
// the script, so that a thousand nodes that register at once need ten runs. A
// caller waits a bounded time; then, and whenever no rack can be found, the
// host is in /default-rack for the time being, and is asked for again later.
package rack
