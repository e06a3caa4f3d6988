// Package sealed keeps buckets of keys and values in one file of bbolt and
// notices when the file was damaged. It is what the daemons' stores have in common.
//
// bbolt has checksums of its meta pages and of nothing else. So every transaction also writes
// a seal into the file: a number that rises by one, the transaction's number in
// bbolt, and for each bucket how many records it has and the sum modulo 2^128
// of their hashes. After the commit the same seal goes to a second, small file,
// the witness: PATH.witness. It is not synced each time; yet after a kill it has
// the last transaction that was acknowledged, and it shows that there was a
// store if the file is gone or empty.
//
// Open reads the whole file before bbolt sees it: both meta pages, every page
// that is in use, the list of free ones, every record. What does not agree with
// itself, with the seal or with the witness is damage, and the file is refused
// and left as it is (*DamageError). For this the file is mapped into memory; Check and
// Repair read it page by page, so that one bad sector costs them one page. Check reports the damage, Repair sets the file aside
// and keeps what can be read. docs/decisions/0006 has the reasons.
package sealed
