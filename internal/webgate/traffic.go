package webgate

import (
	"io"
	"math"
	"net/http"
	"sync"
	"time"
)

// Traffic counts what a port answers. Its methods are safe for concurrent use; the zero value has counted nothing.
type Traffic struct {
	mu sync.Mutex
	n  TrafficStats
	// of the times of requests, by Welford
	mean, spread float64
}

// TrafficStats are what was counted since the start. Times are in milliseconds.
type TrafficStats struct {
	Requests                 int64 // that were answered
	Active, MostActive       int64 // that are being answered, now and at most
	Responses                [6]int64
	Bytes                    int64 // of bodies
	Total                    time.Duration
	MaxTime                  int64
	MeanTime, TimeDeviations float64
}

// Stats are the counts now. Responses are by the first digit of the status.
func (t *Traffic) Stats() TrafficStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.n
	n.MeanTime = t.mean
	if n.Requests > 1 {
		n.TimeDeviations = math.Sqrt(t.spread / float64(n.Requests-1))
	}
	return n
}

// count serves a request and counts it.
func (t *Traffic) count(w http.ResponseWriter, r *http.Request, next func(http.ResponseWriter, *http.Request)) {
	t.mu.Lock()
	t.n.Active++
	t.n.MostActive = max(t.n.MostActive, t.n.Active)
	t.mu.Unlock()
	began, m := time.Now(), &metered{ResponseWriter: w}
	defer func() { t.done(m, time.Since(began)) }()
	next(m, r)
}

func (t *Traffic) done(m *metered, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n.Active--
	t.n.Requests++
	if m.begun(); m.status/100 < len(t.n.Responses) {
		t.n.Responses[m.status/100]++
	}
	t.n.Bytes += m.bytes
	t.n.Total += took
	t.n.MaxTime = max(t.n.MaxTime, took.Milliseconds())
	ms := float64(took) / float64(time.Millisecond)
	from := ms - t.mean
	t.mean += from / float64(t.n.Requests)
	t.spread += from * (ms - t.mean)
}

// metered notes the status and the length of an answer.
type metered struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (m *metered) WriteHeader(status int) {
	if m.status < http.StatusOK { // an informational one may precede it
		m.status = status
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *metered) Write(p []byte) (int, error) {
	m.begun()
	n, err := m.ResponseWriter.Write(p)
	m.bytes += int64(n)
	return n, err
}

// ReadFrom lets files go out without a copy in memory.
func (m *metered) ReadFrom(r io.Reader) (int64, error) {
	m.begun()
	n, err := io.Copy(m.ResponseWriter, r)
	m.bytes += n
	return n, err
}

func (m *metered) begun() {
	if m.status == 0 {
		m.status = http.StatusOK
	}
}

// Unwrap is for http.ResponseController.
func (m *metered) Unwrap() http.ResponseWriter { return m.ResponseWriter }
