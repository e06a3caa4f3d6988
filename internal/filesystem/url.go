package filesystem

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// URL names a file as Hadoop's Path does: nothing is escaped, and there is neither query nor fragment. It is comparable.
type URL struct {
	Scheme    string // "" for the default file system
	Authority string // [user@]host[:port], or a name service
	Path      string // absolute, without "." and "..", double or trailing slashes
}

// ParseURL reads the text form, as in fs.defaultFS or yarn.nodemanager.remote-app-log-dir.
func ParseURL(text string) (URL, error) {
	var u URL
	rest := text
	if colon := strings.IndexByte(rest, ':'); colon >= 0 && colon < slashOr(rest, len(rest)) {
		u.Scheme, rest = rest[:colon], rest[colon+1:]
		if u.Scheme == "" {
			return URL{}, fmt.Errorf("%q: nothing stands before the colon", clip(text))
		}
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok && after != "" {
		end := slashOr(after, len(after))
		u.Authority, rest = after[:end], after[end:]
		if rest == "" {
			rest = "/"
		}
	}
	return MakeURL(u.Scheme, u.Authority, rest)
}

// MakeURL checks and normalizes the parts of a URL.
func MakeURL(scheme, authority, file string) (URL, error) {
	u := URL{scheme, authority, file}
	switch {
	case len(scheme)+len(authority)+len(file) > MaxURL:
		return URL{}, fmt.Errorf("%q…: a URL of more than %d bytes", clip(u.String()), MaxURL)
	case !validScheme(scheme):
		return URL{}, fmt.Errorf("%q is not a URL's scheme", clip(scheme))
	case strings.ContainsAny(authority, "/?#\\ \x00\r\n\t"):
		return URL{}, fmt.Errorf("%q is not a host", clip(authority))
	case strings.IndexByte(file, 0) >= 0:
		return URL{}, fmt.Errorf("%q: a file name cannot hold a zero byte", clip(file))
	case !strings.HasPrefix(file, "/"):
		return URL{}, fmt.Errorf("%q: the path is not absolute", clip(u.String()))
	}
	u.Path = path.Clean(file)
	return u, nil
}

func validScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		other := '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return true
}

// String is the form of Hadoop's Path: file:/a, hdfs://host:port/a, /a.
func (u URL) String() string {
	var b strings.Builder
	if u.Scheme != "" {
		b.WriteString(u.Scheme + ":")
	}
	if u.Authority != "" {
		b.WriteString("//" + u.Authority)
	}
	b.WriteString(u.Path)
	return b.String()
}

// At is another path on the same file system.
func (u URL) At(file string) URL {
	u.Path = file
	return u
}

// Folded is the URL with scheme and host in lower case: what Hadoop compares.
func (u URL) Folded() URL {
	u.Scheme, u.Authority = lower(u.Scheme), lower(u.Authority)
	return u
}

var errNoName = errors.New("the URL ends without a file's name")

// Name is the last part of the path; an error if there is none.
func (u URL) Name() (string, error) {
	if u.Path == "/" || u.Path == "" {
		return "", fmt.Errorf("%s: %w", u, errNoName)
	}
	return path.Base(u.Path), nil
}

func slashOr(s string, otherwise int) int {
	if i := strings.IndexByte(s, '/'); i >= 0 {
		return i
	}
	return otherwise
}

func lower(s string) string         { return strings.ToLower(s) }
func equalFold(a, b string) bool    { return strings.EqualFold(a, b) }
func clip(s string) string          { return s[:min(len(s), 200)] }
func under(dir, name string) string { return path.Join(dir, name) }
