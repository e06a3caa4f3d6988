package answer

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/heddle-project/heddle/internal/answer/tree"
)

// MaxBody bounds what a caller may send, in bytes; MaxLargeBody where whole configurations are sent.
const (
	MaxBody      = 1 << 20
	MaxLargeBody = 16 << 20
)

// Response is what an operation answers: a document or, where Hadoop builds the
// answer itself, plain text under the negotiated type.
type Response struct {
	Status   int // 0 is 200
	Location string
	Document tree.Document
	Text     string // without a Document
	// Same, if not nil, is a comparable key. Responses of an operation with equal keys have the same document, except that times in it may
	// be a tenth of a second apart. Callers who ask at about the same time share one text, so the key says all that decides what a caller may see.
	Same any
}

// Wrapped is a document.
func Wrapped(root string, body *tree.Object) *Response {
	return &Response{Document: tree.Document{Root: root, Body: body}}
}

// Bare is a document whose JSON form lacks the root's name: Hadoop leaves the
// classes that it lists in ClassSerialisationConfig unwrapped.
func Bare(root string, body *tree.Object) *Response {
	return &Response{Document: tree.Document{Root: root, Bare: true, Body: body}}
}

// Handler is an operation: a response, or an error that becomes a
// RemoteException.
type Handler func(*http.Request) (*Response, error)

const (
	typeJSON = "application/json;charset=utf-8"
	typeXML  = "application/xml;charset=utf-8"
)

// Serve answers in the form that the caller wants. What is the server's fault is
// logged; log may be nil.
func Serve(log *slog.Logger, do Handler) http.HandlerFunc { return ServeUpTo(log, MaxBody, do) }

// ServeUpTo is Serve for bodies of so many bytes.
func ServeUpTo(log *slog.Logger, bytes int64, do Handler) http.HandlerFunc {
	var texts shared
	return func(w http.ResponseWriter, r *http.Request) {
		format, ok := negotiate(r.Header.Values("Accept"))
		if !ok {
			WriteError(w, r, NotAcceptable())
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bytes)
		res, err := do(r)
		if err != nil {
			logFailure(log, r, err)
			WriteError(w, r, err)
			return
		}
		write(w, format, res, &texts)
	}
}

// logFailure logs what is the server's fault; mistakes of callers are not logged.
func logFailure(log *slog.Logger, r *http.Request, err error) {
	var refusal *Error
	var known *Exception
	if log != nil && !errors.As(err, &refusal) && !errors.As(err, &known) {
		log.Warn("web service failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
}

func write(w http.ResponseWriter, f format, res *Response, texts *shared) {
	status := res.Status
	if status == 0 {
		status = http.StatusOK
	}
	if res.Location != "" {
		w.Header().Set("Location", res.Location)
	}
	if res.Document.Body != nil || res.Text != "" { // an empty answer has no type
		w.Header().Set("Content-Type", f.contentType())
	}
	if res.Same != nil && res.Document.Body != nil && texts.answer(w, status, f, res) {
		return
	}
	out := NewSized(w, status)
	if res.Document.Body == nil {
		_, _ = io.WriteString(out, res.Text)
	} else {
		_ = f.write(out, res.Document)
	}
	out.Close()
}

// held is how much of an answer is kept back to tell its length, in bytes. A reader who
// takes nothing costs the daemon as much memory.
const held = 16 << 10

// Sized gives short answers a Content-Length and streams long ones. Errors of
// writing are those of a caller who has left.
type Sized struct {
	w      http.ResponseWriter
	status int
	buf    []byte
	Flowed bool // the status is out
}

// NewSized is an answer with a status; its other headers are set before the first
// byte is written.
func NewSized(w http.ResponseWriter, status int) *Sized { return &Sized{w: w, status: status} }

func (s *Sized) Write(p []byte) (int, error) {
	if !s.Flowed && len(s.buf)+len(p) <= held {
		s.buf = append(s.buf, p...)
		return len(p), nil
	}
	if !s.Flowed {
		s.Flowed = true
		s.w.WriteHeader(s.status)
		if _, err := s.w.Write(s.buf); err != nil {
			return 0, err
		}
		s.buf = nil
	}
	return s.w.Write(p)
}

// Close sends what was kept back.
func (s *Sized) Close() {
	if s.Flowed {
		return
	}
	s.w.Header().Set("Content-Length", strconv.Itoa(len(s.buf)))
	s.w.WriteHeader(s.status)
	_, _ = s.w.Write(s.buf)
}
