// Package pages is what the HTML pages of every daemon have in common: the style
// sheet, the headers that keep foreign text from doing harm, and how times and
// amounts are printed. The daemons decide what is on a page.
package pages

import (
	_ "embed"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/internal/webgate"
)

//go:embed style.css
var style []byte

// StylePath is where pages find the style sheet.
const StylePath = "/static/heddle.css"

// policy allows the style sheet, forms that lead here, and nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; "

// Headers sets those of a page: no script runs in it, whatever text it holds.
func Headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html;charset=utf-8")
	h.Set("Content-Security-Policy", policy+webgate.FrameAncestors(h))
	h.Set("Referrer-Policy", "same-origin")
}

// Write answers with a page as it is drawn; what text in it hides becomes visible.
// The error is that of drawing a page of which nothing has been sent; one that
// fails later is cut off, and errors of writing are those of a caller who has left.
func Write(w http.ResponseWriter, status int, draw func(io.Writer) error) error {
	Headers(w)
	out := answer.NewSized(w, status)
	text := visible.NewWriter(out)
	if err := draw(text); err != nil {
		if out.Flowed {
			panic(http.ErrAbortHandler)
		}
		return err
	}
	_ = text.Flush()
	out.Close()
	return nil
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
