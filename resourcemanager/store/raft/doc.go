// Package raft is a state store that several ResourceManagers keep together (internal/replica): each has all records in a file on its own disk, and a
// batch is durable when most of them have it.
//
// Buckets: those of package bolt, one per table, and
//
//	store    epoch → decimal epoch of the next start, owner → the number that the last Load has drawn
//
// Names and values are those of package bolt. Every batch has the condition that the owner is the one who sends it; Load replaces it, under the condition
// that the epoch is the one that it has read. So whoever has lost the store cannot change anything, whether it knows that or not.
//
// The store is the leader's. Load on another member asks the leader to hand over; that is how an administrator makes a ResourceManager active by force.
package raft
