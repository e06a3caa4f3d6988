package main

import (
	"net"
	"sync"
	"time"
)

// idle opens connections that never say anything, that stop in the middle of a greeting, of a frame's length, of a frame, and ones that
// have logged in and rest; then all at random.
func idle(a *arena) {
	count := pick(a, 9000, 1000)
	rm := a.resourceManager(nil)
	before := rm.resident()
	rm.forgetPeak()
	s := a.strangerAt(rm)
	hello := append([]byte("hrpc\x09\x00\x00"), frame(header(-3), delimited(message(3, []byte(clientProtocol))))...)
	begun := [][]byte{nil, []byte("hr"), []byte("hrpc\x09\x00\x00"), append(hello[:len(hello):len(hello)], 0, 0), append(hello[:len(hello):len(hello)], 0, 0, 1, 0, 7), hello}
	ports := []string{clientPort, masterPort, trackerPort, adminPort}
	var open []net.Conn
	for i := range count {
		c, err := net.DialTimeout("tcp", rm.address[ports[i%len(ports)]], 10*time.Second)
		a.must(err)
		if b := begun[a.random.IntN(len(begun))]; len(b) > 0 {
			_, err = c.Write(b)
			a.must(err)
		}
		open = append(open, c)
	}
	// Those that are in the middle of something are given up after the handshake's and the frame's time; nothing waits for that here.
	time.Sleep(pick(a, 15*time.Second, 2*time.Second))
	a.figure("connections", float64(len(open)), "")
	a.figure("resident memory before", before, "MB")
	a.figure("resident memory at the most", rm.peak(), "MB")
	w := s.leave(a, "idle connections")
	a.check(w.failed == 0, "a stranger is served", "%d of %d calls failed: %v", w.failed, w.asked, w.example)
	a.check(rm.peak() <= 300, "at most 300 MB", "%.0f MB", rm.peak())
	var closing sync.WaitGroup
	for _, c := range open {
		closing.Go(func() { c.Close() })
	}
	closing.Wait()
	a.check(a.until(20*time.Second, func() bool { return descriptors(rm) < 100 }), "connections that have gone are given back", "%d descriptors", descriptors(rm))
}
