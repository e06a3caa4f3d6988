package cli

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
)

const daemonLogTitle = "yarn daemonlog {-getlevel HOST:PORT LOGGER | -setlevel HOST:PORT LOGGER LEVEL} [-protocol http|https]"

var daemonLogOptions = []option{
	{name: "getlevel", arg: "host:port logger", values: 2, help: "Prints the level of a logger of the daemon whose pages are at that address."},
	{name: "setlevel", arg: "host:port logger level", values: 3, help: "Sets it until the daemon ends: ALL, TRACE, DEBUG, INFO, WARN, ERROR, FATAL or OFF. It is for administrators. " +
		"Loggers are named as in the daemon's log, or as Hadoop's classes and packages; root is above all."},
	{name: "protocol", arg: "http|https", values: 1, help: "How to reach the daemon; else yarn.http.policy says it."},
	{name: "h", long: "help", help: "Prints this text."},
}

// The answer of a daemon about its loggers, Apache's or ours.
const (
	maxLevelAnswer = 1 << 20 // bytes
	levelPatience  = 30 * time.Second
	levelLine      = "<!-- OUTPUT -->" // begins what is for this command
	levelNote      = "<!-- NOTE -->"   // begins what is besides, of our daemons
)

var tags = regexp.MustCompile(`<[^>]*>`)

// daemonLog is yarn daemonlog: it asks a daemon for the level of a logger, or sets it.
func daemonLog(c *call) error {
	var err error
	if c.opts, err = parse(c.command.options, c.args); err != nil {
		return c.daemonLogMisused(err.Error())
	}
	if c.opts.has("h") {
		c.usage()
		return nil
	}
	words, query := c.opts.values["getlevel"], url.Values{}
	if c.opts.has("setlevel") {
		words = c.opts.values["setlevel"]
	}
	scheme := c.opts.first("protocol")
	switch {
	case c.opts.has("getlevel") == c.opts.has("setlevel"), len(c.opts.words) > 0, c.opts.has("getlevel") && len(words) != 2, c.opts.has("setlevel") && len(words) != 3:
		return c.daemonLogMisused("")
	case scheme == "" && c.props.Get("yarn.http.policy") == "HTTPS_ONLY":
		scheme = "https"
	case scheme == "":
		scheme = "http"
	case scheme != "http" && scheme != "https":
		return c.daemonLogMisused("-protocol " + scheme + ": it is http or https")
	}
	if err := c.textOnly(); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(words[0]); err != nil {
		return fmt.Errorf("%s is not the host:port of a daemon's pages, such as rm.example.com:8088", visible.Line(words[0]))
	}
	at := scheme + "://" + words[0] + "/logLevel?log=" + url.QueryEscape(words[1])
	query.Set("log", words[1])
	if len(words) == 3 {
		at += "&level=" + url.QueryEscape(words[2])
		query.Set("level", words[2])
	}
	query.Set("user.name", c.caller())
	fmt.Fprintf(c.Stdout, "Connecting to %s\n", visible.Line(at))
	return c.askLevel(scheme+"://"+words[0]+"/logLevel", query)
}

// daemonLogMisused says what is wrong with the command line, unless what is empty, and prints the usage.
//
// compat: everything goes to standard error, and the exit code is -1 for every mistake.
func (c *call) daemonLogMisused(what string) error {
	if what != "" {
		fmt.Fprintf(c.Stderr, "yarn daemonlog: %s\n", visible.Line(what))
	}
	writeUsage(c.Stderr, c.command.heading(), c.command.options)
	return failed
}

// askLevel prints what the daemon answers.
func (c *call) askLevel(base string, query url.Values) error {
	web := &http.Client{Timeout: levelPatience, Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: webConnectTime}).DialContext,
		TLSHandshakeTimeout: webConnectTime, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(c.ctx, http.MethodGet, base+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	answer, err := web.Do(request)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return fmt.Errorf("%s did not answer: %w", visible.Line(base), err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxLevelAnswer))
	if err != nil {
		return fmt.Errorf("the answer of %s: %w", visible.Line(base), err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %s", visible.Line(base), answer.Status, visible.Line(plainText(string(bytes.TrimSpace(text[:min(len(text), 500)])))))
	}
	some := false
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), levelLine); ok {
			some = true
			fmt.Fprintln(c.Stdout, visible.Line(plainText(rest)))
		} else if rest, ok := strings.CutPrefix(strings.TrimSpace(line), levelNote); ok {
			fmt.Fprintln(c.Stderr, "WARN "+visible.Line(plainText(rest)))
		}
	}
	if !some {
		return fmt.Errorf("%s does not answer as a daemon of Hadoop does that is asked for the level of a logger", visible.Line(base))
	}
	return nil
}

// plainText is what a browser would show of a line.
func plainText(s string) string { return html.UnescapeString(tags.ReplaceAllString(s, "")) }
