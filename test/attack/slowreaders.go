package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-project/heddle/client"
)

// slowreaders takes every place of the ResourceManager's web port with connections that ask for all applications and hardly read, then
// with ones that are slow in every way at random; those that are cut come back at once. A stranger and somebody who reads steadily must
// be served all the while.
func slowreaders(a *arena) {
	count, apps := 1000, pick(a, 2000, 500)
	rm := a.resourceManager(nil)
	c := rm.client("many")
	for n := range apps {
		id, _, err := c.NewApplication(a.ctx)
		a.must(err)
		a.must(c.Submit(a.ctx, client.Submission{ID: id, Name: fmt.Sprintf("application %d with a name of some length", n), Queue: "default", Unmanaged: true,
			Master: client.Resource{MemoryMB: 128, VCores: 1}}))
	}
	c.Close()
	web := "http://" + rm.address[webPort]
	whole := length(a, web)
	a.figure("bytes of the answer", float64(whole), "")
	before := rm.resident()
	rm.forgetPeak()
	// As slow as can be, and by the numbers that the seed gives.
	for _, during := range []string{"slow readers", "all kinds"} {
		ctx, end := context.WithCancel(a.ctx)
		var holding sync.WaitGroup
		var open, cut atomic.Int64
		for i := range count {
			what := "" // all applications, or lists so short that clients share their text
			if i%2 == 1 {
				what = fmt.Sprintf("?limit=%d", 50+i%200)
			}
			how := slowness{text: "GET /ws/v1/cluster/apps" + what + " HTTP/1.1\r\nHost: x\r\n\r\n", rest: time.Hour}
			if during == "all kinds" {
				how = anySlowness(a)
			}
			holding.Go(func() { how.hold(ctx, rm.address[webPort], &open, &cut) })
		}
		a.until(20*time.Second, func() bool { return open.Load() >= int64(count) })
		time.Sleep(2 * time.Second) // until they all have answers that they do not take: before, who comes next may be the only one that lets the server wait
		steady := make(chan string, 1)
		go func() { steady <- readSteadily(ctx, web, whole, pick(a, 1<<20, 200<<10)) }()
		s := a.strangerOnWeb(web + "/ws/v1/cluster/info")
		time.Sleep(pick(a, 45*time.Second, 3*time.Second))
		w := s.leave(a, during)
		a.figure(during+": connections that were cut", float64(cut.Load()), "")
		a.check(w.failed*100 <= w.asked, "a stranger is served", "%d of %d requests failed: %v", w.failed, w.asked, w.example)
		a.check(w.p99 < 5*time.Second, "a stranger waits for less than 5 s, also on a busy machine", "99 of 100 waited %v or less", w.p99)
		lost := <-steady
		a.check(lost == "", "who reads steadily gets all", "%s", lost)
		end()
		holding.Wait()
	}
	a.figure("resident memory before", before, "MB")
	a.figure("resident memory at the most", rm.peak(), "MB")
	a.check(rm.peak() <= 300, "at most 300 MB", "%.0f MB", rm.peak())
	a.check(a.until(20*time.Second, func() bool { return descriptors(rm) < 100 }), "connections that have gone are given back", "%d descriptors", descriptors(rm))
	told := strings.Count(rm.log(), "to keep the port open")
	a.check(told >= 1 && told <= 4, "the log says that connections were cut, a few times", "%d lines", told)
}

// length is how long the list of applications is.
func length(a *arena, web string) int64 {
	r, err := http.Get(web + "/ws/v1/cluster/apps")
	a.must(err)
	defer r.Body.Close()
	n, err := io.Copy(io.Discard, r.Body)
	a.must(err)
	return n
}

// slowness is what a connection says, and in which steps it reads.
type slowness struct {
	text string
	step int // bytes at a time; 0 for none
	rest time.Duration
}

func anySlowness(a *arena) slowness {
	texts := []string{"", "G", "GET / HTTP/1.1\r\nHost: x\r\n", "GET /ws/v1/cluster/info HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /ws/v1/cluster/apps HTTP/1.1\r\nHost: x\r\n\r\n", "GET /cluster/apps HTTP/1.1\r\nHost: x\r\n\r\n", "GET /jmx HTTP/1.1\r\nHost: x\r\n\r\n",
		"PUT /ws/v1/cluster/apps/application_1_0001/state?user.name=x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"}
	return slowness{text: texts[a.random.IntN(len(texts))], step: a.random.IntN(4096), rest: time.Duration(10+a.random.IntN(2000)) * time.Millisecond}
}

// hold keeps a connection, and makes a new one when it is cut. Its window is as small as the kernel allows.
func (s slowness) hold(ctx context.Context, address string, open, cut *atomic.Int64) {
	small := &net.Dialer{Timeout: 5 * time.Second, Control: func(_, _ string, c syscall.RawConn) error {
		var wrong error
		err := c.Control(func(fd uintptr) { wrong = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 2048) })
		if err == nil {
			err = wrong
		}
		return err
	}}
	for first := true; ctx.Err() == nil; first = false {
		c, err := small.DialContext(ctx, "tcp", address)
		if err != nil {
			continue // its own limit of time
		}
		if first {
			open.Add(1)
		} else {
			cut.Add(1)
		}
		stop := context.AfterFunc(ctx, func() { c.Close() })
		_, err = io.WriteString(c, s.text)
		for buf := make([]byte, max(s.step, 1)); err == nil && ctx.Err() == nil; {
			if s.step > 0 {
				_, err = c.Read(buf)
			} else {
				err = ended(c)
			}
			select {
			case <-ctx.Done():
			case <-time.After(min(s.rest, time.Second)):
			}
		}
		stop()
		c.Close()
	}
}

// ended tells whether a connection was cut, without reading from it.
func ended(c net.Conn) error {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	var info *unix.TCPInfo
	var wrong error
	if err := raw.Control(func(fd uintptr) { info, wrong = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); err != nil {
		return err
	}
	if wrong == nil && info.State != unix.BPF_TCP_ESTABLISHED {
		wrong = net.ErrClosed
	}
	return wrong
}

// readSteadily reads the whole list at a rate in bytes a second, and says what it did not get.
func readSteadily(ctx context.Context, web string, whole int64, rate int) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, web+"/ws/v1/cluster/apps", nil)
	if err != nil {
		return err.Error()
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	n := int64(0)
	for err == nil {
		var m int64
		m, err = io.CopyN(io.Discard, res.Body, int64(rate/20))
		n += m
		time.Sleep(50 * time.Millisecond)
	}
	if n*100 < whole*99 { // elapsed times have more digits or fewer
		return fmt.Sprintf("%d of %d bytes: %v", n, whole, err)
	}
	return ""
}
