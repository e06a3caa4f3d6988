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

// CloseOnExec lets no program that this process starts from now on have the descriptors that it was itself started with, beyond standard
// input and output. Otherwise a lock that a script holds by a descriptor would stay held until a daemon that the script started, and
// the last of its containers, has ended. Java's daemons hand on none, either.
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
			syscall.CloseOnExec(n) // one that has been closed meanwhile is none
		}
	}
	return nil
}
