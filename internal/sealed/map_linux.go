package sealed

import (
	"os"
	"slices"

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

// populate brings all pages of a mapped file into memory: quicker than one page fault for every few pages.
func populate(b []byte) {
	for part := range slices.Chunk(b, populateStep) {
		if unix.Madvise(part, unix.MADV_POPULATE_READ) != nil {
			return // an old kernel, or a page that cannot be read: its reader will see
		}
	}
}

func unmapFile(b []byte) { _ = unix.Munmap(b) }

// dropPages removes the pages of a mapped file from the process's memory. They stay in the system's cache.
func dropPages(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }
