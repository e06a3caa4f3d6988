// Package labelfiles keeps the labels of the cluster where Apache's
// ResourceManager keeps them, in its format, so that each can read what the other
// wrote (yarn.node-labels.fs-store.root-dir):
//
//	nodelabel.mirror       all labels, then, unless nodes give themselves labels, those of hosts and nodes
//	nodelabel.editlog      changes since the mirror was written
//	nodelabel.witness      not in Apache's: the number of the last change that was acknowledged
//
// Messages are protobuf's, each after its length as a varint: in the mirror an
// AddToClusterNodeLabelsRequest and a ReplaceLabelsOnNodeRequest; in the log each
// after four bytes that tell its kind, 0 labels that are added, 1 nodes that are
// given labels, 2 labels that are removed.
//
// A mirror that this package wrote begins with a field that Apache's skips: the
// number of its change and a checksum of the file (seal.go). It is refused if the
// checksum is wrong, if it is older than the witness says, or if it is gone and
// there is a witness. A mirror without that field is Apache's and is used as it is.
//
// A change writes the whole mirror to nodelabel.mirror.writing, makes it durable
// and renames it, so there is never half a change. This package never writes a
// log: at a start it writes a mirror that includes the log's changes, and removes
// the log. Applying a log again to a mirror that includes it changes nothing.
//
// A log may end in the middle of a change: its writer was killed, and the change
// was not acknowledged. It is left out, with a warning, and the log is kept as
// nodelabel.editlog.torn. Anything else that makes no sense is an error that names
// file and byte.
package labelfiles
