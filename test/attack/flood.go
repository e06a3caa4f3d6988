package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// flood is a crowd of connections with many calls open on each.
type flood struct {
	answered, refused, cut atomic.Int64 // answers, exceptions among them, connections ended by the daemon
	leaving                atomic.Bool
	work                   sync.WaitGroup
	open                   []net.Conn
	example                atomic.Pointer[string] // of an exception
}

// pour opens one more connection and sends all calls at once. With reads it takes the answers as fast as it can; pause is
// between two of them.
func (f *flood) pour(p *peer, calls int, request func() []byte, reads bool, pause time.Duration) {
	f.open = append(f.open, p)
	f.work.Go(func() {
		for range calls {
			if _, err := p.Write(request()); err != nil {
				return // leave, or the daemon, has closed it
			}
		}
	})
	if !reads {
		return
	}
	f.work.Go(func() {
		for range calls {
			class, err := skim(p.in)
			if err != nil {
				if !f.leaving.Load() {
					f.cut.Add(1)
				}
				return
			}
			f.answered.Add(1)
			if class != "" {
				f.refused.Add(1)
				f.example.CompareAndSwap(nil, &class)
			}
			if pause > 0 {
				time.Sleep(pause)
			}
		}
	})
}

// leave closes every connection, whatever is still open.
func (f *flood) leave() {
	f.leaving.Store(true)
	for _, c := range f.open {
		c.Close()
	}
	f.work.Wait()
}

// skim reads one answer and keeps only the class of its exception.
func skim(in *bufio.Reader) (class string, err error) {
	var n [4]byte
	if _, err := io.ReadFull(in, n[:]); err != nil {
		return "", err
	}
	size := int(binary.BigEndian.Uint32(n[:]))
	front, err := in.Peek(min(size, 1<<10))
	if err != nil {
		return "", err
	}
	head, k := protowire.ConsumeBytes(front)
	if k < 0 {
		return "", fmt.Errorf("an answer of %d bytes without a header", size)
	}
	for len(head) > 0 {
		field, kind, k := protowire.ConsumeTag(head)
		m := protowire.ConsumeFieldValue(field, kind, head[max(k, 0):])
		if k < 0 || m < 0 {
			return "", fmt.Errorf("an answer with a malformed header")
		}
		if field == 4 {
			v, _ := protowire.ConsumeBytes(head[k : k+m])
			class = string(v)
		}
		head = head[k+m:]
	}
	_, err = in.Discard(size)
	return class, err
}

// busy is the processor time that a daemon has used so far.
func (d *daemon) busy() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * (time.Second / 100)
}

// rests waits until a daemon has nothing left to do, which shows in a quarter of a second almost without work.
func (d *daemon) rests(limit time.Duration) bool {
	const look = 250 * time.Millisecond
	for end := time.Now().Add(limit); time.Now().Before(end); {
		was := d.busy()
		time.Sleep(look)
		if d.busy()-was <= look/8 {
			return true
		}
	}
	return false
}
