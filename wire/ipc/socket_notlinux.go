//go:build unix && !linux

package ipc

// endEvents are none: only a connection that is reset is noticed before it is read.
const endEvents = 0
