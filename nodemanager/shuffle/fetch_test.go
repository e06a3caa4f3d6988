package shuffle

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// outputs of three sizes: some go through the buffer, some by sendfile.
func (w *world) mixed() []got {
	sizes := []int{0, 1, 5000, copySize, copySize + 1, 300_000, 7, 3 << 20, 2 * stretch, 40_000, bufferSize, bufferSize - 40, 17, 17}
	var want []got
	for i, n := range sizes {
		data := noise(byte(i), n)
		w.output(i%2, attempt(i), noise(99, i), data, noise(98, 3))
		want = append(want, got{attempt(i), int64(n) + 1, 1, string(data)})
	}
	return want
}

func names(of []got) []string {
	var out []string
	for _, g := range of {
		out = append(out, g.attempt)
	}
	return out
}

func same(t *testing.T, have, want []got) {
	t.Helper()
	if !reflect.DeepEqual(have, want) {
		t.Errorf("received %d partitions of %v\ninstead of %d of %v, or their content differs", len(have), names(have), len(want), names(want))
	}
}

func TestFetch(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"plain":     nil,
		"one file":  func(c *Config) { c.OpenFiles = 1 },
		"copying":   func(c *Config) { c.Copy = true },
		"advice":    func(c *Config) { c.Readahead, c.DropCache = 1<<20, true },
		"no cache":  func(c *Config) { c.IndexCache = 1 },
		"keepalive": func(c *Config) { c.KeepAlive = true },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, change)
			want := w.mixed()
			for range 3 { // the second time from the cache
				same(t, w.reducer().fetch(target(1, names(want)...)), want)
			}
			slices.Reverse(want)
			same(t, w.reducer().fetch(target(1, names(want)...)), want)
			eventually(t, "all are answered", func() bool { return w.Stats().OK == 4 })
			if s := w.Stats(); s.Failed != 0 || s.Refused != 0 || s.Bytes < 4*5<<20 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	w := start(t, nil)
	w.output(0, attempt(1), []byte("one"))
	r := w.reducer()
	r.send(target(0, attempt(1)))
	b, err := io.ReadAll(r.in)
	if err != nil {
		t.Fatal(err)
	}
	newHash, _ := algorithm("")
	reply := signature(newHash, jobKey, sign(w.Port(), target(0, attempt(1))))
	want := "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 44\r\nReplyHash: " + string(reply) + "\r\nname: mapreduce\r\nversion: 1.0.0\r\n\r\n" +
		"\x25" + attempt(1) + "\x03\x04\x00one"
	if string(b) != want {
		t.Errorf("%q\ninstead of\n%q", b, want)
	}
}

func TestKeepAlive(t *testing.T) {
	w := start(t, nil)
	want := w.mixed()
	r := w.reducer()
	for range 5 {
		r.send(target(1, names(want)...) + "&keepAlive=true")
		resp := r.answer()
		if resp.Header.Get("Keep-Alive") != "timeout=5" || resp.Header.Get("Connection") != "Keep-Alive" {
			t.Fatalf("headers %v", resp.Header)
		}
		same(t, r.body(resp), want)
	}
	if n := w.Stats().Connections; n != 1 {
		t.Errorf("%d connections", n)
	}
	same(t, r.fetch(target(1, attempt(2))), want[2:3])
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("without keepAlive the connection is left open: %v", err)
	}
}

// Pipelined requests are answered in turn.
func TestPipelined(t *testing.T) {
	w := start(t, func(c *Config) { c.KeepAlive = true })
	want := w.mixed()
	r := w.reducer()
	for i := range want {
		r.send(target(1, attempt(i)))
	}
	for i := range want {
		same(t, r.body(r.answer()), want[i:i+1])
	}
}

func TestTLS(t *testing.T) {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	defer cert.Close()
	w := start(t, func(c *Config) { c.TLS = &tls.Config{Certificates: cert.TLS.Certificates} })
	want := w.mixed()
	r := w.reducer()
	r.conn = tls.Client(r.conn, &tls.Config{InsecureSkipVerify: true})
	r.in.Reset(r.conn)
	same(t, r.fetch(target(1, names(want)...)), want)
}

// Output and index may lie in different local directories, and one that is gone is passed over.
func TestDirectories(t *testing.T) {
	w := start(t, nil)
	w.output(0, attempt(1), []byte("data"))
	if err := os.MkdirAll(w.folder(1, attempt(1)), 0o755); err != nil {
		t.Fatal(err)
	}
	name := func(dir int) string { return filepath.Join(w.folder(dir, attempt(1)), indexFile) }
	if err := os.Rename(name(0), name(1)); err != nil {
		t.Fatal(err)
	}
	w.dirs = append([]string{filepath.Join(t.TempDir(), "gone")}, w.dirs...)
	want := []got{{attempt(1), 5, 0, "data"}}
	same(t, w.reducer().fetch(target(0, attempt(1))), want)
	w.dirs = w.dirs[1:] // the cached index names a directory, not its number
	same(t, w.reducer().fetch(target(0, attempt(1))), want)
	w.dirs = w.dirs[1:]
	w.reducer().sendAndRefuse(target(0, attempt(1)), http.StatusInternalServerError)
}

func (r *reducer) sendAndRefuse(target string, status int) string {
	r.t.Helper()
	r.send(target)
	return r.refused(status)
}

// Outputs of Tez have longer names.
func TestTez(t *testing.T) {
	const name = "attempt_1700000000000_0007_1_07_000058_0_10012_0"
	w := start(t, nil)
	w.output(0, name, []byte("tez"))
	r := w.reducer()
	r.send("/mapOutput?job=" + jobID(app) + "&dag=1&reduce=0&map=" + name + "&keepAlive=true")
	same(t, r.body(r.answer()), []got{{name, 4, 0, "tez"}})
}

