// Package state has what the ResourceManager stores: the records, the changes made to
// them and the snapshot that is read at a start.
//
// Everything is a plain value. The engine makes Ops, a store makes them durable and
// later returns a Snapshot; neither knows the other. Package store/record encodes the
// records.
//
// All times are wall-clock milliseconds since 1970 in UTC; zero means "not yet"
// or "none".
package state
