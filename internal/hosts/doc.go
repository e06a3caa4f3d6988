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
// for ever. Any other file is a list of names separated by blanks or line ends;
// a word that begins with # makes the rest of its line a comment. The rules are
// those of org.apache.hadoop.util.HostsFileReader, with these differences: the
// include file may be XML too, names match in any case, addresses match in any
// spelling, a node listed by address gets its timeout as well, and a file that
// cannot be read is always an error, upon which the caller keeps what it has.
package hosts
