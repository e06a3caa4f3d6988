package shuffle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRefused(t *testing.T) {
	w := start(t, nil)
	w.output(0, attempt(1), []byte("one"))
	good := target(0, attempt(1))
	job := "job=" + jobID(app)
	many := target(0, slices.Repeat([]string{attempt(1)}, MaxMaps+1)...)
	for name, try := range map[string]struct {
		target string
		status int
	}{
		"no query":           {"/mapOutput", 400},
		"no job":             {"/mapOutput?reduce=0&map=" + attempt(1), 400},
		"no reduce":          {"/mapOutput?" + job + "&map=" + attempt(1), 400},
		"no map":             {"/mapOutput?" + job + "&reduce=0", 400},
		"empty map":          {"/mapOutput?" + job + "&reduce=0&map=", 400},
		"only commas":        {"/mapOutput?" + job + "&reduce=0&map=,,", 400},
		"two jobs":           {good + "&" + job, 400},
		"two reduces":        {good + "&reduce=0", 400},
		"reduce is a word":   {"/mapOutput?" + job + "&reduce=x&map=" + attempt(1), 400},
		"reduce is negative": {target(-1, attempt(1)), 400},
		"reduce is long":     {"/mapOutput?" + job + "&reduce=4294967296&map=" + attempt(1), 400},
		"bad escape":         {good + "&x=%zz", 400},
		"too many maps":      {many, 400},
		"no such partition":  {target(1, attempt(1)), 500},
		"last partition":     {target(math.MaxInt32, attempt(1)), 500},
		"no such map":        {target(0, attempt(2)), 500},
		"one of them":        {target(0, attempt(1), attempt(2)), 500},
		"other job":          {strings.Replace(good, "_0007&", "_0008&", 1), 401},
		"job as a path":      {strings.Replace(good, jobID(app), "../"+jobID(app), 1), 401},
		"parent":             {target(0, ".."), 400},
		"path":               {target(0, "attempt_1/../"+attempt(1)), 400},
		"escaped path":       {target(0, "attempt_1%2f..%2f"+attempt(1)), 400},
		"NUL":                {target(0, attempt(1)+"%00"), 400},
		"long name":          {target(0, attempt(1)+strings.Repeat("0", maxAttempt)), 400},
		"other name":         {target(0, "file.out"), 400},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.reducer()
			r.t = t
			if reason := r.sendAndRefuse(try.target, try.status); reason == "" {
				t.Error("no reason is given")
			}
		})
	}
	if s := w.Stats(); s.OK != 0 || s.Failed != 4 {
		t.Errorf("%+v", s)
	}
	same(t, w.reducer().fetch(good), []got{{attempt(1), 4, 0, "one"}})
}

