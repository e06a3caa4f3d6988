// Package engine is a sample.
package engine

import (
	"net" // want "must not import net"
	later "time"
)

// A dials at a time of its own.
func A() (net.Conn, later.Time) {
	return nil, later.Now() // want "must not use time.Now"
}
