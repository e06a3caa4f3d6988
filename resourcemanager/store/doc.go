// Package store is the interface of the stores of the ResourceManager's records.
// Packages memory, bolt and labelfiles implement it; storetest tests
// implementations.
//
// A store is opened, loaded once, given one batch of changes after the other and
// closed. Batches are atomic and durable in the order in which Commit was called:
// when Commit has returned nil the batch and all before it survive any crash.
package store
