package main

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/heddle-project/heddle/wire/pb"
)

// stranger is somebody who has nothing to do with an attack and asks for something small every 5 ms, over a connection of its own
// that it makes anew every 100 times. What a stranger waits is what an attack costs the others.
type stranger struct {
	stop chan struct{}
	done sync.WaitGroup

	mu     sync.Mutex
	took   []time.Duration
	failed []error
}

const ask, anew = 5 * time.Millisecond, 100

// strangerAt begins to call getNewApplication.
func (a *arena) strangerAt(rm *daemon) *stranger {
	var p *peer
	calls := 0
	return begin(func() (err error) {
		if p == nil || calls%anew == 0 {
			if p != nil {
				p.Close()
			}
			if p, err = dial(rm.address[clientPort], clientProtocol, "stranger"); err != nil {
				p = nil
				return err
			}
		}
		calls++
		if err = p.call("getNewApplication", &pb.GetNewApplicationRequest{}, &pb.GetNewApplicationResponse{}); err != nil {
			p.Close()
			p = nil
		}
		return err
	})
}

// strangerOnWeb begins to get a page.
func (a *arena) strangerOnWeb(url string) *stranger {
	calls := 0
	get := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext}}
	return begin(func() error {
		if calls++; calls%anew == 0 {
			get.CloseIdleConnections()
		}
		r, err := get.Get(url)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, r.Status)
		}
		return nil
	})
}

func begin(once func() error) *stranger {
	s := &stranger{stop: make(chan struct{})}
	s.done.Go(func() {
		for {
			began := time.Now()
			err := once()
			took := time.Since(began)
			s.mu.Lock()
			s.took = append(s.took, took)
			if err != nil {
				s.failed = append(s.failed, err)
			}
			s.mu.Unlock()
			select {
			case <-s.stop:
				return
			case <-time.After(max(0, ask-took)):
			}
		}
	})
	return s
}

// waits is what a stranger has met.
type waits struct {
	asked, failed     int
	p50, p99, longest time.Duration
	example           error // of a failure
}

// leave ends the stranger and prints what it met, as figures of the attack.
func (s *stranger) leave(a *arena, during string) waits {
	close(s.stop)
	s.done.Wait()
	slices.Sort(s.took)
	at := func(q float64) time.Duration { return s.took[min(len(s.took)-1, int(q*float64(len(s.took))))] }
	w := waits{asked: len(s.took), failed: len(s.failed), p50: at(0.5), p99: at(0.99), longest: at(1)}
	if w.failed > 0 {
		w.example = s.failed[0]
	}
	a.figure(during+": a stranger's p50", w.p50.Seconds()*1000, "ms")
	a.figure(during+": a stranger's p99", w.p99.Seconds()*1000, "ms")
	a.figure(during+": a stranger's longest", w.longest.Seconds()*1000, "ms")
	if w.failed > 0 {
		a.figure(during+": a stranger's calls that failed", float64(w.failed), "of "+fmt.Sprint(w.asked))
	}
	return w
}
