package zookeeper

import (
	"io"
	"net"
	"testing"
	"time"
)

// The timeout is told once, however the answer is cut into pieces.
func TestGranted(t *testing.T) {
	answer := []byte{0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 0x0f, 0xa0, 1, 2, 3, 4, 5, 6}
	for _, piece := range []int{1, 3, 4, 100} {
		here, there := net.Pipe()
		var told []time.Duration
		c := &listening{Conn: here, granted: func(d time.Duration) { told = append(told, d) }}
		go func() {
			for rest := answer; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
				if _, err := there.Write(rest[:min(piece, len(rest))]); err != nil {
					t.Error(err)
				}
			}
			there.Close()
		}()
		got, err := io.ReadAll(c)
		if err != nil || string(got) != string(answer) || len(told) != 1 || told[0] != 4*time.Second {
			t.Errorf("in pieces of %d: %v, %v (%v)", piece, got, told, err)
		}
		here.Close()
	}
}
