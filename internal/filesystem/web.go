package filesystem

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
)

// web is what a web server offers. Proxies named in the environment are not used: the operator decides how a node reaches others.
type web struct {
	*session
	url    URL
	client *http.Client
}

func newWeb(ctx context.Context, cfg Config, u URL) (*web, error) {
	if u.Authority == "" {
		return nil, fmt.Errorf("%s: the URL has no host", u)
	}
	w := &web{session: newSession(ctx, cfg), url: u}
	transport := &http.Transport{
		DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			return w.connect(network, address)
		},
		TLSClientConfig:        cfg.TLS,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1: one file per connection
		DisableKeepAlives:      true,
		DisableCompression:     true, // the length must be the file's
		MaxResponseHeaderBytes: maxHeader,
	}
	w.client = &http.Client{Transport: transport, CheckRedirect: w.redirect}
	return w, nil
}

// redirect follows as far as allowed, and never from https to http.
func (w *web) redirect(next *http.Request, via []*http.Request) error {
	if len(via) > w.limits.Redirects {
		return fmt.Errorf("more than %d redirections", w.limits.Redirects)
	}
	if via[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return fmt.Errorf("redirection from https to %s", next.URL.Redacted())
	}
	next.URL.User = nil
	return nil
}

func (w *web) fail(op, file string, err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		err = cause
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &fs.PathError{Op: op, Path: w.url.At(file).String(), Err: err}
}

// ask makes a request. Credentials in the URL are not sent, as Hadoop's file system does not either.
func (w *web) ask(method, file string) (*http.Response, error) {
	_, host, found := cutLast(w.url.Authority, '@')
	if !found {
		host = w.url.Authority
	}
	u := url.URL{Scheme: lower(w.url.Scheme), Host: host, Path: file}
	req, err := http.NewRequestWithContext(w.ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "heddle")
	w.begin()
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := status(resp.StatusCode); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == sep {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func status(code int) error {
	switch {
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		return fmt.Errorf("the server answered %d: %w", code, fs.ErrNotExist)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("the server answered %d: %w", code, fs.ErrPermission)
	}
	return fmt.Errorf("the server answered %d %s", code, http.StatusText(code))
}

// Stat asks for the header alone, and as some servers refuse that, for the file. The mode is that of a public file.
//
// compat: Hadoop's file system over HTTP knows neither length nor time: it says -1 and 0, and 0 is what its clients
// write into a LocalResource. Whoever compares times has to take 0 for "any".
func (w *web) Stat(file string) (Info, error) {
	info, err := w.describe(http.MethodHead, file)
	if err != nil && w.ctx.Err() == nil {
		info, err = w.describe(http.MethodGet, file)
	}
	if err != nil {
		return Info{}, w.fail("stat", file, err)
	}
	return info, nil
}

func (w *web) describe(method, file string) (Info, error) {
	resp, err := w.ask(method, file)
	if err != nil {
		return Info{}, err
	}
	resp.Body.Close()
	info := Info{Name: path.Base(file), Size: resp.ContentLength, Mode: 0o444}
	if t, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		info.ModTime = t.UnixMilli()
	}
	return info, nil
}

func (w *web) Open(file string) (io.ReadCloser, error) {
	resp, err := w.ask(http.MethodGet, file) //nolint:bodyclose // webFile.Close does
	if err != nil {
		return nil, w.fail("open", file, err)
	}
	return &webFile{resp, w, file}, nil
}

type webFile struct {
	resp *http.Response
	w    *web
	path string
}

func (f *webFile) Read(p []byte) (int, error) {
	n, err := f.resp.Body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = f.w.fail("read", f.path, err)
	}
	return n, err
}

func (f *webFile) Close() error { return f.resp.Body.Close() }

func (w *web) Close() error {
	w.session.Close()
	return nil
}

func (w *web) no(op, file string) error { return w.fail(op, file, ErrReadOnly) }

func (w *web) List(file string, _ int) ([]Info, error) { return nil, w.no("list", file) }
func (w *web) Create(file string, _ fs.FileMode, _ bool) (io.WriteCloser, error) {
	return nil, w.no("create", file)
}
func (w *web) MkdirAll(file string, _ fs.FileMode) error { return w.no("mkdir", file) }
func (w *web) Rename(from, _ string) error               { return w.no("rename", from) }
func (w *web) Remove(file string) error                  { return w.no("remove", file) }
func (w *web) Chmod(file string, _ fs.FileMode) error    { return w.no("chmod", file) }
func (w *web) SetOwner(file, _, _ string) error          { return w.no("chown", file) }
