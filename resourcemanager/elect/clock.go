package elect

import (
	"time"

	"golang.org/x/sys/unix"
)

// began is what the time package's clock counts from, where there is no better one.
var began = time.Now()

// boottime is a clock that goes on while the machine is suspended.
func boottime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(began) + time.Second
	}
	return time.Duration(t.Nano())
}
