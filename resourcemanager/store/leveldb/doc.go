// Package leveldb reads what Hadoop's LeveldbRMStateStore has stored, once and without changing anything, so that another store can have it.
//
// The directory is that of the database (yarn-rm-state) or the one above it. Its lock is taken as LevelDB itself takes it, so that no
// ResourceManager that has it open is read. Files whose sums are wrong are refused. The end of a log that a write left behind when its
// process ended is passed over, as LevelDB does: nobody was told that it is stored.
package leveldb
