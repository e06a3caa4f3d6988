package rest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
)

// Bounds of a request's XML: these bodies are flat and small.
const (
	maxXMLDepth  = 4
	maxXMLTokens = 1000
)

// unreadable is Hadoop's answer to JSON that does not parse; it has no message.
func unreadable() error {
	return &answer.Exception{Status: http.StatusBadRequest, Class: "javax.ws.rs.WebApplicationException"}
}

// unreadableXML is Hadoop's answer to a document that does not parse.
func unreadableXML(message string) error {
	return &answer.Exception{Status: http.StatusBadRequest, Class: "javax.ws.rs.BadRequestException", Message: message}
}

// fields reads a flat body, JSON or XML, into texts by name. root is the name of the XML
// root; a JSON body may be wrapped in an object with that name.
func fields(r *http.Request, root string) (map[string]string, error) {
	isXML, body, err := content(r)
	switch {
	case err != nil:
		return nil, err
	case isXML:
		return xmlFields(body, root)
	}
	return jsonFields(body, root)
}

// content reads a body, which must be JSON or XML.
func content(r *http.Request) (isXML bool, body []byte, err error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Header.Get("Content-Type") == "" {
		kind, err = "application/json", nil
	}
	if err != nil || kind != "application/json" && kind != "application/xml" {
		return false, nil, &answer.Exception{Status: http.StatusUnsupportedMediaType, Class: "javax.ws.rs.NotSupportedException", Message: "HTTP 415 Unsupported Media Type"}
	}
	if body, err = io.ReadAll(r.Body); err != nil {
		return false, nil, fmt.Errorf("reading the body of %s %s: %w", r.Method, r.URL.Path, err)
	}
	if kind == "application/xml" && len(bytes.TrimSpace(body)) == 0 {
		return true, nil, unreadableXML("Missing entity.")
	}
	return kind == "application/xml", body, nil
}

func jsonFields(body []byte, root string) (map[string]string, error) {
	object := map[string]json.RawMessage{}
	if json.Unmarshal(body, &object) != nil || object == nil {
		return nil, unreadable()
	}
	if inner, ok := object[root]; ok && len(object) == 1 && bytes.HasPrefix(bytes.TrimSpace(inner), []byte("{")) {
		object = nil
		if json.Unmarshal(inner, &object) != nil {
			return nil, unreadable()
		}
	}
	out := make(map[string]string, len(object))
	for name, raw := range object {
		text := string(bytes.TrimSpace(raw))
		switch {
		case text == "null":
		case strings.HasPrefix(text, `"`):
			var s string
			if json.Unmarshal(raw, &s) != nil {
				return nil, unreadable()
			}
			out[name] = s
		default:
			out[name] = text
		}
	}
	return out, nil
}

// xmlFields reads the children of the root. Entities other than XML's own five are an
// error.
func xmlFields(body []byte, root string) (map[string]string, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	out, path, text, roots := map[string]string{}, []string(nil), "", 0
	for range maxXMLTokens {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(path) == 0 && roots == 1 {
			return out, nil
		}
		if err != nil {
			return nil, unreadableXML("")
		}
		switch t := token.(type) {
		case xml.StartElement:
			path, text = append(path, t.Name.Local), ""
			if len(path) == 1 {
				roots++
			}
			if len(path) > maxXMLDepth || path[0] != root || roots > 1 {
				return nil, unreadableXML("")
			}
		case xml.CharData:
			text += string(t)
		case xml.EndElement:
			if len(path) == 2 {
				out[path[1]] = text
			}
			path = path[:len(path)-1]
		case xml.Directive:
			return nil, unreadableXML("")
		}
	}
	return nil, unreadableXML("")
}
