package conf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of one load. What goes over is an error, never a truncation.
const (
	MaxFileBytes  = 64 << 20 // one configuration file
	MaxProperties = 1 << 19  // properties of one load, includes counted
	MaxDepth      = 64       // nesting of XML elements
	MaxNameBytes  = 4 << 10
	MaxValueBytes = 1 << 20
	maxWarnings   = 1000 // of one load; later ones are dropped
)

// item is one property as a file gives it, in file order.
type item struct {
	name, value string
	set         bool // it has a value; an empty element is no value (Hadoop's rule)
	final       bool
	origin      Origin
}

// parser walks one file. It follows Configuration.Parser: a flat machine that
// looks at local names alone, so that oddly nested files mean the same here.
type parser struct {
	load  *loading
	file  string
	depth int
	data  []byte
	dec   *xml.Decoder

	text      []byte
	gathering bool
	sawRoot   bool

	name, value string
	hasName     bool
	hasValue    bool
	final       bool
	inProperty  bool
	at          Origin // of the current property's value, else of the property
	include     includeState
	out         []item
}

// position is where the next token starts.
func (p *parser) position() Origin {
	line, col := p.dec.InputPos()
	return Origin{File: p.file, Line: line, Column: col}
}

func (p *parser) fail(at Origin, format string, args ...any) error {
	return Problem{Origin: at, Text: fmt.Sprintf(format, args...)}
}

// parse reads a whole document.
func (p *parser) parse() ([]item, error) {
	p.dec = xml.NewDecoder(bytes.NewReader(p.data))
	p.dec.CharsetReader = charset
	for {
		at, start := p.position(), p.dec.InputOffset()
		tok, err := p.dec.Token()
		if errors.Is(err, io.EOF) {
			if !p.sawRoot {
				return nil, p.fail(Origin{File: p.file}, "the file is empty: a <configuration> element is expected")
			}
			return p.out, nil
		}
		if err != nil {
			return nil, p.syntax(err)
		}
		if err := p.token(tok, at, start); err != nil {
			return nil, err
		}
	}
}

// syntax turns a decoder's error into one with our position.
func (p *parser) syntax(err error) error {
	text := err.Error()
	var se *xml.SyntaxError
	if errors.As(err, &se) {
		text = se.Msg
	}
	text = strings.TrimPrefix(text, "xml: ")
	return p.fail(p.position(), "not well-formed XML: %s", text)
}

func (p *parser) token(tok xml.Token, at Origin, start int64) error {
	switch t := tok.(type) {
	case xml.StartElement:
		return p.startElement(t, at, start)
	case xml.EndElement:
		p.depth--
		return p.endElement(t.Name.Local, at)
	case xml.CharData:
		return p.chars(t, at)
	case xml.Directive:
		return p.fail(at, "DOCTYPE and other <!...> declarations are not allowed in configuration files")
	case xml.ProcInst:
		if t.Target == "xml" && start != 0 {
			return p.fail(at, "not well-formed XML: <?xml ...?> is allowed only at the start of the file")
		}
	}
	return nil
}

func (p *parser) chars(t xml.CharData, at Origin) error {
	if p.depth == 0 {
		if len(bytes.TrimSpace(t)) > 0 {
			return p.fail(at, "not well-formed XML: text outside the root element")
		}
		return nil
	}
	if p.gathering {
		if len(p.text)+len(t) > MaxValueBytes {
			return p.fail(at, "text is longer than %d bytes", MaxValueBytes)
		}
		p.text = append(p.text, t...)
	}
	return nil
}

