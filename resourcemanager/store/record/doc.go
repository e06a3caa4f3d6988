// Package record is the binary form of records in packages memory and bolt.
//
// A stored value is
//
//	version byte (1) │ fields │ CRC-32C of all before, big endian (4 bytes)
//
// Fields are those of protobuf's wire format: tag, then a zigzag varint or a
// length and bytes. Zero values are left out, fields are written in the order
// of their numbers, lists in their own order: equal records have equal bytes.
//
// How it may evolve: a new field gets a new number, and its zero means what
// records without it mean; a number is never used again. Readers keep fields
// that they do not know and write them back (Unknown), so nothing of a newer
// version's record is lost in an older version. A change that an older version
// must not read raises the version byte; older versions refuse such a record.
//
// Amounts of resources are stored by the name of the resource type, not by
// position: the order of types may change between two starts.
package record
