package sealed

import (
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// mapFile maps a file to be read; nil if that cannot be done.
func mapFile(file *os.File, size int64) []byte {
	if size <= 0 || int64(int(size)) != size {
		return nil
	}
	b, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return b
}

// populateStep is how many bytes are asked for at once.
const populateStep = 4 << 20

// populate asks for all pages of a mapped file, so that whoever reads it need not ask for each. It does so beside the caller, until stop is called.
func populate(b []byte) (stop func()) {
	var stopped atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		for at := 0; at < len(b) && !stopped.Load(); at += populateStep {
			if unix.Madvise(b[at:min(at+populateStep, len(b))], unix.MADV_POPULATE_READ) != nil {
				return // the kernel does not know this
			}
		}
	})
	return func() { stopped.Store(true); done.Wait() }
}

func unmapFile(b []byte) { _ = unix.Munmap(b) }

// forget has the process let go of the pages of a mapped file that are in its memory. They stay in the system's cache.
func forget(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }
