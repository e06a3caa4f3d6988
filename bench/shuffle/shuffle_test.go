package main

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// server answers from the files that prepare has written, and then has its answer spoiled.
func server(t *testing.T, o *outputs, spoil func(h http.Header, body []byte) []byte) *reducer {
	t.Helper()
	var port string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hash := r.Header.Get("UrlHash")
		if hash != sign(port+r.RequestURI) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		part, _ := strconv.Atoi(r.URL.Query().Get("reduce"))
		var body []byte
		for name := range strings.SplitSeq(r.URL.Query().Get("map"), ",") {
			var m int
			fmt.Sscanf(name, "attempt_1700000000000_0007_m_%d_0", &m)
			data, err := os.ReadFile(filepath.Join(o.dir, "usercache", user, "appcache", app, "output", name, "file.out"))
			if err != nil {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			body = append(appendVLong(body, int64(len(name))), name...)
			body = appendVLong(body, int64(o.size))
			body = appendVLong(appendVLong(body, o.raw(m, part)), int64(part))
			body = append(body, data[part*o.size:(part+1)*o.size]...)
		}
		h := w.Header()
		h.Set("ReplyHash", sign(hash))
		h.Set("name", "mapreduce")
		h.Set("version", "1.0.0")
		if spoil != nil {
			body = spoil(h, body)
		}
		w.Write(body)
	}))
	t.Cleanup(s.Close)
	address := s.Listener.Addr().String()
	_, port, _ = net.SplitHostPort(address)
	r := &reducer{outputs: o, address: address, port: port, keep: true}
	t.Cleanup(r.hangUp)
	return r
}

func small(t *testing.T) *outputs {
	o := &outputs{dir: t.TempDir(), maps: 3, parts: 4, size: 100}
	if err := o.ready(); err != nil {
		t.Fatal(err)
	}
	for m := range o.maps {
		if err := o.write(m); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func TestAnswersAreChecked(t *testing.T) {
	for name, try := range map[string]struct {
		spoil func(h http.Header, body []byte) []byte
		fails bool
	}{
		"right":         {nil, false},
		"no reply hash": {func(h http.Header, b []byte) []byte { h.Del("ReplyHash"); return b }, true},
		"other version": {func(h http.Header, b []byte) []byte { h.Set("version", "2"); return b }, true},
		"content":       {func(_ http.Header, b []byte) []byte { b[len(b)-50] ^= 1; return b }, true},
		"other map":     {func(_ http.Header, b []byte) []byte { b[36] ^= 1; return b }, true},
		"short":         {func(_ http.Header, b []byte) []byte { return b[:len(b)-1] }, true},
		"long":          {func(_ http.Header, b []byte) []byte { return append(b, 0) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := server(t, small(t), try.spoil)
			n, err := r.fetch(2, []int{1})
			if (err != nil) != try.fails {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	r := server(t, small(t), nil)
	for range 2 { // over one connection
		if n, err := r.fetch(3, []int{2, 0, 1}); err != nil || n != 300 {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	if _, err := r.fetch(0, []int{7}); err == nil {
		t.Error("an output that is not there was fetched")
	}
}

func TestSweepIsComplete(t *testing.T) {
	l := &load{outputs: outputs{maps: 45, parts: 7}, ask: 20}
	n := l.sweep()
	seen := map[[2]int]int{}
	for {
		part, maps, more := n(nil, nil)
		if !more {
			break
		}
		for _, m := range maps {
			seen[[2]int{m, part}]++
		}
	}
	for m := range 45 {
		for part := range 7 {
			if seen[[2]int{m, part}] != 1 {
				t.Errorf("partition %d of map %d is fetched %d times", part, m, seen[[2]int{m, part}])
			}
		}
	}
}

// Vectors made by Apache's own classes.
func TestVectors(t *testing.T) {
	const url = "13562/mapOutput?job=job_1700000000000_0007&reduce=2&map=attempt_1700000000000_0007_m_000001_0"
	if got := sign(url); got != "GZmVDFjPWsr88Mj0eOVsQ0xX8P0=" {
		t.Errorf("UrlHash %s", got)
	}
	if got := sign(sign(url)); got != "+LPrPeStZ7bK/zGc/sreJvFRddQ=" {
		t.Errorf("ReplyHash %s", got)
	}
	b := appendVLong(appendVLong(appendVLong(nil, 300), 1000), 127)
	if got := hex.EncodeToString(appendVLong(b, 1700000000000)); got != "8e012c8e03e87f8a018bcfe56800" {
		t.Errorf("numbers %s", got)
	}
}
