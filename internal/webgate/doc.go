// Package webgate is the door of every daemon's HTTP port: it decides who asks
// and whether that caller may change anything, knows which routes there are, and
// bounds times, sizes and connections. What lies behind the door is the daemons'.
package webgate
