// Package webapp serves the files of a web application that the operator names: a war, which is a zip archive, or a folder
// with the same content. It is for Apache's own interfaces, which are scripts that ask the ResourceManager over REST. Nothing
// of Java is run: of WEB-INF/web.xml only the page for what is not found is read.
package webapp

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/webgate"
)

// The bounds of an application: Apache's have some 50 files and 10 MB.
const (
	maxFiles = 4096
	maxDepth = 32
	maxBytes = 64 << 20 // of all files together, unpacked; they are kept in memory
)

// App is the content of a web application as it was when it was opened.
type App struct {
	files    map[string]*file // by the path below the application, without a leading slash
	notFound *file            // what is sent where there is no such file; nil: a line of text
}

type file struct {
	kind, tag, policy string
	content           []byte
}

// Open reads a war, whose name ends in .war, or a folder. It fails if that has more files or bytes than an interface can need, a
// name that leads out of it, or no index.html.
func Open(name string) (*App, error) {
	open := openFolder
	if strings.HasSuffix(name, ".war") {
		open = openWar
	}
	a, err := open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the web application %s: %w", name, err)
	}
	return a, nil
}

func openFolder(name string) (*App, error) {
	root, err := os.OpenRoot(name) // a link that leads out of the folder is not followed
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return load(root.FS())
}

func openWar(name string) (*App, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	case info.Size() > maxBytes:
		return nil, tooLarge()
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return nil, err
	}
	if len(z.File) > maxFiles {
		return nil, tooMany()
	}
	for _, entry := range z.File {
		if name := strings.TrimSuffix(entry.Name, "/"); !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
			return nil, fmt.Errorf("it has an entry %.100q, whose name may lead out of it", entry.Name)
		}
	}
	return load(z)
}

func tooMany() error { return fmt.Errorf("it has more than %d files", maxFiles) }
func tooLarge() error {
	return fmt.Errorf("its files are larger than %d MiB together", maxBytes>>20)
}

func load(from fs.FS) (*App, error) {
	a, seen, left := &App{files: map[string]*file{}}, 0, int64(maxBytes)
	var descriptor []byte
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > maxFiles {
			return tooMany()
		}
		if strings.Count(name, "/") > maxDepth {
			return fmt.Errorf("its folders lie deeper than %d: %.100q", maxDepth, name)
		}
		if d.IsDir() {
			if secret(name) && !strings.EqualFold(name, "WEB-INF") {
				return fs.SkipDir
			}
			return nil
		}
		if secret(name) && name != "WEB-INF/web.xml" {
			return nil
		}
		content, err := read(from, name, left)
		if err != nil {
			return err
		}
		if left -= int64(len(content)); left < 0 {
			return tooLarge()
		}
		if secret(name) {
			descriptor = content
			return nil
		}
		a.files[name] = newFile(name, content)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if a.files["index.html"] == nil {
		return nil, errors.New("it has no index.html")
	}
	if descriptor != nil {
		if a.notFound, err = a.pageNotFound(descriptor); err != nil {
			return nil, fmt.Errorf("WEB-INF/web.xml: %w", err)
		}
	}
	return a, nil
}

// secret tells whether a path is what a servlet container keeps to itself.
func secret(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return strings.EqualFold(first, "WEB-INF") || strings.EqualFold(first, "META-INF")
}

// read reads a file, at most one byte more than limit.
func read(from fs.FS, name string, limit int64) ([]byte, error) {
	if info, err := fs.Stat(from, name); err != nil || !info.Mode().IsRegular() { // before it is opened: that of a pipe would wait
		return nil, errors.Join(err, fmt.Errorf("%.100q is no file", name))
	}
	f, err := from.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%.100q: %w", name, err)
	}
	return content, nil
}

// pageNotFound is the page that web.xml names for the error 404. It is index.html in an application that has its views at paths of
// their own, for which there are no files.
func (a *App) pageNotFound(descriptor []byte) (*file, error) {
	var d struct {
		Pages []struct {
			Code     string `xml:"error-code"`
			Location string `xml:"location"`
		} `xml:"error-page"`
	}
	if err := xml.Unmarshal(descriptor, &d); err != nil {
		return nil, err
	}
	for _, p := range d.Pages {
		if strings.TrimSpace(p.Code) == "404" {
			location := strings.TrimSpace(p.Location)
			f := a.files[strings.TrimPrefix(location, "/")]
			if f == nil {
				return nil, fmt.Errorf("the page for what is not found is %.100q, which is not there", location)
			}
			return f, nil
		}
	}
	return nil, nil
}

// kinds are the content types, whatever the machine's table says.
var kinds = map[string]string{
	".html": "text/html;charset=utf-8", ".js": "text/javascript;charset=utf-8", ".mjs": "text/javascript;charset=utf-8", ".env": "text/javascript;charset=utf-8",
	".css": "text/css;charset=utf-8", ".json": "application/json", ".map": "application/json", ".xml": "application/xml", ".txt": "text/plain;charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".gif": "image/gif", ".jpg": "image/jpeg", ".ico": "image/x-icon",
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".eot": "application/vnd.ms-fontobject",
}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	f := &file{kind: kinds[strings.ToLower(path.Ext(name))], tag: `"` + hex.EncodeToString(sum[:8]) + `"`, content: content}
	if f.kind == "" {
		f.kind = mime.TypeByExtension(path.Ext(name))
	}
	if f.kind == "" {
		f.kind = "application/octet-stream"
	}
	f.policy = policy(content, strings.HasPrefix(f.kind, "text/html"))
	return f
}

var inline = regexp.MustCompile(`(?is)<script\b[^>]*>(.*?)</script`)

// policy lets a page run the application's own files, and the scripts that were in the page itself when it was read, by their hashes.
// What a name or a diagnostic might smuggle into a page is no script then. UI2 compiles its queries, which needs unsafe-eval; both
// style what they draw. Requests may go elsewhere, for UI2 asks NodeManagers and timeline servers. frame-ancestors
// follows with the answer.
func policy(content []byte, page bool) string {
	scripts := "'self' 'unsafe-eval'"
	if page {
		var hashes []string
		for _, m := range inline.FindAllSubmatch(content, 64) {
			if len(bytes.TrimSpace(m[1])) > 0 {
				sum := sha256.Sum256(bytes.ReplaceAll(m[1], []byte("\r\n"), []byte("\n"))) // as a browser reads lines
				hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
			}
		}
		slices.Sort(hashes)
		for _, h := range slices.Compact(hashes) {
			scripts += " " + h
		}
	}
	return "default-src 'self'; script-src " + scripts + "; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; " +
		"connect-src *; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; "
}

// Handler serves the application below a prefix, which begins with a slash and does not end in one.
func (a *App) Handler(prefix string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET,HEAD")
			http.Error(w, "This web application is only read; changes go to /ws/v1/cluster.", http.StatusMethodNotAllowed)
			return
		case r.URL.Path == prefix: // its pages name their files relative to the folder
			to := prefix + "/"
			if r.URL.RawQuery != "" {
				to += "?" + r.URL.RawQuery
			}
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, prefix+"/")
		if name == "" {
			name = "index.html"
		}
		f := a.files[name]
		if f == nil && kinds[strings.ToLower(path.Ext(name))] == "" { // a file that is gone is not a view
			f = a.notFound
		}
		if f == nil || secret(name) {
			http.Error(w, "There is no such file in this web application.", http.StatusNotFound)
			return
		}
		f.send(w, r)
	})
}

func (f *file) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Del("Pragma")
	h.Del("Expires")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", f.policy+webgate.FrameAncestors(h))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("ETag", f.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}
