// Package pages is what the HTML pages of every daemon have in common: the style
// sheet, the headers that keep foreign text from doing harm, and how times and
// amounts are printed. What is on a page is the daemon's business.
package pages

import (
	_ "embed"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
)

//go:embed style.css
var style []byte

// StylePath is where pages find the style sheet.
const StylePath = "/static/heddle.css"

// policy allows the style sheet, forms that lead here, and nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"

// Headers sets those of a page: no script runs in it, whatever text it holds.
func Headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html;charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin")
}

// Write answers with a whole page; what text in it hides becomes visible. Errors
// of writing are those of a caller who has left.
func Write(w http.ResponseWriter, status int, page string) {
	page = visible.Text(page)
	Headers(w)
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, page)
}

// Style serves the style sheet.
func Style(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Del("Pragma")
	h.Del("Expires")
	h.Set("Cache-Control", "max-age=300")
	h.Set("Content-Type", "text/css;charset=utf-8")
	_, _ = w.Write(style)
}

// When is a time (milliseconds since 1970) as people read it.
func When(ms int64) string {
	if ms <= 0 {
		return "N/A"
	}
	return time.UnixMilli(ms).Format("Mon Jan 02 15:04:05 -0700 2006")
}

// Memory is an amount of MiB as Hadoop's pages print it.
func Memory(mb int64) string {
	units := []string{"MB", "GB", "TB", "PB"}
	f, i := float64(mb), 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 2, 64), ".00") + " " + units[i]
}
