// Package nodelogs fetches the end of a container's log files from its node, for pages of the ResourceManager, which can only send requests to the
// ResourceManager itself. What comes back is hostile text.
package nodelogs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/web/proxy"
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
	service *url.URL // yarn.log.server.web-service.url: where nodes send those whose logs have been collected; nil if nobody serves them
	http    *http.Client
	places  chan struct{}
}

// New is a client. scheme is that of the nodes' pages. own tells whether this daemon listens on a port: those are never asked, whatever a node says
// of itself; nil: it listens on none.
func New(scheme, service string, own func(port uint16) bool) *Client {
	c := &Client{scheme: scheme, places: make(chan struct{}, atOnce)}
	if u, err := url.Parse(strings.TrimSuffix(service, "/")); err == nil && u.Host != "" {
		c.service = u
	}
	c.http = &http.Client{Timeout: patience,
		Transport:     &http.Transport{DisableKeepAlives: true, Proxy: nil, DialContext: proxy.DialOthers(own)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
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
	body, err := c.get(ctx, node, []string{container, "logs"}, user, nil, "application/json", mostList)
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
	body, err := c.get(ctx, node, []string{container, "logs", file}, user,
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

// get asks a node for what the parts of a path below its containers name, and after it, if it says so, the server of collected logs, and no other
// address.
func (c *Client) get(ctx context.Context, node string, parts []string, user string, query url.Values, accept string, most int) ([]byte, error) {
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
	at, err := c.page(node, parts)
	if err != nil {
		return nil, err
	}
	at.RawQuery = query.Encode()
	res, err := c.ask(ctx, at, accept)
	if err != nil {
		return nil, fmt.Errorf("the node at %s does not answer: %w", node, err)
	}
	if to := c.collected(res.Header.Get("Location"), user); res.StatusCode == http.StatusTemporaryRedirect && to != nil {
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

// page is the address of what is below a node's containers.
func (c *Client) page(node string, parts []string) (*url.URL, error) {
	host, port, err := net.SplitHostPort(node)
	if err == nil && host == "" {
		err = errors.New("it has no host")
	}
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return nil, fmt.Errorf("the node registered %q, which is no address of its pages: %w", node, err)
	}
	const containers = "/ws/v1/node/containers"
	u := &url.URL{Scheme: c.scheme, Host: net.JoinHostPort(host, port), Path: containers, RawPath: containers}
	for _, p := range parts {
		u.Path += "/" + p
		u.RawPath += "/" + url.PathEscape(p)
	}
	return u, nil
}

// collected is the address to which a node sends readers, for a user, "" for nobody; nil unless it is one of the server of collected logs.
func (c *Client) collected(location, user string) *url.URL {
	u, err := url.Parse(location)
	if err != nil || c.service == nil || u.User != nil || u.Scheme != c.service.Scheme || !strings.EqualFold(u.Host, c.service.Host) {
		return nil
	}
	// Servers differ in whether an escaped slash parts a path, so no step up is taken at all.
	if slices.Contains(strings.Split(u.Path, "/"), "..") || !strings.HasPrefix(path.Clean(u.Path), c.service.Path+"/") {
		return nil
	}
	query := u.Query()
	query.Del("user.name") // the node does not say who asks
	if user != "" {
		query.Set("user.name", user)
	}
	u.RawQuery, u.Fragment, u.RawFragment = query.Encode(), "", ""
	return u
}

func (c *Client) ask(ctx context.Context, at *url.URL, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
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
