package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/visible"
)

// Exception is an error as Hadoop's clients know it: they look at the class and
// at the message.
type Exception struct {
	Status  int
	Class   string // full Java name
	Message string // left out when empty
}

func (e *Exception) Error() string { return e.Message }

// The packages that Hadoop's exceptions come from.
const (
	webapp = "org.apache.hadoop.yarn.webapp."
	jaxrs  = "javax.ws.rs."
	lang   = "java.lang."
)

// IllegalArgument is an exception with status 400 of a value that Java could not parse.
func IllegalArgument(format string, args ...any) *Exception {
	return &Exception{http.StatusBadRequest, lang + "IllegalArgumentException", fmt.Sprintf(format, args...)}
}

// NotAcceptable is the answer to a caller who wants none of the forms.
func NotAcceptable() *Exception {
	return &Exception{http.StatusNotAcceptable, jaxrs + "NotAcceptableException", "HTTP 406 Not Acceptable"}
}

// NotAllowed is the answer to a method that a path does not have. Hadoop 3.5
// makes a 503 of it by accident; no client asks for that.
func NotAllowed() *Exception {
	return &Exception{http.StatusMethodNotAllowed, jaxrs + "NotAllowedException", "HTTP 405 Method Not Allowed"}
}

// Exceptions of refusals by kind. The status follows Hadoop's
// GenericExceptionHandler, except for what is not built.
var byKind = map[Kind]Exception{
	Invalid:      {http.StatusBadRequest, webapp + "BadRequestException", ""},
	Unauthorized: {http.StatusUnauthorized, "org.apache.hadoop.security.authorize.AuthorizationException", ""},
	Forbidden:    {http.StatusForbidden, webapp + "ForbiddenException", ""},
	NotFound:     {http.StatusNotFound, webapp + "NotFoundException", ""},
	WrongState:   {http.StatusBadRequest, webapp + "BadRequestException", ""},
	NotBuilt:     {http.StatusNotImplemented, lang + "UnsupportedOperationException", ""},
}

// ExceptionOf is what an error is to the caller; what is no refusal is the
// server's fault, 503.
func ExceptionOf(err error) *Exception {
	var known *Exception
	if errors.As(err, &known) {
		return known
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &Exception{http.StatusRequestEntityTooLarge, jaxrs + "WebApplicationException",
			fmt.Sprintf("the body of the request is larger than %d bytes", tooLarge.Limit)}
	}
	if e, ok := byKind[KindOf(err)]; ok {
		e.Message = err.Error()
		return &e
	}
	return &Exception{http.StatusServiceUnavailable, "org.apache.hadoop.yarn.exceptions.YarnException", err.Error()}
}

// WriteError answers with a RemoteException: JSON, or XML if the caller wants
// that.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	e := ExceptionOf(err)
	f, _ := negotiate(r.Header.Values("Accept"))
	body := tree.New().
		Add("exception", e.Class[strings.LastIndex(e.Class, ".")+1:]).
		AddIf(e.Message != "", "message", e.Message).
		Add("javaClassName", e.Class)
	res := Wrapped("RemoteException", body)
	res.Status = e.Status
	write(w, f, res, nil)
}

// NotServed is the answer below /ws to a path that does not exist: the error
// page of Hadoop's servlet container, not a RemoteException.
func NotServed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "must-revalidate,no-cache,no-store")
	accept := strings.Join(r.Header.Values("Accept"), ",")
	asked, _, _ := strings.Cut(r.RequestURI, "?")
	switch {
	case strings.Contains(accept, "application/json"):
		path, _ := json.Marshal(asked)
		page(w, "application/json", fmt.Sprintf("{\n\"servlet\":\"yarn\",\n\"message\":\"Not Found\",\n\"url\":%s,\n\"status\":\"404\"\n}", path))
	case accept == "" || strings.Contains(accept, "text/html") || strings.Contains(accept, "*/*"):
		page(w, "text/html;charset=utf-8", "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Error 404 Not Found</title></head>\n<body><h1>HTTP ERROR 404 Not Found</h1>\n<p>There is nothing at "+
			html.EscapeString(asked)+"</p>\n</body></html>\n")
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func page(w http.ResponseWriter, contentType, text string) {
	text = visible.Text(text)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(text))
}
