// Package state holds what the ResourceManager must remember: the durable
// records, the changes made to them and the snapshot read back at start.
//
// Everything is a plain value. The pure engine makes Ops, a store makes them
// durable and later hands back a Snapshot; neither sees the other. How records
// become bytes is the business of the stores.
//
// All times are wall-clock milliseconds since 1970 in UTC; zero means "not yet"
// or "none".
package state
