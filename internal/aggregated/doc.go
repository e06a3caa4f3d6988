// Package aggregated is the format and the place of aggregated logs: the logs of an
// application's containers, which NodeManagers write to a file system and yarn logs
// reads there. Apache Hadoop's own command reads the files that are written here, and
// Apache's files can be read here.
//
// One file holds what one node has of one application. It is a TFile of Hadoop,
// which is a list of records in blocks, with indexes at its end:
//
//	magic | data blocks | TFile.meta | TFile.index | BCFile.index | index of the last three | trailer
//
// Records, in this order, have as keys VERSION, APPLICATION_ACL,
// APPLICATION_OWNER, and then the id of each container, whose value is its log
// files one after the other. Writer makes such a file, Reader reads one, both
// streaming: a file of any size takes the same memory. The Reader goes from the
// beginning to the end and needs no index, so that it serves any source and
// shows what there is of a TFile that was never finished. What it reads comes
// from directories that users can write to: nothing in it is trusted, and
// every number in it is bounded.
//
// Hadoop's other format, the indexed file, has log files, each compressed by itself, and
// after them an index in Java's serialization, of which readJava and javaWriter implement
// what the index needs. Each further round of logs is appended with an index of all rounds
// up to it. IndexedWriter creates an indexed file or appends to one; a Store opens one.
//
// Layout says where the files are; Store finds those of an application.
package aggregated
