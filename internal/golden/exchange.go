package golden

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// Exchange is an HTTP request and the answer of Apache's daemon.
type Exchange struct {
	Method, Path string
	Header       http.Header
	Body         string

	Status int
	Type   string // Content-Type in lower case, without blanks
	Allow  string // sorted
	Text   string // the body; only those of errors are recorded
}

// Exchanges reads a file of exchanges. Each has a line "### METHOD PATH", the request's headers, an empty line and the
// body if there is one, a line "---", and the answer in the same form, with status and type in its first line. fill
// replaces the names in braces, which stand for ids and other values that differ between clusters.
func Exchanges(file string, fill *strings.Replacer) ([]Exchange, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []Exchange
	for _, entry := range strings.Split("\n"+fill.Replace(string(text)), "\n### ")[1:] {
		asked, answered, ok := strings.Cut(entry, "\n---\n")
		if !ok {
			return nil, fmt.Errorf("%s: %.60q has no answer", file, entry)
		}
		x := Exchange{}
		var line string
		line, x.Header, x.Body = message(asked)
		x.Method, x.Path, _ = strings.Cut(line, " ")
		line, header, body := message(answered)
		status, kind, _ := strings.Cut(line, " ")
		if x.Status, err = strconv.Atoi(status); err != nil {
			return nil, fmt.Errorf("%s: %.60q has no status: %w", file, entry, err)
		}
		x.Type, x.Allow, x.Text = kind, header.Get("Allow"), body
		out = append(out, x)
	}
	return out, nil
}

// message splits a message into its first line, headers and body.
func message(text string) (first string, header http.Header, body string) {
	head, body, _ := strings.Cut(text, "\n\n")
	first, rest, _ := strings.Cut(head, "\n")
	header = http.Header{}
	for _, line := range strings.Split(rest, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			header.Add(name, strings.TrimSpace(value))
		}
	}
	return first, header, strings.TrimSuffix(body, "\n")
}

// Differs says how an answer differs from the recorded one; "" if it does not.
func (x Exchange) Differs(status int, header http.Header, text string) string {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "")) }
	switch {
	case status != x.Status:
		return fmt.Sprintf("status %d, want %d: %.200s", status, x.Status, text)
	case plain(header.Get("Content-Type")) != x.Type:
		return fmt.Sprintf("type %q, want %q", header.Get("Content-Type"), x.Type)
	case x.Allow != "" && header.Get("Allow") != x.Allow:
		return fmt.Sprintf("Allow %q, want %q", header.Get("Allow"), x.Allow)
	case x.Status >= http.StatusBadRequest && x.Method != http.MethodHead && strings.TrimSpace(text) != strings.TrimSpace(x.Text):
		return fmt.Sprintf("%s\nwant %s", text, x.Text)
	}
	return ""
}