// recording notes what is sent without being copied, and how often its deadline is put off.
type recording struct {
	net.Listener
	mu        sync.Mutex
	bytes     int64
	deadlines int64
}

type recordedConn struct {
	*net.TCPConn
	by *recording
}

func (l *recording) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &recordedConn{c.(*net.TCPConn), l}, nil
}

// ReadFrom is where a connection sends a file without copying, if that is what it is given.
func (c *recordedConn) ReadFrom(r io.Reader) (int64, error) {
	lr, ok := r.(*io.LimitedReader)
	if _, isFile := lr.R.(*os.File); !ok || !isFile {
		return 0, errors.New("this cannot be sent without copying")
	}
	n, err := c.TCPConn.ReadFrom(r)
	c.by.mu.Lock()
	defer c.by.mu.Unlock()
	c.by.bytes += n
	return n, err
}

func (c *recordedConn) SetWriteDeadline(t time.Time) error {
	c.by.mu.Lock()
	c.by.deadlines++
	c.by.mu.Unlock()
	return c.TCPConn.SetWriteDeadline(t)
}

func TestLargePartitionsAreNotCopied(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	by := &recording{Listener: ln}
	w := start(t, func(c *Config) { c.Listener = by })
	const stretches = 40
	data := make([]byte, stretches*stretch)
	w.output(0, attempt(1), data)
	w.output(1, attempt(2), noise(1, copySize))
	w.output(1, attempt(3), noise(2, copySize+1))
	got := w.reducer().fetch(target(0, attempt(1), attempt(2), attempt(3)))
	if len(got) != 3 || got[0].data != string(data) {
		t.Fatalf("received %v", names(got))
	}
	by.mu.Lock()
	defer by.mu.Unlock()
	if want := int64(len(data) + copySize + 1); by.bytes != want {
		t.Errorf("%d bytes were sent without copying, not %d", by.bytes, want)
	}
	if by.deadlines < stretches {
		t.Errorf("the deadline was put off %d times", by.deadlines)
	}
}

func TestJobsAreSaved(t *testing.T) {
	saved := map[yarn.ApplicationID]Job{}
	var saves int
	var broken error
	w := start(t, func(c *Config) {
		c.Save = func(j Job) error {
			saves++
			if broken == nil {
				saved[j.App] = j
			}
			return broken
		}
		c.Remove = func(a yarn.ApplicationID) error {
			delete(saved, a)
			return broken
		}
	})
	w.output(0, attempt(1), []byte("one"))
	if err := w.InitApplication(app, user, serviceData(jobKey)); err != nil || saves != 1 {
		t.Fatalf("the same token again: %d saves, %v", saves, err)
	}
	broken = errors.New("disk full")
	other := yarn.ApplicationID{ClusterTimestamp: app.ClusterTimestamp, Sequence: 8}
	if err := w.InitApplication(other, user, serviceData(jobKey)); !errors.Is(err, broken) || w.jobs.get(jobID(other)) != nil {
		t.Errorf("what cannot be saved is served: %v", err)
	}
	broken = nil

	next := start(t, nil)
	next.dirs = w.dirs
	if err := next.StopApplication(app); err != nil {
		t.Fatal(err)
	}
	next.reducer().sendAndRefuse(target(0, attempt(1)), http.StatusUnauthorized)
	bad := Job{App: other, User: user, Token: []byte{9}}
	if err := next.Restore([]Job{bad, saved[app]}); err == nil || !strings.Contains(err.Error(), other.String()) {
		t.Errorf("a job that cannot be read: %v", err)
	}
	same(t, next.reducer().fetch(target(0, attempt(1))), []got{{attempt(1), 4, 0, "one"}})

	same(t, w.reducer().fetch(target(0, attempt(1))), []got{{attempt(1), 4, 0, "one"}})
	if err := w.StopApplication(app); err != nil || len(saved) != 0 {
		t.Errorf("%v, still saved: %v", err, saved)
	}
	if w.indexes.bytes != 0 {
		t.Errorf("%d bytes of indexes are kept", w.indexes.bytes)
	}
	w.reducer().sendAndRefuse(target(0, attempt(1)), http.StatusUnauthorized)
}

// A new token of the same application takes the place of the old one.
func TestNewToken(t *testing.T) {
	w := start(t, nil)
	w.output(0, attempt(1), []byte("one"))
	if err := w.InitApplication(app, user, serviceData([]byte("another"))); err != nil {
		t.Fatal(err)
	}
	w.reducer().sendAndRefuse(target(0, attempt(1)), http.StatusUnauthorized)
}

func TestCloseLetsRequestsEnd(t *testing.T) {
	w := start(t, nil)
	big := noise(1, 32<<20)
	w.output(0, attempt(1), big)
	r := w.reducer()
	r.send(target(0, attempt(1)))
	resp := r.answer()
	closed := make(chan error, 1)
	go func() { closed <- w.Close(context.Background()) }()
	eventually(t, "the port is closed", func() bool {
		c, err := net.Dial("tcp", w.ln.Addr().String())
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	have := r.body(resp)
	if len(have) != 1 || !bytes.Equal([]byte(have[0].data), big) {
		t.Error("the answer differs")
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestCloseBeforeServe(t *testing.T) {
	s, err := New(Config{LocalDirs: func() []string { return nil }, Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Serve(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.ln.Addr().String()); err == nil {
		c.Close()
		t.Error("the port is open")
	}
}
