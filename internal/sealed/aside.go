package sealed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// SetAside renames a file, whole or damaged, and its witness, so that the next
// Open makes a new one. The new name ends with the time. It fails when a daemon
// holds the file, and with fs.ErrNotExist when there is none and never was.
// aside is empty when only the witness was left, which it removes.
func SetAside(path string, o Options, now time.Time) (aside string, err error) {
	said, err := hear(path)
	if err != nil {
		return "", err
	}
	file, err := o.lock(path, os.O_RDWR, 0, syscall.LOCK_EX)
	switch {
	case errors.Is(err, fs.ErrNotExist) && said.exists:
		return "", remove(witnessOf(path))
	case err != nil:
		return "", err
	}
	defer file.Close()
	aside = path + ".formatted-" + now.UTC().Format("20060102T150405Z")
	if _, err := os.Lstat(aside); err == nil {
		return "", fmt.Errorf("%s is there already", aside)
	}
	// The witness goes first: a file without one is no damage, one without its file is.
	if err = os.Rename(witnessOf(path), witnessOf(aside)); err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(path, aside)
	}
	if err == nil {
		err = o.syncDir(path)
	}
	return aside, err
}