func (p *parser) startElement(t xml.StartElement, at Origin, start int64) error {
	if p.depth == 0 && p.sawRoot {
		return p.fail(at, "not well-formed XML: a second root element <%s>", t.Name.Local)
	}
	p.depth++
	if p.depth > MaxDepth {
		return p.fail(at, "elements are nested more than %d deep", MaxDepth)
	}
	if p.depth == 1 {
		p.sawRoot = true
		if t.Name.Local != "configuration" {
			p.load.warn(Problem{Origin: at, Text: fmt.Sprintf("the root element is <%s>, expected <configuration>", t.Name.Local)})
		}
	}
	attrs, err := p.attributes(t, at, start)
	if err != nil {
		return err
	}
	switch t.Name.Local {
	case "property":
		p.startProperty(attrs, at)
	case "value":
		p.at = at
		fallthrough
	case "name", "final", "source", "tag":
		p.gathering, p.text = true, p.text[:0]
	case "include":
		return p.startInclude(attrs, at)
	case "fallback":
		p.include.inFallback = true
	case "configuration", "description":
	default:
		if p.depth == 2 && !p.inProperty {
			p.load.warn(Problem{Origin: at, Text: fmt.Sprintf("element <%s> is ignored, expected <property>", t.Name.Local)})
		}
	}
	return nil
}

// attributes checks for duplicates, which the decoder lets pass, and turns
// line breaks and tabs into spaces as XML says, which it does not.
func (p *parser) attributes(t xml.StartElement, at Origin, start int64) (map[string]string, error) {
	if len(t.Attr) == 0 {
		return nil, nil
	}
	raw := p.data[min(start, int64(len(p.data))):min(p.dec.InputOffset(), int64(len(p.data)))]
	escaped := bytes.Contains(raw, []byte("&#")) // then a break may be meant
	attrs := make(map[string]string, len(t.Attr))
	for _, a := range t.Attr {
		if _, dup := attrs[a.Name.Local]; dup && a.Name.Space == "" {
			return nil, p.fail(at, "not well-formed XML: attribute %s given twice", a.Name.Local)
		}
		v := a.Value
		if !escaped {
			v = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(v)
		}
		attrs[a.Name.Local] = v
	}
	return attrs, nil
}

func (p *parser) startProperty(attrs map[string]string, at Origin) {
	p.inProperty, p.at = true, at
	p.name, p.hasName = attrs["name"], hasKey(attrs, "name")
	p.value, p.hasValue = attrs["value"], hasKey(attrs, "value")
	// compat: only the exact text "true" counts, spaces around it undo it.
	p.final = attrs["final"] == "true"
}

func hasKey(m map[string]string, k string) bool {
	_, ok := m[k]
	return ok
}

func (p *parser) endElement(local string, at Origin) error {
	text := p.text
	switch local {
	case "name":
		if len(text) > 0 {
			p.name, p.hasName = trim(string(text)), true
		}
	case "value":
		if len(text) > 0 {
			p.value, p.hasValue = string(text), true
		}
	case "final":
		p.final = string(text) == "true"
		if s := trim(string(text)); s != string(text) && s == "true" {
			p.load.warn(Problem{Origin: at, Text: "<final> counts only as exactly <final>true</final>, without spaces: the property is not final"})
		}
	case "include":
		return p.endInclude(at)
	case "property":
		p.inProperty = false
		return p.endProperty()
	}
	return nil
}

func (p *parser) endProperty() error {
	if !p.hasName || trim(p.name) == "" {
		p.load.warn(Problem{Origin: p.at, Text: "a <property> without <name> is ignored"})
		return nil
	}
	if p.include.inFallback && !p.include.missing {
		return nil
	}
	if len(p.name) > MaxNameBytes {
		return p.fail(p.at, "a property name is longer than %d bytes", MaxNameBytes)
	}
	if err := p.load.countProperty(p.at); err != nil {
		return err
	}
	p.out = append(p.out, item{name: p.name, value: p.value, set: p.hasValue, final: p.final, origin: p.at})
	return nil
}

// charset accepts the encodings that need no table.
func charset(label string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "us-ascii", "ascii", "utf8":
		return in, nil
	case "iso-8859-1", "latin1", "iso_8859-1":
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
	return nil, fmt.Errorf("encoding %q is not supported, save the file as UTF-8", label)
}
