package shuffle

import (
	"io"
	"net/http"
	"testing"
)

// One request of a stock reducer, over a connection that is kept: 20 maps. What
// is allocated includes the client of the benchmark.
func benchmark(b *testing.B, size int) {
	w := start(b, nil)
	var ask []string
	for i := range 20 {
		w.output(i%2, attempt(i), noise(byte(i), size), noise(byte(i), size))
		ask = append(ask, attempt(i))
	}
	r := w.reducer()
	url := target(1, ask...) + "&keepAlive=true"
	hash := sign(w.Port(), url)
	request := []byte("GET " + url + " HTTP/1.1\r\nname: mapreduce\r\nversion: 1.0.0\r\nUrlHash: " + hash + "\r\nHost: x\r\n\r\n")
	buf := make([]byte, 1<<20)
	b.SetBytes(int64(20 * size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.conn.Write(request); err != nil {
			b.Fatal(err)
		}
		resp, err := http.ReadResponse(r.in, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp, err)
		}
		for n := int64(0); n < resp.ContentLength; {
			k, err := resp.Body.Read(buf)
			n += int64(k)
			if err != nil && (err != io.EOF || n < resp.ContentLength) {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkFetch1K(b *testing.B)   { benchmark(b, 1<<10) }
func BenchmarkFetch30K(b *testing.B)  { benchmark(b, 30<<10) }
func BenchmarkFetch100K(b *testing.B) { benchmark(b, 100<<10) }
func BenchmarkFetch4M(b *testing.B)   { benchmark(b, 4<<20) }
