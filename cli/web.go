package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
)

// webCall is a call of a web service that Hadoop's ResourceManager does not have.
type webCall struct {
	method, path string
	query        url.Values
	body         any    // nil: none
	match        string // the version that must be in force; "": any
	what         string // what the service has, for messages
	patience     time.Duration
	again        int // how often to ask again, with webPause in between, while the answer is 503: others are being served
}

const webPause = 250 * time.Millisecond

// maxWebAnswer bounds an answer.
const maxWebAnswer = 256 << 20

// askWeb makes the call and decodes the answer. With several ResourceManagers they are tried in order until one answers; host is that one.
func (c *call) askWeb(w webCall, into any) (host string, err error) {
	addresses, err := c.webAddresses()
	if err != nil {
		return "", err
	}
	scheme := "http://"
	if c.props.Get("yarn.http.policy") == "HTTPS_ONLY" {
		scheme = "https://"
	}
	web := &http.Client{Timeout: w.patience, Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: webConnectTime}).DialContext,
		TLSHandshakeTimeout: webConnectTime, DisableKeepAlives: true}}
	var all []error
	for _, host := range addresses {
		answer, err := c.sendWeb(web, scheme+host, w)
		for n := 0; n < w.again && err == nil && answer.StatusCode == http.StatusServiceUnavailable; n++ {
			answer.Body.Close()
			select {
			case <-time.After(webPause):
			case <-c.ctx.Done():
			}
			answer, err = c.sendWeb(web, scheme+host, w)
		}
		if err != nil {
			var inner *url.Error
			if errors.As(err, &inner) {
				err = inner.Err
			}
			all = append(all, fmt.Errorf("the ResourceManager's web service at %s%s did not answer %s %s: %w", scheme, host, w.method, w.path, err))
			continue
		}
		return host, readWeb(answer, w.what, into)
	}
	return "", errors.Join(all...)
}

// sendWeb sends the call to one ResourceManager, in the name of the user who runs the command.
func (c *call) sendWeb(web *http.Client, base string, w webCall) (*http.Response, error) {
	var body io.Reader
	if w.body != nil {
		text, err := json.Marshal(w.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	query := url.Values{"user.name": {c.caller()}}
	for name, values := range w.query {
		query[name] = values
	}
	request, err := http.NewRequestWithContext(c.ctx, w.method, base+w.path+"?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if w.match != "" {
		request.Header.Set("If-Match", `"`+w.match+`"`)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("X-XSRF-HEADER", "yarn") // for the filter against forged requests, where it is on
	return web.Do(request)
}

// readWeb decodes the answer, or makes an error of the refusal.
func readWeb(answer *http.Response, what string, into any) error {
	defer answer.Body.Close()
	host := answer.Request.URL.Host
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxWebAnswer))
	if err != nil {
		return fmt.Errorf("the answer of %s: %w", host, err)
	}
	var refused struct {
		RemoteException struct {
			Message string `json:"message"`
		} `json:"RemoteException"`
	}
	if answer.StatusCode != http.StatusOK {
		_ = json.Unmarshal(text, &refused) // the body of another server is no RemoteException, and is left out
	}
	switch message := refused.RemoteException.Message; {
	case message != "" && message != "HTTP 404 Not Found":
		return errors.New(visible.Line(message))
	case answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusMethodNotAllowed:
		return fmt.Errorf("%s has no %s: it is no ResourceManager of Heddle, or an older one", host, what)
	case answer.StatusCode != http.StatusOK:
		return webRefusal{answer.Request.URL.String(), answer.StatusCode}
	}
	if err = json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s answered something else than its %s: %.200q", host, what, text)
	}
	return nil
}
