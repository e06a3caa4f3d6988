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

const debugTitle = "yarn debug record [-start | -stop | -status] [--output json]"

var debugOptions = []option{
	{name: "start", help: "Has all commands since the ResourceManager's start go to a file, until -stop, its end or the file's largest size."},
	{name: "stop", help: "Ends that file."},
	{name: "status", help: "Says what is kept, and writes nothing."},
	{name: "h", long: "help", help: "Prints this text."},
}

// recordPatience bounds the wait for the answer; the file may be large.
const recordPatience = 2 * time.Minute

// recording is how the recording of commands stands, as the ResourceManager says.
type recording struct {
	Commands  int64  `json:"commands"`
	Missing   int64  `json:"missing"`
	File      string `json:"file"`
	All       string `json:"all"`
	AllBytes  int64  `json:"allBytes"`
	AllClosed string `json:"allClosed"`
}

// debug is yarn debug record: without an option the last commands that the
// ResourceManager keeps are written to a file of its machine.
func debug(c *call) error {
	if c.opts.has("h") {
		c.usage()
		return nil
	}
	action, given := "save", 0
	for _, name := range []string{"start", "stop", "status"} {
		if c.opts.has(name) {
			action = name
			given++
		}
	}
	if len(c.opts.words) != 1 || c.opts.words[0] != "record" || given > 1 {
		return c.invalid(failed)
	}
	host, r, err := c.record(action)
	if err != nil {
		return err
	}
	if c.json {
		return writeDocument(c.Stdout, "recording", document{{"commands", r.Commands}, {"missing", r.Missing}, {"file", r.File}, {"all", r.All},
			{"allBytes", r.AllBytes}, {"allClosed", r.AllClosed}})
	}
	c.showRecording(action, host, r)
	return nil
}

func (c *call) showRecording(action, host string, r *recording) {
	w := c.Stdout
	file := visible.Line(r.File)
	switch action {
	case "save":
		fmt.Fprintf(w, "%s has written %s: %d commands\n", host, file, r.Commands-r.Missing)
	case "start":
		fmt.Fprintf(w, "%s writes all commands to %s\n", host, file)
	case "stop":
		fmt.Fprintf(w, "%s has written %s: %d bytes, all commands\n", host, file, r.AllBytes)
	case "status":
		fmt.Fprintf(w, "%s has applied %d commands since its start and keeps the last %d\n", host, r.Commands, r.Commands-r.Missing)
		if r.All != "" {
			fmt.Fprintf(w, "All of them go to %s: %d bytes so far\n", visible.Line(r.All), r.AllBytes)
		}
	}
	if r.AllClosed != "" {
		fmt.Fprintf(w, "The file of all commands ended early: %s\n", visible.Line(r.AllClosed))
	}
	switch {
	case r.Missing > 0 && action == "save":
		fmt.Fprintf(w, "The first %d commands are missing, so it cannot be played, only listed: yarn sim rerun -list FILE\n"+
			"yarn.resourcemanager.heddle.black-box.record=true keeps all from the start\n", r.Missing)
	case action == "save" || action == "stop":
		fmt.Fprintln(w, "Play it with the same build: yarn sim rerun FILE")
	}
}

// record asks the ResourceManager to do something about recordings. With several,
// the first that answers is asked.
func (c *call) record(action string) (host string, r *recording, err error) {
	addresses, err := c.webAddresses()
	if err != nil {
		return "", nil, err
	}
	scheme := "http://"
	if c.props.Get("yarn.http.policy") == "HTTPS_ONLY" {
		scheme = "https://"
	}
	web := &http.Client{Timeout: recordPatience, Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: webConnectTime}).DialContext,
		TLSHandshakeTimeout: webConnectTime, DisableKeepAlives: true}}
	var all []error
	for _, host := range addresses {
		answer, err := c.askRecording(web, scheme+host, action)
		if err != nil {
			all = append(all, err)
			continue
		}
		r, err := readRecording(answer)
		return host, r, err
	}
	return "", nil, errors.Join(all...)
}

func (c *call) askRecording(web *http.Client, base, action string) (*http.Response, error) {
	method, body := http.MethodGet, []byte(nil)
	if action != "status" {
		method, body = http.MethodPut, []byte(`{"action":"`+action+`"}`)
	}
	at := base + "/ws/v1/cluster/recording?" + url.Values{"user.name": {c.caller()}}.Encode()
	request, err := http.NewRequestWithContext(c.ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("X-XSRF-HEADER", "yarn") // for the filter against forged requests, where it is on
	return web.Do(request)
}

// readRecording reads the answer, or the refusal.
func readRecording(answer *http.Response) (*recording, error) {
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	if err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", answer.Request.URL.Host, err)
	}
	var x struct {
		Recording       *recording `json:"recording"`
		RemoteException struct {
			Message string `json:"message"`
		} `json:"RemoteException"`
	}
	err = json.Unmarshal(text, &x)
	switch {
	case answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusMethodNotAllowed:
		return nil, fmt.Errorf("%s keeps no recordings: it is no ResourceManager of Heddle, or an older one", answer.Request.URL.Host)
	case x.RemoteException.Message != "":
		return nil, errors.New(visible.Line(x.RemoteException.Message))
	case answer.StatusCode != http.StatusOK:
		return nil, webRefusal{answer.Request.URL.String(), answer.StatusCode}
	case err != nil || x.Recording == nil:
		return nil, fmt.Errorf("%s answered something else than how its recordings stand: %.200q", answer.Request.URL.Host, text)
	}
	return x.Recording, nil
}
