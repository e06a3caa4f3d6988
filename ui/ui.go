// Package ui serves the web interface for operators: one page and its scripts, which ask the
// ResourceManager over REST like everybody else. dist is built from app by `make ui` and is committed.
package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed all:dist
var dist embed.FS

// Prefix is the path of the interface; everything below it that is no file is the page, whose script shows what the path names.
const Prefix = "/ui"

// assets is the folder of files whose names hold a hash of their content.
const assets = Prefix + "/assets/"

// policy allows the interface's own scripts, styles and requests, none that are in the page itself, and no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// file is one answer, ready to be sent.
type file struct {
	kind, tag string
	plain     []byte
	zipped    func() []byte // nil where it would save nothing; made when somebody asks, for it takes some 50 ms
	lasting   bool          // the name changes with the content
}

// New is the handler of everything below Prefix. It fails if the bundle is not complete.
func New() (http.Handler, error) {
	files := map[string]*file{}
	err := fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		at := Prefix + strings.TrimPrefix(name, "dist")
		files[at] = newFile(at, content)
		return nil
	})
	page := files[Prefix+"/index.html"]
	if err == nil && page == nil {
		err = fmt.Errorf("dist has no index.html: run make ui")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the web interface that was built in: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := files[path.Clean(r.URL.Path)]
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET,HEAD")
			http.Error(w, "The web interface is only read; changes go to /ws/v1/cluster.", http.StatusMethodNotAllowed)
			return
		case f == nil && strings.HasPrefix(r.URL.Path, assets):
			http.Error(w, "There is no such file in this version of the web interface: load the page anew.", http.StatusNotFound)
			return
		case f == nil:
			f = page
		}
		f.send(w, r)
	}), nil
}

// kinds are the content types of the bundle's files, by the extension of the name.
var kinds = map[string]string{".html": "text/html;charset=utf-8", ".css": "text/css;charset=utf-8", ".js": "text/javascript;charset=utf-8", ".svg": "image/svg+xml"}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	f := &file{kind: kinds[path.Ext(name)], tag: `"` + hex.EncodeToString(sum[:8]) + `"`, plain: content, lasting: strings.HasPrefix(name, assets)}
	f.zipped = sync.OnceValue(func() []byte { return zip(content) })
	return f
}

// zip is the content compressed, nil if that is not smaller.
func zip(content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil || z.Close() != nil || b.Len() >= len(content) {
		return nil
	}
	return b.Bytes()
}

func (f *file) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Del("Pragma")
	h.Del("Expires")
	h.Set("Cache-Control", "no-cache")
	if f.lasting {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	body, tag := f.plain, f.tag
	if takesGzip(r) {
		if zipped := f.zipped(); zipped != nil {
			body, tag = zipped, strings.TrimSuffix(f.tag, `"`)+`-gz"`
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", tag)
	if slices.ContainsFunc(strings.Split(r.Header.Get("If-None-Match"), ","), func(t string) bool {
		return strings.TrimPrefix(strings.TrimSpace(t), "W/") == tag
	}) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// takesGzip tells whether the client lists gzip and does not weigh it 0.
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight = strings.ReplaceAll(weight, " ", "")
			return weight != "q=0" && weight != "q=0.0" && weight != "q=0.00" && weight != "q=0.000"
		}
	}
	return false
}
