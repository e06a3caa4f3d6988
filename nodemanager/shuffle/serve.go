package shuffle

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const maxLogged = 300 // bytes of a query

// retryAfter is what a reducer that is turned away is told to wait.
//
// compat: in milliseconds, whatever HTTP says.
const retryAfter = "1000"

// The values of headers are shared by all replies; nobody writes to them.
var (
	nameHeader      = []string{"mapreduce"}
	versionHeader   = []string{"1.0.0"}
	textHeader      = []string{"text/plain; charset=UTF-8"}
	closeHeader     = []string{"close"}
	keepAliveHeader = []string{"Keep-Alive"}
)

// refusal is an answer other than 200.
type refusal struct {
	status int
	reason string
}

func (r refusal) Error() string { return strconv.Itoa(r.status) + " " + r.reason }

var (
	errMethod  = refusal{http.StatusMethodNotAllowed, ""}
	errBody    = refusal{http.StatusBadRequest, "a request for outputs has no body"}
	errVersion = refusal{http.StatusBadRequest, "Incompatible shuffle request version"}
	errJob     = refusal{http.StatusUnauthorized, "this job is not known here"}
	errNoHash  = refusal{http.StatusUnauthorized, "the request bears no UrlHash"}
	errHash    = refusal{http.StatusUnauthorized, "UrlHash does not sign this request with the job's key"}
	errCrowd   = refusal{http.StatusTooManyRequests, ""}
)

// answer serves one request. What fails before the status line is refused; what
// fails later leaves the body short, and the connection is closed.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	err := s.serve(w, r)
	if err == nil {
		s.ok.Add(1)
		return
	}
	var no refusal
	if errors.As(err, &no) {
		s.refuse(w, no)
	}
	if no.status == 0 || no.status == http.StatusInternalServerError {
		s.failed.Add(1)
	} else {
		s.refused.Add(1)
	}
	s.cfg.Log.Log(r.Context(), severity(err, no), "shuffle: request failed", "from", r.RemoteAddr,
		"query", r.URL.RawQuery[:min(len(r.URL.RawQuery), maxLogged)], "error", err)
}

// severity is the log level of a failed request. Missing, corrupt or changed
// outputs delay a job; requests without a valid signature and reducers that
// hang up do not matter to the operator.
func severity(err error, no refusal) slog.Level {
	switch {
	case no.status == http.StatusUnauthorized, no.status == http.StatusTooManyRequests:
		return slog.LevelInfo
	case no.status == http.StatusMethodNotAllowed, no.status == http.StatusBadRequest, isGone(err):
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// isGone tells whether an error of writing means that the reader went away or
// took too long.
func isGone(err error) bool {
	return errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed)
}

// serve answers the request or, before anything has been sent, returns a refusal.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Context().Value(crowded{}) != nil {
		return errCrowd
	}
	j, q, replyHash, err := s.admit(r)
	if err != nil {
		return err
	}
	if !s.enter(j) {
		return errCrowd
	}
	defer s.leave(j)
	f := s.takeFetch()
	defer s.giveFetch(f)
	length, err := f.prepare(j, q)
	if err != nil {
		return refusal{http.StatusInternalServerError, err.Error()}
	}
	h := w.Header()
	s.identify(h)
	h["ReplyHash"] = []string{replyHash}
	h["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	if q.keepAlive || s.cfg.KeepAlive {
		h["Connection"] = keepAliveHeader
		h["Keep-Alive"] = s.keepAlive
	} else {
		h["Connection"] = closeHeader
	}
	return f.send(w)
}

// admit reads what is asked for and checks that the caller may have it.
func (s *Server) admit(r *http.Request) (*job, query, string, error) {
	fail := func(err error) (*job, query, string, error) { return nil, query{}, "", err }
	switch {
	case r.Method != http.MethodGet:
		return fail(errMethod)
	case r.ContentLength != 0:
		return fail(errBody)
	case r.Header.Get("Name") != nameHeader[0] || r.Header.Get("Version") != versionHeader[0]:
		return fail(errVersion)
	}
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return fail(refusal{http.StatusBadRequest, err.Error()})
	}
	j := s.jobs.get(q.job)
	hash := r.Header.Get("Urlhash")
	switch {
	case j == nil:
		return fail(errJob)
	case hash == "":
		return fail(errNoHash)
	}
	replyHash, ok := verify(s.newHash, j.key, s.portText, r.RequestURI, hash)
	if !ok {
		return fail(errHash)
	}
	return j, q, replyHash, nil
}

// enter counts a request as in service. It returns false if there are too many
// of all jobs or of this one.
func (s *Server) enter(j *job) bool {
	all, own := s.inFlight.Add(1), j.inFlight.Add(1)
	if all > MaxRequests || own > MaxRequestsPerJob {
		s.leave(j)
		return false
	}
	return true
}

func (s *Server) leave(j *job) {
	s.inFlight.Add(-1)
	j.inFlight.Add(-1)
}

// identify sets the headers that every answer has, in Apache's spelling, and
// keeps net/http from adding its own.
func (s *Server) identify(h http.Header) {
	h["name"] = nameHeader
	h["version"] = versionHeader
	h["Date"] = nil
	h["Content-Type"] = nil
}

// refuse answers with a reason and closes the connection without waiting for
// the rest of the request.
func (s *Server) refuse(w http.ResponseWriter, no refusal) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	h := w.Header()
	s.identify(h)
	h["Content-Type"] = textHeader
	h["Content-Length"] = []string{strconv.Itoa(len(no.reason))}
	h["Connection"] = closeHeader
	if no == errCrowd {
		h["Retry-After"] = []string{retryAfter}
	}
	w.WriteHeader(no.status)
	_, _ = io.WriteString(w, no.reason) // on an error the peer is gone
}
