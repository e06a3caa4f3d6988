package shuffle

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

const user = "alice"

var (
	app    = yarn.ApplicationID{ClusterTimestamp: 1700000000000, Sequence: 7}
	jobKey = []byte{1, 2, 3, 4, 5, 6, 7, 8}
)

// serviceData is what an application's master sends: the token, and the rest of its buffer.
func serviceData(key []byte) []byte {
	t := token.Token{Identifier: token.AppendText(nil, jobID(app)), Password: key, Kind: "mapreduce.job", Service: jobID(app)}
	return append(t.Append(nil), make([]byte, 11)...)
}

// world is a server that serves one job from two local directories.
type world struct {
	*Server
	t    testing.TB
	dirs []string
}

func start(t testing.TB, change func(*Config)) *world {
	t.Helper()
	w := &world{t: t, dirs: []string{t.TempDir(), t.TempDir()}}
	cfg := Config{Address: "127.0.0.1:0", LocalDirs: func() []string { return w.dirs }}
	if change != nil {
		change(&cfg)
	}
	var err error
	if w.Server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // closes what is open, at once
		w.Close(ctx)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if n := w.Stats().Connections; n != 0 {
			t.Errorf("%d connections are left after Close", n)
		}
	})
	if err := w.InitApplication(app, user, serviceData(jobKey)); err != nil {
		t.Fatal(err)
	}
	return w
}

func attempt(n int) string { return fmt.Sprintf("attempt_1700000000000_0007_m_%06d_0", n) }

func (w *world) folder(dir int, attempt string) string {
	return filepath.Join(w.dirs[dir], "usercache", user, "appcache", app.String(), "output", attempt)
}

func (w *world) write(name string, content []byte) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o640); err != nil {
		w.t.Fatal(err)
	}
}

// output writes a map output whose partitions are the given ones; their
// decompressed length is one byte more than that in the file.
func (w *world) output(dir int, attempt string, partitions ...[]byte) {
	w.t.Helper()
	var records []record
	var at int64
	for _, p := range partitions {
		records = append(records, record{at, int64(len(p)) + 1, int64(len(p))})
		at += int64(len(p))
	}
	w.write(filepath.Join(w.folder(dir, attempt), dataFile), bytes.Join(partitions, nil))
	w.write(filepath.Join(w.folder(dir, attempt), indexFile), indexOf(records...))
}

func indexOf(records ...record) []byte {
	var b []byte
	for _, r := range records {
		b = binary.BigEndian.AppendUint64(b, uint64(r.start))
		b = binary.BigEndian.AppendUint64(b, uint64(r.raw))
		b = binary.BigEndian.AppendUint64(b, uint64(r.part))
	}
	return binary.BigEndian.AppendUint64(b, uint64(crc32.ChecksumIEEE(b)))
}

// reducer is a client of its own: it shares no code with the server but the signature.
type reducer struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
	port int
}

func (w *world) reducer() *reducer {
	w.t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", w.Port()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return &reducer{t: w.t, conn: conn, in: bufio.NewReader(conn), port: w.Port()}
}

func target(reduce int, maps ...string) string {
	return fmt.Sprintf("/mapOutput?job=%s&reduce=%d&map=%s", jobID(app), reduce, strings.Join(maps, ","))
}

func sign(port int, target string) string {
	newHash, _ := algorithm("")
	return string(signature(newHash, jobKey, fmt.Sprint(port)+target))
}

// send asks for a target with its signature.
func (r *reducer) send(target string) { r.sendSigned(target, sign(r.port, target)) }

func (r *reducer) sendSigned(target, hash string) {
	r.raw("GET " + target + " HTTP/1.1\r\nname: mapreduce\r\nversion: 1.0.0\r\nUrlHash: " + hash + "\r\nHost: x\r\n\r\n")
}

func (r *reducer) raw(request string) {
	r.t.Helper()
	if _, err := io.WriteString(r.conn, request); err != nil {
		r.t.Fatal(err)
	}
}

// answer reads status and header; the body is left to read.
func (r *reducer) answer() *http.Response {
	r.t.Helper()
	resp, err := http.ReadResponse(r.in, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

// got is one partition as a reducer receives it.
type got struct {
	attempt   string
	raw       int64
	partition int64
	data      string
}

// body reads the partitions of a complete answer.
func (r *reducer) body(resp *http.Response) []got {
	r.t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("status %d, %q, %v", resp.StatusCode, b, err)
	}
	if int64(len(b)) != resp.ContentLength {
		r.t.Fatalf("%d bytes instead of %d", len(b), resp.ContentLength)
	}
	vint := func() int64 {
		v, n, err := token.ReadVInt(b)
		if err != nil {
			r.t.Fatal(err)
		}
		b = b[n:]
		return v
	}
	take := func(n int64) string {
		if n < 0 || n > int64(len(b)) {
			r.t.Fatalf("%d bytes are announced, %d are there", n, len(b))
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	var out []got
	for len(b) > 0 {
		var g got
		g.attempt = take(vint())
		part := vint()
		g.raw, g.partition = vint(), vint()
		g.data = take(part)
		out = append(out, g)
	}
	return out
}

func (r *reducer) fetch(target string) []got {
	r.t.Helper()
	r.send(target)
	return r.body(r.answer())
}

// refused wants an answer with that status, and the connection closed.
func (r *reducer) refused(status int) string {
	r.t.Helper()
	resp := r.answer()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		r.t.Fatalf("status %d instead of %d, %q, %v", resp.StatusCode, status, b, err)
	}
	if _, err := r.in.ReadByte(); err != io.EOF {
		r.t.Fatalf("the connection is not closed: %v", err)
	}
	h := resp.Header
	if h.Get("Content-Type") != "text/plain; charset=UTF-8" || h.Get("Name") != "mapreduce" || h.Get("Version") != "1.0.0" ||
		h.Get("Content-Length") != fmt.Sprint(len(b)) {
		r.t.Errorf("headers %v", h)
	}
	return string(b)
}

// eventually waits for what another goroutine does.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// noise is bytes that do not repeat soon.
func noise(seed byte, n int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}
