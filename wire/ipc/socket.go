package ipc

import (
	"io"
	"net"
	"syscall"
)

// socket is a connection that can also be tried without waiting. Where the
// platform or the connection has no such way (an in-memory pipe), every read
// holds a buffer while it waits and every write is left to a goroutine.
type socket struct {
	net.Conn
	raw syscall.RawConn // nil: not available

	// One reader and one writer at a time use these; keeping the functions
	// here saves an allocation per operation.
	readStep, writeStep func(fd uintptr) bool
	in                  *buffer
	more                bool // the last read filled its buffer: there is probably more than fits a small one
	out                 []byte
	outN                int
	inErr, outErr       error
}

func newSocket(nc net.Conn) *socket {
	s := &socket{Conn: nc}
	if sc, ok := nc.(syscall.Conn); ok && canTry {
		if raw, err := sc.SyscallConn(); err == nil {
			s.raw, s.readStep, s.writeStep = raw, s.tryRead, s.tryWrite
		}
	}
	return s
}

// receive waits for bytes and returns them in a pooled buffer, which is held
// only once there are bytes: an idle connection owns no buffer.
func (s *socket) receive() (*buffer, error) {
	if s.raw == nil {
		return s.wait()
	}
	s.in, s.inErr = nil, nil
	if err := s.raw.Read(s.readStep); err != nil {
		s.in.free()
		s.in = nil
		return nil, err
	}
	b := s.in
	s.in = nil
	return b, s.inErr
}

// inBuffer is where the next bytes are read into.
func (s *socket) inBuffer() *buffer {
	if s.more {
		return newChunk()
	}
	return newBuffer()
}

// wait is receive for connections that cannot be tried.
func (s *socket) wait() (*buffer, error) {
	const empties = 100 // reads of nothing in a row, which a pipe allows
	b := s.inBuffer()
	for range empties {
		n, err := s.Read(b.b[:cap(b.b)])
		if n > 0 {
			s.more = n >= bufferSize
			b.b = b.b[:n]
			return b, nil
		}
		if err != nil {
			b.free()
			return nil, err
		}
	}
	b.free()
	return nil, io.ErrNoProgress
}

// send writes what the socket takes at once.
func (s *socket) send(p []byte) (int, error) {
	if s.raw == nil {
		return 0, nil
	}
	s.out, s.outN, s.outErr = p, 0, nil
	err := s.raw.Write(s.writeStep)
	s.out = nil
	if err == nil {
		err = s.outErr
	}
	return s.outN, err
}
