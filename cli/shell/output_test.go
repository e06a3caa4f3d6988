package shell

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// nodeLog is one log on a fake node's web server.
type nodeLog struct {
	mu     sync.Mutex
	data   []byte
	asked  []string
	before func() // each answer
}

func (n *nodeLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if n.before != nil {
		n.before()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, r.URL.RequestURI())
	size, _ := strconv.ParseInt(r.URL.Query().Get("size"), 10, 64)
	part := n.data
	if size < 0 && -size < int64(len(part)) {
		part = part[int64(len(part))+size:]
	}
	const on = "Container: container_1000_0007_01_000002 on h:1"
	fmt.Fprintf(w, "%s\nLogAggregationType: LOCAL\n%s\nLogType:stdout\nLogLastModifiedTime:Sun Nov 22 07:09:27 +0000 2026\nLogLength:%d\nLogContents:\n%s"+
		"End of LogType:stdout.This log file belongs to a running container (x) and so may not be complete.\n****\n\n", on, strings.Repeat("=", len(on)), len(n.data), part)
}

func (n *nodeLog) grow(text []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.data = append(n.data, text...)
}

func serveLog(t *testing.T, h http.Handler) *log {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return logOf(s.Client(), "a&b", "http", strings.TrimPrefix(s.URL, "http://"), "container_1000_0007_01_000002", "stdout")
}

// drain reads what there is.
func drain(t *testing.T, l *log) []byte {
	t.Helper()
	var out []byte
	for {
		data, more, err := l.read(t.Context())
		must(t, err)
		if len(data) > chunk {
			t.Fatalf("a piece of %d bytes", len(data))
		}
		if out = append(out, data...); !more {
			return out
		}
	}
}

func TestALogIsReadOnceFromBeginningToEnd(t *testing.T) {
	n := &nodeLog{}
	l := serveLog(t, n)
	var want []byte
	for i, size := range []int{0, 5, 0, chunk, 3*chunk + 7, slack, slack - 1, 1} {
		piece := bytes.Repeat([]byte{byte('a' + i)}, size)
		n.grow(piece)
		want = append(want, piece...)
		if got := drain(t, l); !bytes.Equal(got, piece) {
			t.Errorf("step %d: %d bytes, want %d", i, len(got), size)
		}
	}
	if l.at != int64(len(want)) || n.asked[0] != "/ws/v1/node/containers/container_1000_0007_01_000002/logs/stdout?size=-"+strconv.Itoa(slack)+"&user.name=a%26b" {
		t.Error(l.at, n.asked[0])
	}
}

func TestALogThatGrowsWhileItIsRead(t *testing.T) {
	n := &nodeLog{}
	piece := bytes.Repeat([]byte("0123456789abcdef"), slack/8)
	times := 3
	n.before = func() {
		if times--; times >= 0 {
			n.grow(piece)
		}
	}
	l := serveLog(t, n)
	if got := drain(t, l); !bytes.Equal(got, bytes.Repeat(piece, 3)) {
		t.Errorf("%d bytes", len(got))
	}
	times = 1 << 30
	n.before = func() { piece = append(piece, piece...)[:min(2*len(piece), 8<<20)]; n.grow(piece) }
	if _, _, err := l.read(t.Context()); err == nil || !strings.Contains(err.Error(), "grows faster") {
		t.Error(err)
	}
}

func TestALogThatIsCutShort(t *testing.T) {
	n := &nodeLog{}
	l := serveLog(t, n)
	n.grow([]byte("hello"))
	drain(t, l)
	n.data = []byte("new")
	if got := drain(t, l); len(got) != 0 {
		t.Errorf("%q", got)
	}
	n.grow([]byte("er"))
	if got := drain(t, l); string(got) != "er" {
		t.Errorf("%q", got)
	}
}

func TestAnswersThatAreNoLogs(t *testing.T) {
	header := func(length string) string { return "Container: c\nLogLength:" + length + "\nLogContents:\n" }
	for _, x := range []struct {
		status     int
		body, want string
	}{
		{404, "no", ""}, {307, "", ""}, {500, "", "status 500"}, {200, "", "no log's header"}, {200, "LogContents:\n", "without LogLength"},
		{200, header("x"), "length"}, {200, header("-1"), "length"}, {200, header("99999999999999999999"), "length"},
		{200, header("10") + "short", "cut off"}, {200, strings.Repeat("x\n", maxLogHeader), "header of more"}, {200, strings.Repeat("x", maxLogHeader), "no log's header"},
		{200, header("0"), ""},
	} {
		l := serveLog(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(x.status)
			io.WriteString(w, x.body)
		}))
		l.client = newLogClient()
		data, more, err := l.read(t.Context())
		if len(data) != 0 || more || (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%d %.40q: %q %t %v, want %q", x.status, x.body, data, more, err, x.want)
		}
		l.client.CloseIdleConnections()
	}
}

func FuzzLogLength(f *testing.F) {
	f.Add([]byte("Container: c\nLogLength:10\nLogContents:\nx"))
	f.Add([]byte("LogLength: 1 \r\nLogContents:\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := logLength(bufio.NewReader(bytes.NewReader(b)))
		if err == nil && n < 0 {
			t.Errorf("%d", n)
		}
	})
}
