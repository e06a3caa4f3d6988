//go:build unix

package ipc

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const canTry = true

func (s *socket) tryRead(fd uintptr) bool {
	b := s.inBuffer()
	for {
		n, err := syscall.Read(int(fd), b.b[:cap(b.b)])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			b.free()
			return false
		case err != nil:
			b.free()
			s.inErr = os.NewSyscallError("read", err)
		case n == 0:
			b.free()
			s.inErr = io.EOF
		default:
			b.b = b.b[:n]
			s.in, s.more = b, n >= bufferSize
		}
		return true
	}
}

func (s *socket) tryWrite(fd uintptr) bool {
	for s.outN < len(s.out) {
		n, err := syscall.Write(int(fd), s.out[s.outN:])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return true
		case err != nil:
			s.outErr = os.NewSyscallError("write", err)
			return true
		}
		s.outN += n
	}
	return true
}

// gone reports whether the peer has closed the connection or is no more. It
// reads nothing, so that requests which wait do not hide the end behind them.
func (s *socket) gone() bool {
	if s.raw == nil {
		return false
	}
	over := false
	err := s.raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: endEvents}}
		n, err := unix.Poll(p, 0)
		over = err == nil && n > 0 && p[0].Revents&(endEvents|unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
	})
	return err != nil || over
}
