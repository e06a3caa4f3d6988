package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

const patience = 2 * time.Minute // for one request

// reducer fetches over one connection at a time, as the thread of a reduce task
// that has been given a host does.
type reducer struct {
	*outputs
	address string
	port    string
	keep    bool // ask to keep the connection
	conn    net.Conn
	in      *bufio.Reader
	buf     []byte
	want    []byte // header of a partition
}

func sign(message string) string {
	mac := hmac.New(sha1.New, key)
	mac.Write([]byte(message))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func (r *reducer) connect() error {
	if r.conn != nil {
		return nil
	}
	conn, err := net.DialTimeout("tcp", r.address, patience)
	if err != nil {
		return err
	}
	r.conn = conn
	if r.in == nil {
		r.in, r.buf = bufio.NewReaderSize(nil, 64<<10), make([]byte, 256<<10)
	}
	r.in.Reset(conn)
	return nil
}

func (r *reducer) hangUp() {
	if r.conn != nil {
		r.conn.Close()
		r.conn = nil
	}
}

// fetch asks for one partition of some maps and checks the answer. It returns
// how many bytes of partitions came.
func (r *reducer) fetch(part int, maps []int) (n int64, err error) {
	defer func() {
		if err != nil || !r.keep {
			r.hangUp()
		}
	}()
	if err := r.connect(); err != nil {
		return 0, err
	}
	r.conn.SetDeadline(time.Now().Add(patience))
	urlHash, err := r.ask(part, maps)
	if err != nil {
		return 0, err
	}
	length, err := r.header(sign(urlHash))
	if err != nil {
		return 0, err
	}
	if want := r.length(part, maps); length != want {
		return 0, fmt.Errorf("content-length is %d instead of %d", length, want)
	}
	for _, m := range maps {
		if err := r.partition(m, part); err != nil {
			return n, fmt.Errorf("output of map %d: %w", m, err)
		}
		n += int64(r.size)
	}
	return n, nil
}

// length is how long the body of an answer has to be.
func (r *reducer) length(part int, maps []int) (n int64) {
	for _, m := range maps {
		n += int64(len(r.head(m, part))) + int64(r.size)
	}
	return n
}

// head is the header that goes before a partition. It is good until the next call.
func (r *reducer) head(m, part int) []byte {
	name := attempt(m)
	b := append(appendVLong(r.want[:0], int64(len(name))), name...)
	for _, v := range []int64{int64(r.size), r.raw(m, part), int64(part)} {
		b = appendVLong(b, v)
	}
	r.want = b
	return b
}

func (r *reducer) ask(part int, maps []int) (urlHash string, err error) {
	var b strings.Builder
	fmt.Fprintf(&b, "/mapOutput?job=%s&reduce=%d&map=", job, part)
	for i, m := range maps {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(attempt(m))
	}
	if r.keep {
		b.WriteString("&keepAlive=true")
	}
	urlHash = sign(r.port + b.String())
	_, err = io.WriteString(r.conn, "GET "+b.String()+" HTTP/1.1\r\nUrlHash: "+urlHash+
		"\r\nname: mapreduce\r\nversion: 1.0.0\r\nHost: "+r.address+"\r\nConnection: keep-alive\r\n\r\n")
	return urlHash, err
}

// header reads status and headers and returns the length of the body.
func (r *reducer) header(replyHash string) (length int64, err error) {
	status, err := r.line()
	if err != nil {
		return 0, err
	}
	if status != "HTTP/1.1 200 OK" {
		return 0, fmt.Errorf("answer %q", status)
	}
	length = -1
	missing := map[string]string{"replyhash": replyHash, "name": "mapreduce", "version": "1.0.0"}
	for {
		line, err := r.line()
		if err != nil || line == "" {
			if err == nil && (len(missing) > 0 || length < 0) {
				err = fmt.Errorf("headers are missing or wrong: %v", missing)
			}
			return length, err
		}
		name, value, _ := strings.Cut(line, ": ")
		name = strings.ToLower(name)
		if name == "content-length" {
			if length, err = strconv.ParseInt(value, 10, 64); err != nil {
				return 0, err
			}
		}
		if missing[name] == value {
			delete(missing, name)
		}
	}
}

func (r *reducer) line() (string, error) {
	b, err := r.in.ReadSlice('\n')
	return strings.TrimRight(string(b), "\r\n"), err
}

// partition reads and checks one partition.
func (r *reducer) partition(m, part int) error {
	want := r.head(m, part)
	b := r.buf[:len(want)]
	if _, err := io.ReadFull(r.in, b); err != nil {
		return err
	}
	if !bytes.Equal(b, want) {
		return fmt.Errorf("header is %x instead of %x", b, want)
	}
	for content := r.content(m, part); len(content) > 0; {
		b := r.buf[:min(len(content), len(r.buf))]
		if _, err := io.ReadFull(r.in, b); err != nil {
			return err
		}
		if !bytes.Equal(b, content[:len(b)]) {
			return fmt.Errorf("content differs within the last %d bytes", len(content))
		}
		content = content[len(b):]
	}
	return nil
}

// appendVLong appends a number that is not negative as Hadoop's variable-length integer.
func appendVLong(b []byte, v int64) []byte {
	if v < 128 {
		return append(b, byte(v))
	}
	n := 1
	for v>>(8*n) > 0 {
		n++
	}
	b = append(b, byte(int8(-112-n)))
	for i := n - 1; i >= 0; i-- {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}
