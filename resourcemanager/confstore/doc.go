// Package confstore keeps the configuration of the scheduler while it can be changed: its values, its version, who changed what and when, what was
// refused, and whether a change is still to be confirmed. It knows nothing of queues.
//
// There is one writer, the term of the ResourceManager. It makes the whole next state of a *State and has a Store keep it: all of it or nothing
// (Store.Commit). What a Store has acknowledged is what the next start begins with.
//
//	memory   nothing outlives the process
//	bolt     one file, sealed against damage; it stands for Apache's leveldb
//	fs       Apache's files in a directory, see fs.go
//	zk       Apache's nodes in ZooKeeper, see zk.go
package confstore
