// Package nodelogs fetches the end of a container's log files from its node, for pages of the ResourceManager, which can only send requests to the
// ResourceManager itself. What comes back is hostile text.
package nodelogs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bounds.
const (
	MaxBytes  = 256 << 10 // of one log file that is fetched
	mostFiles = 200       // of one container
	patience  = 10 * time.Second
	atOnce    = 16      // requests to nodes
	mostList  = 1 << 20 // bytes of a list of files
	margin    = 8 << 10 // bytes of the heading and the ending around a log file
)

// ErrBusy is the error if too many requests are under way.
var ErrBusy = errors.New("too many log files are being fetched; try again")

// Client fetches logs.
type Client struct {
	scheme  string
	service string // yarn.log.server.web-service.url: where nodes send those whose logs have been collected; "" if nobody serves them
	http    *http.Client
	places  chan struct{}
}

// New is a client. scheme is that of the nodes' pages.
func New(scheme, service string) *Client {
	return &Client{scheme: scheme, service: strings.TrimSuffix(service, "/"), places: make(chan struct{}, atOnce),
		http: &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// File is a log file.
type File struct {
	Name string
	Size int64 // bytes
}

// Refusal is what a node answered instead of logs.
type Refusal struct {
	Status int
	Text   string
}

func (e *Refusal) Error() string { return e.Text }

// Files lists the log files of a container. node is the address of its node's pages, user who asks, "" for nobody.
func (c *Client) Files(ctx context.Context, node, container, user string) ([]File, error) {
	body, err := c.get(ctx, node, "/ws/v1/node/containers/"+url.PathEscape(container)+"/logs", user, nil, "application/json", mostList)
	if err != nil {
		return nil, err
	}
	var parsed any
	if err := json.Unmarshal(body, &parsed); err != nil {
		return nil, fmt.Errorf("the list of log files at %s cannot be read: %w", node, err)
	}
	var out []File
	find(parsed, &out, 0)
	return out, nil
}

// find collects files from the answers of all versions of Hadoop, which nest them differently.
func find(x any, out *[]File, depth int) {
	if depth > 8 || len(*out) >= mostFiles {
		return
	}
	switch x := x.(type) {
	case []any:
		for _, one := range x {
			find(one, out, depth+1)
		}
	case map[string]any:
		name, ok := x["fileName"].(string)
		if !ok {
			for _, one := range x {
				find(one, out, depth+1)
			}
			return
		}
		size, _ := strconv.ParseInt(fmt.Sprint(x["fileSize"]), 10, 64)
		*out = append(*out, File{Name: name, Size: max(size, 0)})
	}
}

// Tail is the last bytes of a log file, at most so many, and the length of the whole file.
func (c *Client) Tail(ctx context.Context, node, container, file, user string, bytes int) (text string, length int64, err error) {
	bytes = min(max(bytes, 1), MaxBytes)
	body, err := c.get(ctx, node, "/ws/v1/node/containers/"+url.PathEscape(container)+"/logs/"+url.PathEscape(file), user,
		url.Values{"size": {strconv.Itoa(-bytes)}}, "text/plain", bytes+margin)
	if err != nil {
		return "", 0, err
	}
	text, length = content(string(body))
	return strings.ToValidUTF8(text, "\ufffd"), length, nil
}

// content takes the heading and the ending away that nodes put around a log file.
func content(body string) (text string, length int64) {
	head, text, ok := strings.Cut(body, "LogContents:\n")
	if !ok {
		return body, int64(len(body))
	}
	if _, rest, ok := strings.Cut(head, "LogLength:"); ok {
		number, _, _ := strings.Cut(rest, "\n")
		length, _ = strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	}
	if at := strings.LastIndex(text, "\nEnd of LogType:"); at >= 0 {
		text = text[:at]
	}
	return text, length
}

// get asks a node, and after it, if it says so, the server of collected logs, and no other address.
func (c *Client) get(ctx context.Context, node, path, user string, query url.Values, accept string, most int) ([]byte, error) {
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	default:
		return nil, ErrBusy
	}
	if query == nil {
		query = url.Values{}
	}
	if user != "" {
		query.Set("user.name", user)
	}
	at := c.scheme + "://" + node + path + "?" + query.Encode()
	res, err := c.ask(ctx, at, accept)
	if err != nil {
		return nil, fmt.Errorf("the node at %s does not answer: %w", node, err)
	}
	if to := res.Header.Get("Location"); res.StatusCode == http.StatusTemporaryRedirect && c.collected(to) {
		_ = res.Body.Close()
		if res, err = c.ask(ctx, to, accept); err != nil {
			return nil, fmt.Errorf("the log server at %s (yarn.log.server.web-service.url) does not answer: %w", c.service, err)
		}
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(most)))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer of %s broke off: %w", node, err)
	case res.StatusCode != http.StatusOK:
		return nil, &Refusal{Status: res.StatusCode, Text: refusal(res.StatusCode, node, body)}
	}
	return body, nil
}

// collected tells whether an address is one of the server of collected logs.
func (c *Client) collected(address string) bool {
	return c.service != "" && strings.HasPrefix(address, c.service+"/")
}

func (c *Client) ask(ctx context.Context, address, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", accept)
	return c.http.Do(r)
}

// refusal is the text for an answer that is no log.
func refusal(status int, node string, body []byte) string {
	var e struct{ RemoteException struct{ Message string } }
	text := strings.TrimSpace(string(body[:min(len(body), 1000)]))
	if json.Unmarshal(body, &e) == nil && e.RemoteException.Message != "" {
		text = e.RemoteException.Message
	}
	switch {
	case status/100 == 3:
		text = "it sends readers to another address, which is not that of yarn.log.server.web-service.url here"
	case status == http.StatusUnauthorized:
		text = "it wants to know who asks by other means than this ResourceManager has"
	case text == "" || strings.HasPrefix(text, "<"):
		text = http.StatusText(status)
	}
	return "The node at " + node + " does not give the log: " + text
}
