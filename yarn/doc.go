// Package yarn is the vocabulary of the project: identifiers, resources, asks and
// states, as operators know them from commands, REST and logs. It imports
// nothing of ours, does no I/O and holds no behaviour beyond parsing, printing
// and comparing.
//
// Identifiers are small comparable values. Their texts are those that every
// Hadoop tool prints and parses:
//
//	application_1700000000000_0007
//	appattempt_1700000000000_0007_000001
//	container_1700000000000_0007_01_000002
//	container_e03_1700000000000_0007_01_000002   after the third restart
//	host:port                                     a node
package yarn
