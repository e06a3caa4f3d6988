package allocation

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of a file. What goes over is an error, never a truncation.
const (
	MaxFileBytes = 32 << 20
	MaxDepth     = 64      // nesting of elements
	MaxElements  = 2 << 20 // elements of a file
	MaxQueues    = 100_000 // queues of a file
	MaxPathBytes = 1000    // a queue's full name
	maxAttrs     = 64      // attributes of an element
	maxResource  = 1000    // bytes of a resource's text
)

// Root is the name of an allocation file's root element.
const Root = "allocations"

// element is one element of a file with what is in it.
type element struct {
	name         string // without a prefix
	attrs        []xml.Attr
	text         string // all of its own text
	children     []*element
	line, column int
}

// attr is an attribute's value, with line breaks and tabs as spaces, as XML says.
func (e *element) attr(name string) (string, bool) {
	for _, a := range e.attrs {
		if a.Name.Local == name && a.Name.Space == "" {
			return strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(a.Value), true
		}
	}
	return "", false
}

// RootElement is the name of the root element, "" if the text has none or breaks before it. It tells what kind of
// configuration file a text is.
func RootElement(data []byte) string {
	dec := decoder(data)
	for {
		tok, err := dec.Token()
		if err != nil {
			return ""
		}
		if start, ok := tok.(xml.StartElement); ok {
			return start.Name.Local
		}
	}
}

func decoder(data []byte) *xml.Decoder {
	dec := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	dec.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(label) {
		case "us-ascii", "ascii", "utf8":
			return in, nil
		case "iso-8859-1", "latin1", "iso_8859-1":
			return latin1(in)
		}
		return nil, fmt.Errorf("encoding %q is not supported, save the file as UTF-8", label)
	}
	return dec
}

// latin1 is the rest of a file of that encoding as UTF-8.
func latin1(in io.Reader) (io.Reader, error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	runes := make([]rune, len(data))
	for i, c := range data {
		runes[i] = rune(c)
	}
	return strings.NewReader(string(runes)), nil
}

// document reads a whole file. What is returned as an error is a Finding of severity Error.
type document struct {
	dec      *xml.Decoder
	root     *element
	open     []*element
	texts    [][]byte // of the open elements
	elements int
}

// read gives the root element, or the one finding for which there is none.
func read(data []byte) (*element, *Finding) {
	if len(data) > MaxFileBytes {
		return nil, &Finding{Severity: Error, Code: TooMany, What: fmt.Sprintf("the file has %d bytes, more than %d", len(data), MaxFileBytes),
			Fix: "write fewer queues"}
	}
	d := &document{dec: decoder(data)}
	for {
		line, column := d.dec.InputPos()
		start := d.dec.InputOffset()
		tok, err := d.dec.Token()
		if errors.Is(err, io.EOF) {
			if d.root == nil {
				return nil, d.broken(1, 1, "the file is empty", "write an <allocations> element, or remove the file")
			}
			return d.root, nil
		}
		if err != nil {
			line, column = d.dec.InputPos()
			return nil, d.syntax(line, column, err)
		}
		if f := d.token(tok, line, column, start); f != nil {
			return nil, f
		}
	}
}

func (d *document) broken(line, column int, what, fix string) *Finding {
	return &Finding{Severity: Error, Code: Broken, Line: line, Column: column, What: what, Fix: fix}
}

func (d *document) syntax(line, column int, err error) *Finding {
	text := err.Error()
	var se *xml.SyntaxError
	if errors.As(err, &se) {
		text = se.Msg
	}
	return d.broken(line, column, "not well-formed XML: "+strings.TrimPrefix(text, "xml: "), "correct the file")
}

func (d *document) token(tok xml.Token, line, column int, start int64) *Finding {
	switch t := tok.(type) {
	case xml.StartElement:
		return d.begin(t, line, column)
	case xml.EndElement:
		last := len(d.open) - 1
		d.open[last].text = string(d.texts[last])
		d.open, d.texts = d.open[:last], d.texts[:last]
	case xml.CharData:
		if last := len(d.open) - 1; last >= 0 {
			d.texts[last] = append(d.texts[last], t...)
		} else if len(bytes.TrimSpace(t)) > 0 {
			return d.broken(line, column, "not well-formed XML: text outside the root element", "correct the file")
		}
	case xml.Directive:
		return d.broken(line, column, "DOCTYPE and other <!...> declarations are not allowed", "remove it, and write out what its entities stand for")
	case xml.ProcInst:
		if t.Target == "xml" && start != 0 {
			return d.broken(line, column, "not well-formed XML: <?xml ...?> is allowed only at the start of the file", "correct the file")
		}
	}
	return nil
}

func (d *document) begin(t xml.StartElement, line, column int) *Finding {
	e := &element{name: t.Name.Local, line: line, column: column}
	if len(t.Attr) > 0 {
		e.attrs = t.Copy().Attr
	}
	if len(e.attrs) > maxAttrs {
		return &Finding{Severity: Error, Code: TooMany, Line: line, Column: column, What: fmt.Sprintf("an element has more than %d attributes", maxAttrs),
			Fix: "remove those that nothing reads"}
	}
	for i, a := range e.attrs {
		for _, b := range e.attrs[:i] {
			if a.Name == b.Name {
				return d.broken(line, column, "not well-formed XML: attribute "+a.Name.Local+" given twice", "remove one")
			}
		}
	}
	switch last := len(d.open) - 1; {
	case last >= 0:
		d.open[last].children = append(d.open[last].children, e)
	case d.root != nil:
		return d.broken(line, column, "not well-formed XML: a second root element <"+e.name+">", "correct the file")
	default:
		d.root = e
	}
	d.open, d.texts = append(d.open, e), append(d.texts, nil)
	if len(d.open) > MaxDepth {
		return &Finding{Severity: Error, Code: TooMany, Line: line, Column: column, What: fmt.Sprintf("elements are nested more than %d deep", MaxDepth),
			Fix: "use fewer levels of queues"}
	}
	if d.elements++; d.elements > MaxElements {
		return &Finding{Severity: Error, Code: TooMany, Line: line, Column: column, What: fmt.Sprintf("more than %d elements", MaxElements),
			Fix: "write fewer queues"}
	}
	return nil
}
