// Package labelfiles keeps the labels of the cluster where Apache's
// ResourceManager keeps them, in its format, so that either finds what the other
// has left (yarn.node-labels.fs-store.root-dir):
//
//	nodelabel.mirror       all labels, then, unless nodes name their own, all that nodes were given
//	nodelabel.editlog      changes since the mirror was written
//	nodelabel.witness      ours alone: the number of the last change that was acknowledged
//
// Messages are protobuf's, each after its length as a varint: in the mirror an
// AddToClusterNodeLabelsRequest and a ReplaceLabelsOnNodeRequest; in the log each
// after four bytes that tell its kind, 0 labels that are added, 1 nodes that are
// given labels, 2 labels that are removed.
//
// A mirror of ours begins with a field that Apache's passes over: the number of
// its change and a sum of the file (seal.go). One that does not fit its sum, or
// is older than the witness knows, or is gone although there is a witness, is
// refused. A mirror without that field is Apache's and taken as it is.
//
// A change writes the whole mirror to nodelabel.mirror.writing, makes it durable
// and renames it, so there is never half a change. The log is only read: what a
// start finds in it goes into the mirror, and it is emptied. To read a log again
// over a mirror that has it already changes nothing.
//
// A log may end within a change: its writer was killed, and nobody was told that
// the change was made. It is left out, with a warning, and the log is kept aside
// as nodelabel.editlog.torn. Anything else that does not make sense is an error
// that names file and byte.
package labelfiles
