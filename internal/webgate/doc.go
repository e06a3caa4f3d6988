// Package webgate stands before the handlers of every daemon's HTTP port: it finds
// out who calls and whether that caller may change anything, knows which routes there
// are, and bounds times, sizes and connections. The handlers are the daemons' own.
package webgate
