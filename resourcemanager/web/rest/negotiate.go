package rest

import (
	"io"
	"mime"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/web/rest/tree"
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
	case "application/*":
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
