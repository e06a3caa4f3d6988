// Package bolt is a state store in one file of go.etcd.io/bbolt: the store of a
// single ResourceManager that has a local disk.
//
// Layout of the file, one bucket per table:
//
//	heddle                 version → "2.0", epoch → decimal epoch of the next start, seal → see internal/sealed
//	application            application_1700000000000_0007
//	attempt                appattempt_1700000000000_0007_000001
//	amrm-keys              current
//	delegation-key         <key id>
//	delegation-token       <sequence number>
//	delegation-sequence    current
//	node-deadline          <host>:<port>
//	configuration          current
//	labels                 current
//
// Names are state.Key's, values are those of package record. The version is
// that of this layout, major.minor: a file of another major version is refused;
// one of another minor version is used and gets this program's version. A file
// of version 1 has no seal and gets one.
//
// A batch is one transaction, durable when Commit returns (fdatasync). The file
// has mode 0600, for it holds secrets, and is locked while it is open. Beside it
// is its witness, FILE.witness.
//
// With store.Options.Stream, Open and Load return before the applications are read;
// whoever takes these from the stream learns at its end whether the file is whole.
// Commit waits until then.
//
// A damaged file is refused; see Check and Repair. Load quarantines a record that
// is as it was written and still cannot be used.
//
// After a write that fails for any reason but want of space the store is unusable
// until it is opened anew: after a failed fsync the kernel may have dropped what
// was to be written, and report success later.
package bolt
