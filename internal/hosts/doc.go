// Package hosts reads the lists of nodes that may and may not belong to the
// cluster (yarn.resourcemanager.nodes.include-path and nodes.exclude-path) and
// tells what they say of a node.
//
// A file whose name ends in .xml, in any case, has the form
//
//	<hosts>
//	  <host><name>node1</name></host>
//	  <host><name>node2, node3</name><timeout>1800</timeout></host>
//	</hosts>
//
// where timeout is how many seconds a graceful decommission may take, negative
// for ever. One that ends in .json has the form
//
//	{"include": [{"host": "node1"}],
//	 "exclude": [{"host": "node2", "timeoutSecs": 1800, "reason": "disk"},
//	             {"host": "node3", "deadline": "2026-11-24T18:00:00Z"}]}
//
// and may serve as both lists; docs/configuration.md has its rules. Any other
// file is a list of names separated by blanks or line ends; a word that begins
// with # makes the rest of its line a comment. The rules of the two other forms are
// those of org.apache.hadoop.util.HostsFileReader, with these differences: the
// include file may be XML too, names match in any case, addresses match in any
// spelling, a node listed by address gets its timeout as well, a byte order mark
// of UTF-8 is passed over, only regular files are read, names with invisible
// characters are refused, and a file that cannot be read is always an error,
// upon which the caller keeps what it has.
package hosts
