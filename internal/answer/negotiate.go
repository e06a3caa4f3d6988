package answer

import (
	"io"
	"mime"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/answer/tree"
)

// format is one of the two forms of an answer.
type format uint8

const (
	formatJSON format = iota
	formatXML
)

func (f format) contentType() string {
	if f == formatXML {
		return typeXML
	}
	return typeJSON
}

func (f format) write(w io.Writer, d tree.Document) error {
	if f == formatXML {
		return tree.WriteXML(w, d)
	}
	return tree.WriteJSON(w, d)
}

// maxRanges bounds how many media ranges of an Accept header are looked at.
const maxRanges = 32

// negotiate chooses by the caller's weights; JSON wins a tie and is what callers
// without a wish get. It fails if the caller wants neither.
func negotiate(accept []string) (format, bool) {
	ranges := strings.Split(strings.Join(accept, ","), ",")
	if strings.TrimSpace(strings.Join(ranges, "")) == "" {
		return formatJSON, true
	}
	var json, xml weight
	for _, text := range ranges[:min(len(ranges), maxRanges)] {
		name, params, err := mime.ParseMediaType(strings.TrimSpace(text))
		if err != nil {
			continue
		}
		q := quality(params["q"])
		json.consider(name, "application/json", q)
		xml.consider(name, "application/xml", q)
	}
	switch {
	case json.q <= 0 && xml.q <= 0:
		return 0, false
	case xml.q > json.q:
		return formatXML, true
	}
	return formatJSON, true
}

// Accepts tells whether the caller takes a type, such as text/plain.
func Accepts(accept []string, mine string) bool {
	text := strings.Join(accept, ",")
	if strings.TrimSpace(text) == "" {
		return true
	}
	var w weight
	ranges := strings.Split(text, ",")
	for _, one := range ranges[:min(len(ranges), maxRanges)] {
		if name, params, err := mime.ParseMediaType(strings.TrimSpace(one)); err == nil {
			w.consider(name, mine, quality(params["q"]))
		}
	}
	return w.q > 0
}

// family is the range of all types like this one: text/* of text/plain.
func family(mine string) string {
	kind, _, _ := strings.Cut(mine, "/")
	return kind + "/*"
}

// weight is the quality of one type, by its most specific range.
type weight struct {
	q        float64
	specific int
}

func (w *weight) consider(name, mine string, q float64) {
	specific := 0
	switch name {
	case mine:
		specific = 3
	case family(mine):
		specific = 2
	case "*/*", "*":
		specific = 1
	}
	if specific > w.specific {
		*w = weight{q, specific}
	}
}

func quality(s string) float64 {
	if s == "" {
		return 1
	}
	q, err := strconv.ParseFloat(s, 64)
	if err != nil || q < 0 || q > 1 {
		return 0
	}
	return q
}
