// Package apache is the form that Hadoop's state stores give to records, and the names
// that they keep them under, for the stores that can be handed to a ResourceManager of
// Apache's and taken from one.
//
// What Hadoop has a record for is stored as that: protobuf messages, a Writable of a
// delegation key, a plain number. What such a record has that is not known here is kept
// (Unknown) and written back. What a record of ours has that Hadoop has no field for is
// in fields of high numbers, which Hadoop passes over. Records that Hadoop does not
// have are those of package record, below a name of our own.
//
// A submission context is kept as it was received. Where the queue, the priority or the
// id in force are other ones, fields that say so are appended to it: of a field that
// occurs twice protobuf takes the last.
package apache
