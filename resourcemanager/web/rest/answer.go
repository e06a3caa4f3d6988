package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/rest/tree"
)

// MaxBody bounds what a caller may send, in bytes.
const MaxBody = 1 << 20

// response is what an operation answers: a document or, where Hadoop builds the
// answer itself, plain text under the negotiated type.
type response struct {
	status   int // 0 is 200
	location string
	doc      tree.Document
	text     string
}

func wrapped(root string, body *tree.Object) *response {
	return &response{doc: tree.Document{Root: root, Body: body}}
}

// bare is a document whose JSON form lacks the root's name: Hadoop leaves the
// classes that it lists in ClassSerialisationConfig unwrapped.
func bare(root string, body *tree.Object) *response {
	return &response{doc: tree.Document{Root: root, Bare: true, Body: body}}
}

const (
	typeJSON = "application/json;charset=utf-8"
	typeXML  = "application/xml;charset=utf-8"
)

func (s *server) serve(do handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		format, ok := negotiate(r.Header.Values("Accept"))
		if !ok {
			WriteError(w, r, notAcceptable())
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		res, err := do(r)
		if err != nil {
			s.logFailure(r, err)
			WriteError(w, r, err)
			return
		}
		write(w, format, res)
	}
}

// logFailure notes what is the server's fault; a caller's mistakes are his own.
func (s *server) logFailure(r *http.Request, err error) {
	var refusal *access.Error
	var known *Exception
	if s.Log != nil && !errors.As(err, &refusal) && !errors.As(err, &known) {
		s.Log.Warn("web service failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
}

func write(w http.ResponseWriter, f format, res *response) {
	status := res.status
	if status == 0 {
		status = http.StatusOK
	}
	if res.location != "" {
		w.Header().Set("Location", res.location)
	}
	w.Header().Set("Content-Type", f.contentType())
	out := &sizing{w: w, status: status}
	if res.doc.Body == nil {
		_, _ = io.WriteString(out, res.text)
	} else {
		_ = f.write(out, res.doc)
	}
	out.close()
}

// held is how much of an answer is kept back to tell its length.
const held = 64 << 10

// sizing gives short answers a Content-Length and streams long ones. Errors of
// writing are those of a caller who has left.
type sizing struct {
	w      http.ResponseWriter
	status int
	buf    bytes.Buffer
	flowed bool
}

func (s *sizing) Write(p []byte) (int, error) {
	if s.flowed {
		return s.w.Write(p)
	}
	if s.buf.Len()+len(p) <= held {
		return s.buf.Write(p)
	}
	s.flowed = true
	s.w.WriteHeader(s.status)
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}

func (s *sizing) close() {
	if s.flowed {
		return
	}
	s.w.Header().Set("Content-Length", strconv.Itoa(s.buf.Len()))
	s.w.WriteHeader(s.status)
	_, _ = s.w.Write(s.buf.Bytes())
}
