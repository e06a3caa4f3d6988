package webgate

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTraffic: every answer is counted by its status and length, whoever writes it.
func TestTraffic(t *testing.T) {
	traffic := &Traffic{}
	r := NewRouter("/x", "")
	r.Add(http.MethodGet, "/x", func(w http.ResponseWriter, r *http.Request) {
		if n := traffic.Stats(); n.Active != 1 {
			t.Errorf("%d are active", n.Active)
		}
		switch r.URL.RawQuery {
		case "nothing":
		case "status":
			w.WriteHeader(http.StatusTeapot)
		case "copied":
			_, _ = io.Copy(w, strings.NewReader("12345"))
		case "flushed":
			_, _ = io.WriteString(w, "12")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		case "panic":
			defer func() { _ = recover() }()
			panic(http.ErrAbortHandler)
		}
	})
	server := httptest.NewServer(New(Config{Traffic: traffic}, r))
	defer server.Close()
	for _, path := range []string{"/x?nothing", "/x?status", "/x?copied", "/x?flushed", "/x?panic", "/", "/none"} {
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(path, err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Error(path, err)
		}
		res.Body.Close()
	}
	n := traffic.Stats()
	if n.Requests != 7 || n.Active != 0 || n.MostActive != 1 || n.Responses != [6]int64{2: 4, 3: 1, 4: 2} || n.Bytes < 7 || n.Total <= 0 || n.MeanTime <= 0 {
		t.Errorf("%+v", n)
	}
}