func TestRefusedHeaders(t *testing.T) {
	w := start(t, nil)
	w.output(0, attempt(1), []byte("one"))
	good := target(0, attempt(1))
	const names = "name: mapreduce\r\nversion: 1.0.0\r\n"
	hash := "UrlHash: " + sign(w.Port(), good) + "\r\n"
	for name, try := range map[string]struct {
		line    string
		headers string
		status  int
		reason  string
	}{
		"post":          {"POST " + good, names + hash, 405, ""},
		"put":           {"PUT " + good, names + hash, 405, ""},
		"body":          {"GET " + good, names + hash + "Content-Length: 9\r\n", 400, errBody.reason},
		"chunks":        {"GET " + good, names + hash + "Transfer-Encoding: chunked\r\n", 400, errBody.reason},
		"slow post":     {"POST " + good, names + hash + "Content-Length: 9\r\n", 405, ""},
		"options":       {"OPTIONS *", names, 405, ""},
		"no name":       {"GET " + good, "version: 1.0.0\r\n" + hash, 400, "Incompatible shuffle request version"},
		"no version":    {"GET " + good, "name: mapreduce\r\n" + hash, 400, "Incompatible shuffle request version"},
		"other name":    {"GET " + good, "name: tez\r\nversion: 1.0.0\r\n" + hash, 400, "Incompatible shuffle request version"},
		"other version": {"GET " + good, "name: mapreduce\r\nversion: 1.0.1\r\n" + hash, 400, "Incompatible shuffle request version"},
		"no hash":       {"GET " + good, names, 401, errNoHash.reason},
		"wrong hash":    {"GET " + good, names + "UrlHash: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n", 401, errHash.reason},
		"other url":     {"GET " + good + "&keepAlive=true", names + hash, 401, errHash.reason},
		"other reduce":  {"GET " + target(1, attempt(1)), names + hash, 401, errHash.reason},
		"other path":    {"GET /x" + strings.TrimPrefix(good, "/mapOutput"), names + hash, 401, errHash.reason},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.reducer()
			r.t = t
			r.raw(try.line + " HTTP/1.1\r\nHost: x\r\n" + try.headers + "\r\n")
			if reason := r.refused(try.status); reason != try.reason {
				t.Errorf("reason %q", reason)
			}
		})
	}
	if s := w.Stats(); s.Refused != 15 {
		t.Errorf("%+v", s)
	}
	t.Run("long header", func(t *testing.T) {
		r := w.reducer()
		r.raw("GET " + good + " HTTP/1.1\r\nHost: x\r\n" + names + hash + "x: " + strings.Repeat("x", 2*MaxHeader) + "\r\n\r\n")
		if resp := r.answer(); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
}

func TestCorruptIndexes(t *testing.T) {
	data := noise(1, 1000)
	flipped := indexOf(record{0, 10, 1000})
	flipped[23] ^= 1
	for name, index := range map[string][]byte{
		"empty":             {},
		"checksum only":     indexOf(),
		"cut":               indexOf(record{0, 10, 1000})[:31],
		"no checksum":       indexOf(record{0, 10, 1000})[:24],
		"flipped":           flipped,
		"beyond the end":    indexOf(record{1, 10, 1000}),
		"far":               indexOf(record{math.MaxInt64, 10, 1}),
		"long":              indexOf(record{1, 10, math.MaxInt64}),
		"negative start":    indexOf(record{-1, 10, 1}),
		"negative length":   indexOf(record{0, 10, -1}),
		"negative raw":      indexOf(record{0, -1, 1}),
		"high checksum":     append(indexOf(record{0, 10, 1000})[:24], 1, 0, 0, 0, 0xc2, 0x6f, 0x0a, 0x2a),
		"larger than known": make([]byte, MaxIndex+recordSize),
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil)
			w.output(0, attempt(1), data)
			w.write(filepath.Join(w.folder(0, attempt(1)), indexFile), index)
			for range 2 {
				if reason := w.reducer().sendAndRefuse(target(0, attempt(1)), 500); !strings.Contains(reason, "index") {
					t.Errorf("reason %q", reason)
				}
			}
			w.output(0, attempt(2), data)
			same(t, w.reducer().fetch(target(0, attempt(2))), []got{{attempt(2), 1001, 0, string(data)}})
		})
	}
}

// A large index is read in pieces, and its checksum verified all the same.
func TestLargeIndex(t *testing.T) {
	const n = 3 * chunk / recordSize
	records := make([]record, n)
	for i := range records {
		records[i] = record{int64(i), 1, 1}
	}
	data := noise(5, n)
	w := start(t, func(c *Config) { c.IndexCache = 1 << 10 })
	w.output(0, attempt(1))
	w.write(filepath.Join(w.folder(0, attempt(1)), dataFile), data)
	index := filepath.Join(w.folder(0, attempt(1)), indexFile)
	w.write(index, indexOf(records...))
	for _, i := range []int{0, chunk/recordSize - 1, chunk / recordSize, n - 1} {
		same(t, w.reducer().fetch(target(i, attempt(1))), []got{{attempt(1), 1, int64(i), string(data[i : i+1])}})
	}
	w.reducer().sendAndRefuse(target(n, attempt(1)), 500)
	bad := indexOf(records...)
	bad[len(bad)-checksumSize-1] ^= 1
	w.write(index, bad)
	w.reducer().sendAndRefuse(target(0, attempt(1)), 500)
}

