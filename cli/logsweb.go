package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of the answers from the web servers of nodes and of the
// ResourceManager.
const (
	maxWebBytes    = 16 << 20 // of an answer that is held in memory
	maxRefusal     = 64 << 10 // of one that is printed as the reason of a failure
	webConnectTime = 5 * time.Second
	webAnswerTime  = 60 * time.Second // until an answer begins
)

// logsWeb asks web servers. A server that cannot be reached is tried again; one
// that refuses is not.
type logsWeb struct {
	ctx      context.Context
	scheme   string // "http://"
	client   *http.Client
	retries  int64
	interval time.Duration
	warn     io.Writer
}

func newLogsWeb(c *call, r *logsRequest) *logsWeb {
	w := &logsWeb{ctx: c.ctx, scheme: "http://", retries: r.retries, interval: r.interval, warn: c.Stderr}
	if c.props.Get("yarn.http.policy") == "HTTPS_ONLY" {
		w.scheme = "https://"
	}
	w.client = &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: webConnectTime}).DialContext,
		TLSHandshakeTimeout: webConnectTime, ResponseHeaderTimeout: webAnswerTime, DisableKeepAlives: true}}
	return w
}

// get asks host:port for a path. The answer's body is the caller's to close.
func (w *logsWeb) get(address, accept string, query url.Values, path ...string) (*http.Response, error) {
	at := w.scheme + strings.TrimPrefix(address, w.scheme)
	for _, p := range path {
		at += "/" + url.PathEscape(p)
	}
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	for left := w.retries; ; left-- {
		request, err := http.NewRequestWithContext(w.ctx, http.MethodGet, at, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Accept", accept)
		answer, err := w.client.Do(request)
		if err == nil || w.ctx.Err() != nil || left == 0 || left == 1 {
			return answer, err
		}
		fmt.Fprintf(w.warn, "WARN %v; trying again in %v\n", err, w.interval)
		select {
		case <-time.After(w.interval):
		case <-w.ctx.Done():
			return nil, w.ctx.Err()
		}
	}
}

// document asks for JSON and reads it into to.
func (w *logsWeb) document(to any, address string, path ...string) error {
	answer, err := w.get(address, "application/json", nil, path...)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return webRefusal{answer.Request.URL.String(), answer.StatusCode}
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxWebBytes+1))
	if err == nil && len(body) > maxWebBytes {
		err = fmt.Errorf("more than %d bytes", maxWebBytes)
	}
	if err == nil {
		err = json.Unmarshal(body, to)
	}
	if err != nil {
		return fmt.Errorf("the answer of %s: %w", answer.Request.URL, err)
	}
	return nil
}

// webRefusal is an answer with an error status.
type webRefusal struct {
	url    string
	status int
}

func (r webRefusal) Error() string {
	return fmt.Sprintf("%s answered %d %s", r.url, r.status, http.StatusText(r.status))
}

// several is a list that may come as one bare element, as Jettison writes it.
type several[T any] []T

func (s *several[T]) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]T)(s))
	}
	var one T
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*s = several[T]{one}
	return nil
}

// nodeFile is a log file as a node's web server lists it.
type nodeFile struct {
	Name     string `json:"fileName"`
	Size     string `json:"fileSize"`
	Modified string `json:"lastModifiedTime"`
	kind     string // LOCAL or AGGREGATED
}

func (f nodeFile) bytes() int64 { n, _ := strconv.ParseInt(f.Size, 10, 64); return max(n, 0) }

type nodeFiles struct {
	Kind  string            `json:"logAggregationType"`
	Files several[nodeFile] `json:"containerLogInfo"`
}

// files lists the log files of a container that a node has.
func (w *logsWeb) files(address, container string) ([]nodeFile, error) {
	var answer struct {
		Lists  several[nodeFiles] `json:"containerLogsInfo"`
		Nested struct {
			Lists several[nodeFiles] `json:"containerLogsInfo"`
		} `json:"containerLogsInfoes"`
	}
	if err := w.document(&answer, address, "ws", "v1", "node", "containers", container, "logs"); err != nil {
		return nil, err
	}
	var out []nodeFile
	for _, l := range append(answer.Lists, answer.Nested.Lists...) {
		for _, f := range l.Files {
			f.kind = l.Kind
			out = append(out, f)
		}
	}
	return out, nil
}

// content prints a log file as its node sends it. A node's refusal is printed
// too. The error is that the node could not be asked, or that out could not be
// written.
func (w *logsWeb) content(out io.Writer, address, node, container, file string, size int64) error {
	answer, err := w.get(address, "text/plain", url.Values{"size": {strconv.FormatInt(size, 10)}},
		"ws", "v1", "node", "containers", container, "logs", file)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		if err := copyLog(out, answer.Body, 1<<62); err != nil {
			return err
		}
		_, err = fmt.Fprintln(out)
	} else {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
		_, err = fmt.Fprintf(out, "Can not get any logs for the log file: %s\nResponse from the NodeManager:%s WebService is not successful, HTTP error code: %d, Server response:\n%s\n",
			visible.Line(file), visible.Line(node), answer.StatusCode, visible.Text(string(why)))
	}
	if err != nil {
		return printing{err}
	}
	return nil
}

// master is the container of one attempt's ApplicationMaster.
type master struct {
	Container string `json:"containerId"`
	Node      string `json:"nodeId"`
	Address   string `json:"nodeHttpAddress"`
}

// masters asks the ResourceManagers, one after the other, for an application's
// attempts, in their order.
func (w *logsWeb) masters(addresses []string, id yarn.ApplicationID) ([]master, error) {
	var all []error
	for _, a := range addresses {
		var answer struct {
			List struct {
				Attempts several[master] `json:"appAttempt"`
			} `json:"appAttempts"`
		}
		err := w.document(&answer, a, "ws", "v1", "cluster", "apps", id.String(), "appattempts")
		if err == nil && len(answer.List.Attempts) > 0 {
			return answer.List.Attempts, nil
		}
		if err == nil {
			err = errors.New("no attempts")
		}
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

// webAddresses are those of the ResourceManagers.
func (c *call) webAddresses() ([]string, error) {
	rm, err := c.client()
	if err != nil {
		return nil, err
	}
	property, port := "yarn.resourcemanager.webapp.address", 8088
	if c.props.Get("yarn.http.policy") == "HTTPS_ONLY" {
		property, port = "yarn.resourcemanager.webapp.https.address", 8090
	}
	read := conf.NewReader(c.props)
	var out []string
	for _, t := range rm.ResourceManagers() {
		if t.ID == "" {
			out = append(out, read.Address(property, fmt.Sprintf("0.0.0.0:%d", port), port).String())
			continue
		}
		a := read.Address(property+"."+t.ID, "", port)
		if a.IsZero() {
			a = read.Address("yarn.resourcemanager.hostname."+t.ID, "", port)
			a.Port = port
		}
		out = append(out, a.String())
	}
	return out, read.Err()
}
