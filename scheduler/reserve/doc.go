// Package reserve plans what is promised in time: which reservations a plan takes,
// when each of them gets how much, which are refused, and which leave when the plan
// shrinks or their time is over. It is the planning part of YARN's reservation
// system (package org.apache.hadoop.yarn.server.resourcemanager.reservation in
// Apache's sources); queues, and who may ask, are the business of others.
//
// A plan is a few step functions of time (package timeline): what is committed in
// all, and to each user, apart for reservations that recur and for those that do
// not. An agent looks for room in what is available, a sharing policy says yes or
// no to what it found.
//
// Words: a plan is what a queue has promised, and nothing else. A reservation is one promise of it; elsewhere in the
// scheduler it is a node that is kept for a container. Its definition is what was asked for, of stages; its intervals are
// what it gets. Room is what is available for one. To revoke one is to take it back because the plan has become too
// small, to archive one is to forget it after its end. All times are milliseconds since 1970.
package reserve
