// Package descriptors says which files the programs that we start find open.
package descriptors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// CloseOnExec keeps the descriptors that this process was started with, but for standard input, output and error, from every program
// that it starts from now on. Otherwise a lock that a script holds by a descriptor would stay held until the daemon that the script has
// started, and the last of its containers, have ended. Java's daemons hand on none, either.
func CloseOnExec() error {
	open, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a system without /proc, where no NodeManager runs
	}
	if err != nil {
		return fmt.Errorf("cannot look for inherited descriptors: %w", err)
	}
	for _, f := range open {
		if n, err := strconv.Atoi(f.Name()); err == nil && n > 2 {
			syscall.CloseOnExec(n) // no harm if it has been closed meanwhile
		}
	}
	return nil
}
