// Package cli is not pure and need not be.
package cli

import "time"

var started = time.Now()
