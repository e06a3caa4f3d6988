//go:build !unix

package ipc

const canTry = false

func (s *socket) tryRead(uintptr) bool  { return true }
func (s *socket) tryWrite(uintptr) bool { return true }

func (s *socket) gone() bool { return false }
