package shell

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Limits of the master's web server.
const (
	readTime  = 10 * time.Second // of a request
	writeTime = 60 * time.Second // of an answer, the holding included
	idleTime  = 60 * time.Second
	maxHeader = 32 << 10
)

// site is the master's web server: the events for who knows the secret, and a
// line for everybody else.
type site struct {
	feed    *feed
	secret  string
	hold    time.Duration
	summary func() string
	polls   chan struct{}
}

func newSite(f *feed, secret string, hold time.Duration, summary func() string) *site {
	return &site{feed: f, secret: secret, hold: hold, summary: summary, polls: make(chan struct{}, maxPolls)}
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	secret, events := strings.CutPrefix(r.URL.Path, "/events/")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "this page can only be read", http.StatusMethodNotAllowed)
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, s.summary())
	case !events || len(s.secret) == 0 || subtle.ConstantTimeCompare([]byte(secret), []byte(s.secret)) != 1:
		http.NotFound(w, r)
	default:
		s.events(w, r)
	}
}

func (s *site) events(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
	if err != nil || from < 0 {
		http.Error(w, "from: want the number of an event", http.StatusBadRequest)
		return
	}
	select {
	case s.polls <- struct{}{}:
		defer func() { <-s.polls }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, fmt.Sprintf("more than %d requests at once", maxPolls), http.StatusServiceUnavailable)
		return
	}
	body, err := json.Marshal(s.feed.page(r.Context(), from, s.hold))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(body) // a client that misses it asks again
}

// listen binds a free port of the host by whose name the cluster knows this
// node, or of any address if that name is not one of ours.
func listen(host string) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err == nil {
		return l, nil
	}
	if l, err = net.Listen("tcp", ":0"); err != nil {
		return nil, fmt.Errorf("finding a free port for the master's page: %w", err)
	}
	return l, nil
}

func server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader}
}
