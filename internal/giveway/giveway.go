// Package giveway makes long work pause, so that calls are read meanwhile. Go polls the network when a processor has
// nothing to run, and otherwise only every 10 ms: if a few goroutines keep all processors busy, calls that take
// microseconds wait that long. runtime.Gosched does not help, because the goroutine that yields can run again at once.
package giveway

import "time"

const (
	// parts are done in about half a millisecond: records that are stored, lines that are logged.
	parts = 128
	// pause is long enough for a processor to run out of work, and costs a commit of 10,000 records 1 % of its time.
	pause = 100 * time.Microsecond
)

// After pauses for a moment after every 128 parts of the work; done is how many parts are done.
func After(done int) {
	if done%parts == 0 && done > 0 {
		time.Sleep(pause)
	}
}
