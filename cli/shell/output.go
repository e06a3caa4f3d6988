package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// How logs are read.
const (
	logTries     = 3         // at a log of a container that has ended
	maxReaders   = 16        // requests to nodes at once
	chunk        = 256 << 10 // bytes of output of one event
	slack        = 64 << 10  // that a log may grow between two requests
	maxLogHeader = 16 << 10
	maxMisses    = 5 // requests until one reaches back far enough
)

// streams are the files that are read.
var streams = []string{"stdout", "stderr"}

// log is one file that a container writes, followed through its node's web
// server. Nodes answer with the end of a file, as much of it as one asks for,
// after a header that tells how long the file is.
type log struct {
	client *http.Client
	user   string // who asks, where nodes ask for names
	stream string
	url    string // without query
	at     int64  // bytes read so far
	length int64  // when it was last looked at
}

func logOf(c *http.Client, user, scheme, address, container, stream string) *log {
	return &log{client: c, user: user, stream: stream, url: scheme + "://" + address + "/ws/v1/node/containers/" + container + "/logs/" + stream}
}

// read reads on, up to one chunk; nothing if there is no such file. more tells
// whether the file goes on.
func (l *log) read(ctx context.Context) (data []byte, more bool, err error) {
	for range maxMisses {
		data, ok, err := l.ask(ctx, max(0, l.length-l.at)+slack)
		if ok || err != nil {
			return data, err == nil && l.at < l.length, err
		}
	}
	return nil, false, fmt.Errorf("%s grows faster than it can be read", l.url)
}

// ask fetches the last bytes of a file and skips what has been read. It is not
// ok if the file has grown so much that they begin too late.
func (l *log) ask(ctx context.Context, last int64) (data []byte, ok bool, err error) {
	query := "?size=-" + strconv.FormatInt(last, 10) + "&user.name=" + url.QueryEscape(l.user)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url+query, nil)
	if err != nil {
		return nil, false, err
	}
	res, err := l.client.Do(r)
	if err != nil {
		return nil, false, err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound, res.StatusCode/100 == 3:
		return nil, true, nil // not there yet, or never; 3xx points to a server of finished applications' logs
	case res.StatusCode != http.StatusOK:
		return nil, false, fmt.Errorf("%s: status %s", l.url, res.Status)
	}
	body := bufio.NewReader(res.Body)
	if l.length, err = logLength(body); err != nil {
		return nil, false, fmt.Errorf("%s: %w", l.url, err)
	}
	if l.length < l.at { // cut short by who writes it
		l.at = l.length
	}
	start := max(0, l.length-last)
	if start > l.at {
		return nil, false, nil
	}
	if _, err = io.CopyN(io.Discard, body, l.at-start); err == nil {
		data = make([]byte, min(l.length-l.at, chunk))
		_, err = io.ReadFull(body, data)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: the answer is cut off: %w", l.url, err)
	}
	l.at += int64(len(data))
	return data, true, nil
}

// logLength reads the header of an answer: lines, of which LogLength: tells the
// length of the file and LogContents: is the last.
func logLength(body *bufio.Reader) (int64, error) {
	length := int64(-1)
	for read := 0; read < maxLogHeader; {
		line, err := body.ReadSlice('\n')
		if err != nil {
			return 0, fmt.Errorf("no log's header: %w", noEOF(err))
		}
		read += len(line)
		text := strings.TrimRight(string(line), "\r\n")
		if n, ok := strings.CutPrefix(text, "LogLength:"); ok {
			if length, err = strconv.ParseInt(strings.TrimSpace(n), 10, 64); err != nil || length < 0 {
				return 0, fmt.Errorf("a log's length is %.40q", n)
			}
		}
		if text == "LogContents:" {
			if length < 0 {
				return 0, errors.New("a log's header without LogLength")
			}
			return length, nil
		}
	}
	return 0, fmt.Errorf("a log's header of more than %d bytes", maxLogHeader)
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// newLogClient is for requests to nodes. Where a node sends us elsewhere, to a
// server of finished applications' logs, there is nothing to follow.
func newLogClient() *http.Client {
	return &http.Client{Timeout: askTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, MaxIdleConnsPerHost: maxReaders,
			MaxConnsPerHost: maxReaders, IdleConnTimeout: idleTime, MaxResponseHeaderBytes: maxHeader}}
}
