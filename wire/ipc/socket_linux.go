package ipc

import "golang.org/x/sys/unix"

// endEvents tell that the peer sends no more.
const endEvents = unix.POLLRDHUP
