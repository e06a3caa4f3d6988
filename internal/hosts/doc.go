// Package hosts reads the include and exclude lists of nodes
// (yarn.resourcemanager.nodes.include-path and nodes.exclude-path) and tells
// what they say of a node.
//
// A file whose name ends in .xml, in any case, has the form
//
//	<hosts>
//	  <host><name>node1</name></host>
//	  <host><name>node2, node3</name><timeout>1800</timeout></host>
//	</hosts>
//
// where timeout is how many seconds a graceful decommission may take; negative
// is without a limit. One that ends in .json has the form
//
//	{"include": [{"host": "node1"}],
//	 "exclude": [{"host": "node2", "timeoutSecs": 1800, "reason": "disk"},
//	             {"host": "node3", "deadline": "2026-11-24T18:00:00Z"}]}
//
// and may be both lists. Any other file has names separated by blanks or line
// ends; a word that begins with # makes the rest of its line a comment.
// docs/configuration.md has the rules for operators.
//
// XML and text follow org.apache.hadoop.util.HostsFileReader, with these
// differences: the include list may be XML too, names match in upper and lower
// case, addresses match in any spelling, an entry by address has its timeout as
// well, a byte order mark of UTF-8 is ignored, only regular files are read, names
// with invisible characters are refused, and a file that cannot be read is an
// error; the caller then keeps the lists that it has.
package hosts
