package bolt

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
)

// releaseTimeout bounds the wait for bbolt to close a file. It takes long only
// when a panic in a damaged file has left one of bbolt's locks held.
const releaseTimeout = 5 * time.Second

var errDamaged = errors.New("the file is damaged: restore a copy, or move it away to start without recovery")

// guard turns the panics with which bbolt meets a damaged file, and the fault
// of reading a mapped file that was cut short, into errors.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if failure := damage(recover()); failure != nil {
			err = failure
		}
	}()
	return f()
}

func damage(panicked any) error {
	if panicked == nil {
		return nil
	}
	return fmt.Errorf("%w (%v)", errDamaged, panicked)
}

func release(db *bbolt.DB) error {
	done := make(chan error, 1)
	go func() { done <- guard(db.Close) }()
	select {
	case err := <-done:
		return err
	case <-time.After(releaseTimeout):
		return fmt.Errorf("bbolt did not let go of the file within %v; the lock stays until the process ends", releaseTimeout)
	}
}
