package filesystem

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

func webServer(t *testing.T) *httptest.Server {
	at := time.UnixMilli(1_700_000_000_000)
	mux := http.NewServeMux()
	mux.HandleFunc("/dir/{file}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("sent headers %v", r.Header)
		}
		http.ServeContent(w, r, "x", at, strings.NewReader("content"))
	})
	mux.HandleFunc("/nohead", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.(http.Flusher).Flush() // so no length is known
		io.WriteString(w, "abc")
	})
	mux.HandleFunc("/secret", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("/hop/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		if n == 0 {
			io.WriteString(w, "there")
			return
		}
		http.Redirect(w, r, "/hop/"+strconv.Itoa(n-1), http.StatusFound)
	})
	mux.HandleFunc("/named", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://carol:pw@"+r.Host+"/dir/x", http.StatusFound)
	})
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	mux.HandleFunc("/short", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "abc")
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X", strings.Repeat("x", 2*maxHeader))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestWeb(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	s := webServer(t)
	f := connect(t, Config{}, strings.Replace(s.URL, "http://", "http://bob:pw@", 1))
	if i, err := f.Stat("/dir/file one"); err != nil || i != (Info{Name: "file one", Size: 7, ModTime: 1_700_000_000_000, Mode: 0o444}) {
		t.Errorf("%+v %v", i, err)
	}
	if got := read(t, f, "/dir/file one"); got != "content" {
		t.Error(got)
	}
	if got := read(t, f, "/named"); got != "content" {
		t.Error(got)
	}
	if i, err := f.Stat("/nohead"); err != nil || i.Size != -1 || i.ModTime != 0 {
		t.Errorf("%+v %v", i, err)
	}
	if got := read(t, f, "/hop/10"); got != "there" {
		t.Error(got)
	}
	for file, why := range map[string]any{
		"/missing": fs.ErrNotExist, "/secret": fs.ErrPermission, "/broken": "502 Bad Gateway",
		"/hop/11": "more than 10 redirections", "/elsewhere": "unsupported protocol scheme", "/header": "exceeded",
	} {
		_, err := f.Open(file)
		if want, ok := why.(error); ok && !errors.Is(err, want) {
			t.Errorf("%s: %v", file, err)
		}
		if want, ok := why.(string); ok && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", file, err)
		}
	}
	r, err := f.Open("/short")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "/short") {
		t.Error(err)
	}
	if _, err := f.Create("/x", 0o600, true); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	if _, err := f.List("/x", 1); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	for _, err := range []error{f.MkdirAll("/x", 0), f.Rename("/x", "/y"), f.Remove("/x"), f.Chmod("/x", 0), f.SetOwner("/x", "a", "b")} {
		if !errors.Is(err, ErrReadOnly) {
			t.Error(err)
		}
	}
}

func TestWebSecurely(t *testing.T) {
	plain := webServer(t)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, plain.URL+"/hop/0", http.StatusFound)
			return
		}
		io.WriteString(w, "secure")
	}))
	defer s.Close()
	known := x509.NewCertPool()
	known.AddCert(s.Certificate())
	f := connect(t, Config{TLS: &tls.Config{RootCAs: known}}, s.URL)
	if got := read(t, f, "/x"); got != "secure" {
		t.Error(got)
	}
	if _, err := f.Open("/down"); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Error(err)
	}
	if _, err := connect(t, Config{}, s.URL).Stat("/x"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
}

func TestWebStalls(t *testing.T) {
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 3*Progress/2))
		for { // one byte after the other, none of them late
			if _, err := w.Write([]byte("x")); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}))
	defer s.Close()
	defer close(stop)
	f := connect(t, Config{Limits: Limits{Idle: time.Second}}, s.URL)
	r, err := f.Open("/x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, ErrStalled) {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	f = connectAs(t, ctx, Config{}, s.URL, "")
	if r, err = f.Open("/x"); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
