package sealed

import (
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// mapFile maps a file into memory for reading. It returns nil if that cannot be done.
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

// populateStep is how many bytes populate asks the kernel for at once.
const populateStep = 4 << 20

// populate brings all pages of a mapped file into memory, in the background and until stop is called, so that readers cause fewer page faults.
func populate(b []byte) (stop func()) {
	var stopped atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		for at := 0; at < len(b) && !stopped.Load(); at += populateStep {
			if unix.Madvise(b[at:min(at+populateStep, len(b))], unix.MADV_POPULATE_READ) != nil {
				return // an old kernel, or a page that cannot be read: its reader will see
			}
		}
	})
	return func() { stopped.Store(true); done.Wait() }
}

func unmapFile(b []byte) { _ = unix.Munmap(b) }

// dropPages removes the pages of a mapped file from the process's memory. They stay in the system's cache.
func dropPages(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }
