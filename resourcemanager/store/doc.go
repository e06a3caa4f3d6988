// Package store keeps the ResourceManager's durable records. This package is
// the contract; memory and bolt below it keep them, storetest tests any that
// claims to.
//
// A store is opened, loaded once, then takes one batch of changes after the
// other and is closed. Batches are atomic and durable in the order in which
// Commit was called: when Commit returns nil, the batch and all before it
// survive any crash that follows.
package store