// No link that a user plants lets anything be read, nor does anything that is no file.
func TestPlanted(t *testing.T) {
	plant := func(at string) func(w *world) { // moves what is there away and puts a link to it in its place
		return func(w *world) {
			name := filepath.Join(w.dirs[0], at)
			moved := filepath.Join(w.t.TempDir(), "moved")
			if err := errors.Join(os.Rename(name, moved), os.Symlink(moved, name)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	below := "usercache/" + user + "/appcache/" + app.String() + "/output/"
	file := below + attempt(1) + "/file.out"
	replace := func(by func(name string) error) func(w *world) {
		return func(w *world) {
			name := filepath.Join(w.dirs[0], file)
			if err := errors.Join(os.Remove(name), by(name)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	for name, change := range map[string]func(w *world){
		"usercache":   plant("usercache"),
		"user":        plant("usercache/" + user),
		"appcache":    plant("usercache/" + user + "/appcache"),
		"application": plant("usercache/" + user + "/appcache/" + app.String()),
		"output":      plant("usercache/" + user + "/appcache/" + app.String() + "/output"),
		"attempt":     plant(below + attempt(1)),
		"file":        plant(file),
		"index":       plant(file + ".index"),
		"fifo":        replace(func(name string) error { return syscall.Mkfifo(name, 0o600) }),
		"folder":      replace(func(name string) error { return os.Mkdir(name, 0o700) }),
		"socket": replace(func(name string) error {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer syscall.Close(fd)
			short := filepath.Join(shortDir(t), "s") // a socket's name must be
			return errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: short}), os.Rename(short, name))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, warm := range []bool{false, true} {
				w := start(t, nil)
				w.dirs = w.dirs[:1]
				w.output(0, attempt(1), []byte("secret"))
				w.output(0, attempt(2), []byte("other"))
				if warm && name != "index" {
					w.reducer().fetch(target(0, attempt(1)))
				}
				change(w)
				reason := w.reducer().sendAndRefuse(target(0, attempt(1)), 500)
				if (name == "fifo" || name == "folder") && !strings.HasSuffix(reason, "not a regular file") {
					t.Errorf("reason %q", reason)
				}
			}
		})
	}
}

func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A local directory itself may be a link: the administrator put it there.
func TestLocalDirMayBeALink(t *testing.T) {
	w := start(t, nil)
	w.output(0, attempt(1), []byte("one"))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.dirs[0], link); err != nil {
		t.Fatal(err)
	}
	w.dirs = []string{link}
	same(t, w.reducer().fetch(target(0, attempt(1))), []got{{attempt(1), 4, 0, "one"}})
}

func TestOwner(t *testing.T) {
	owner, unknown := uint32(os.Geteuid()), error(nil)
	w := start(t, func(c *Config) {
		c.Owner = func(name string) (uint32, error) {
			if name != user {
				t.Errorf("asked for %q", name)
			}
			return owner, unknown
		}
	})
	w.output(0, attempt(1), []byte("one"))
	r := w.reducer()
	r.fetch(target(0, attempt(1)))
	owner++
	if reason := w.reducer().sendAndRefuse(target(0, attempt(1)), 500); !strings.Contains(reason, "owned by") {
		t.Errorf("reason %q", reason)
	}
	unknown = errors.New("no such user")
	w.reducer().sendAndRefuse(target(0, attempt(1)), 500)
}

// A file that is cut after its length has been sent ends the answer and the
// connection, keep-alive or not, and nothing else.
func TestTruncatedWhileSending(t *testing.T) {
	for name, change := range map[string]func(*Config){"sendfile": nil, "copying": func(c *Config) { c.Copy = true }} {
		t.Run(name, func(t *testing.T) {
			w := start(t, change)
			w.output(0, attempt(1), nil)
			data := filepath.Join(w.folder(0, attempt(1)), dataFile)
			const size = 256 << 20
			if err := os.Truncate(data, size); err != nil {
				t.Fatal(err)
			}
			w.write(filepath.Join(w.folder(0, attempt(1)), indexFile), indexOf(record{0, size, size}))
			r := w.reducer()
			r.send(target(0, attempt(1)) + "&keepAlive=true")
			resp := r.answer()
			if resp.ContentLength < size {
				t.Fatalf("%d bytes are announced", resp.ContentLength)
			}
			if err := os.Truncate(data, 1<<20); err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			if n >= size || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes, %v", n, err)
			}
			eventually(t, "the request has failed", func() bool { return w.Stats().Failed == 1 })
			w.output(0, attempt(2), []byte("two"))
			same(t, w.reducer().fetch(target(0, attempt(2))), []got{{attempt(2), 4, 0, "two"}})
		})
	}
}

// Between the check and the sending, an output that was not kept open is replaced by a longer one.
func TestReplacedWhileSending(t *testing.T) {
	w := start(t, func(c *Config) { c.OpenFiles = 1 })
	w.output(0, attempt(1), make([]byte, 64<<20))
	w.output(0, attempt(2), make([]byte, 1<<20))
	r := w.reducer()
	r.send(target(0, attempt(1), attempt(2)))
	resp := r.answer()
	if err := os.Remove(filepath.Join(w.folder(0, attempt(2)), dataFile)); err != nil {
		t.Fatal(err)
	}
	w.output(0, attempt(2), make([]byte, 2<<20))
	if n, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || n < 64<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// Who does not read is cut off, and others are served meanwhile.
func TestSlowReader(t *testing.T) {
	w := start(t, func(c *Config) { c.WriteTimeout = 200 * time.Millisecond })
	w.output(0, attempt(1), make([]byte, 64<<20))
	w.output(0, attempt(2), []byte("two"))
	slow := w.reducer()
	slow.send(target(0, attempt(1)))
	slow.answer()
	same(t, w.reducer().fetch(target(0, attempt(2))), []got{{attempt(2), 4, 0, "two"}})
	eventually(t, "the slow reader is cut off", func() bool { return w.Stats().Failed == 1 && w.Stats().Connections == 0 })
	eventually(t, "no request is in service", func() bool { return w.inFlight.Load() == 0 })
}

// A reader that hangs up frees what it took.
func TestHangUp(t *testing.T) {
	w := start(t, nil)
	w.output(0, attempt(1), make([]byte, 64<<20))
	before := openFiles(t)
	for range 5 {
		r := w.reducer()
		r.send(target(0, attempt(1), attempt(1), attempt(1), attempt(1)))
		r.answer()
		r.conn.Close()
	}
	eventually(t, "all have failed", func() bool { return w.Stats().Failed == 5 && w.Stats().Connections == 0 })
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}

func openFiles(t *testing.T) int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestMaxConnections(t *testing.T) {
	w := start(t, func(c *Config) { c.MaxConnections = 2 })
	w.output(0, attempt(1), []byte("one"))
	want := []got{{attempt(1), 4, 0, "one"}}
	var in []*reducer
	for range 2 {
		r := w.reducer()
		r.send(target(0, attempt(1)) + "&keepAlive=true")
		same(t, r.body(r.answer()), want)
		in = append(in, r)
	}
	late := w.reducer()
	late.send(target(0, attempt(1)))
	resp := late.answer()
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "1000" {
		t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
	}
	in[0].conn.Close()
	late.conn.Close()
	eventually(t, "one is left", func() bool { return w.Stats().Connections == 1 })
	same(t, w.reducer().fetch(target(0, attempt(1))), want)
	same(t, in[1].fetch(target(0, attempt(1))), want)
}

// Far too many connections that say nothing are closed at once.
func TestOverflow(t *testing.T) {
	w := start(t, func(c *Config) { c.MaxConnections = 1 })
	for range 1 + overflow {
		w.reducer()
	}
	eventually(t, "all are counted", func() bool { return w.Stats().Connections == 1+overflow })
	r := w.reducer()
	r.conn.SetDeadline(time.Now().Add(requestTimeout / 2)) // after which a silent connection would be closed anyway
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("one more: %v", err)
	}
}

func TestRequestsInService(t *testing.T) {
	w := start(t, nil)
	w.output(0, attempt(1), []byte("one"))
	j := w.jobs.get(jobID(app))
	j.inFlight.Store(MaxRequestsPerJob)
	w.reducer().sendAndRefuse(target(0, attempt(1)), http.StatusTooManyRequests)
	j.inFlight.Store(0)
	w.inFlight.Store(MaxRequests)
	w.reducer().sendAndRefuse(target(0, attempt(1)), http.StatusTooManyRequests)
	w.inFlight.Store(0)
	w.reducer().fetch(target(0, attempt(1)))
	eventually(t, "no request is in service", func() bool { return w.inFlight.Load() == 0 && j.inFlight.Load() == 0 })
}

func TestGarbage(t *testing.T) {
	w := start(t, nil)
	for _, b := range [][]byte{{0}, []byte("\r\n\r\n"), []byte("GET\r\n\r\n"), noise(3, 5000), bytes.Repeat([]byte("a"), 100<<10), []byte("\x16\x03\x01\x02\x00\x01")} {
		r := w.reducer()
		r.conn.Write(b)
		r.conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, r.in)
	}
	w.output(0, attempt(1), []byte("one"))
	same(t, w.reducer().fetch(target(0, attempt(1))), []got{{attempt(1), 4, 0, "one"}})
}

func TestConfigIsChecked(t *testing.T) {
	dirs := func() []string { return nil }
	for name, cfg := range map[string]Config{
		"no directories": {Address: "127.0.0.1:0"},
		"no address":     {LocalDirs: dirs, Address: "127.0.0.1"},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	ln, err := net.Listen("unix", filepath.Join(shortDir(t), "s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{LocalDirs: dirs, Listener: ln}); err == nil || !strings.Contains(err.Error(), "TCP") {
		t.Errorf("a port that is none: %v", err)
	}
	w := start(t, nil)
	if _, err := New(Config{LocalDirs: dirs, Address: fmt.Sprintf("127.0.0.1:%d", w.Port())}); err == nil || !strings.Contains(err.Error(), "mapreduce.shuffle.port") {
		t.Errorf("a port that is taken: %v", err)
	}
}
