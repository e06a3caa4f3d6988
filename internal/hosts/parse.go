package hosts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// maxDepth bounds how deep elements may nest; the format needs three levels.
const maxDepth = 16

// ParseText reads the text form.
func ParseText(data []byte) (*List, error) {
	data, err := text(data)
	if err != nil {
		return nil, err
	}
	l := &List{}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if err := l.addLine(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return l, nil
}

func (l *List) addLine(line []byte) error {
	for word := range bytes.FieldsSeq(line) {
		if word[0] == '#' {
			return nil
		}
		if err := l.addChecked(Entry{Host: string(word)}); err != nil {
			return err
		}
	}
	return nil
}

// addChecked adds an entry unless its host or the length of the list is out of bounds.
func (l *List) addChecked(e Entry) error {
	if len(e.Host) > MaxName {
		return fmt.Errorf("host name of %d bytes is longer than %d", len(e.Host), MaxName)
	}
	if strings.ContainsFunc(e.Host, invisible) {
		return fmt.Errorf("host name %q has characters that cannot be seen", e.Host)
	}
	if l.add(e); len(l.entries) > MaxHosts {
		return fmt.Errorf("more than %d hosts", MaxHosts)
	}
	return nil
}

// invisible characters are mistakes in a name: a byte order mark where two files were joined, or zeros of UTF-16.
func invisible(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }

// ParseXML reads the XML form. Every host element counts, wherever it is below
// the root; of several name or timeout elements in it the first counts. Document
// types, and with them entities, are refused.
func ParseXML(data []byte) (*List, error) {
	data, err := text(data)
	if err != nil {
		return nil, err
	}
	p := &xmlParser{decoder: xml.NewDecoder(bytes.NewReader(data)), list: &List{}}
	if err := p.run(); err != nil {
		line, _ := p.decoder.InputPos()
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return p.list, nil
}

type xmlParser struct {
	decoder *xml.Decoder
	list    *List
	path    []string // open elements
	roots   int
	host    *xmlHost         // the open host element
	text    *strings.Builder // where text goes, inside a first name or timeout
}

type xmlHost struct {
	depth         int
	name, timeout *strings.Builder // nil: not seen
}

func (p *xmlParser) run() error {
	for {
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) {
			if p.roots != 1 {
				return errors.New("no root element")
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			err = p.start(t.Name.Local)
		case xml.EndElement:
			err = p.end()
		case xml.CharData:
			err = p.chars(t)
		case xml.Directive:
			err = errors.New("document types and other <! directives are refused")
		}
		if err != nil {
			return err
		}
	}
}

func (p *xmlParser) start(name string) error {
	depth := len(p.path)
	switch {
	case depth == 0 && p.roots > 0:
		return errors.New("a second root element")
	case depth == 0:
		p.roots++
	case depth == maxDepth:
		return fmt.Errorf("elements nest deeper than %d", maxDepth)
	case name == "host" && p.host != nil:
		return errors.New("a host element within another")
	case name == "host":
		p.host = &xmlHost{depth: depth}
	case p.host != nil && p.text == nil:
		p.capture(name)
	}
	p.path = append(p.path, name)
	return nil
}

// capture begins to collect the text of an element, if it is the first name or the first timeout of its host.
func (p *xmlParser) capture(name string) {
	var to **strings.Builder
	switch name {
	case "name":
		to = &p.host.name
	case "timeout":
		to = &p.host.timeout
	default:
		return
	}
	if *to == nil {
		*to = &strings.Builder{}
		p.text = *to
	}
}

func (p *xmlParser) chars(text []byte) error {
	if p.text != nil {
		p.text.Write(text)
	} else if len(p.path) == 0 && len(bytes.TrimSpace(text)) > 0 {
		return errors.New("text outside of the root element")
	}
	return nil
}

func (p *xmlParser) end() error {
	name := p.path[len(p.path)-1]
	p.path = p.path[:len(p.path)-1]
	switch {
	case p.host == nil:
		return nil
	case len(p.path) == p.host.depth:
		h := p.host
		p.host = nil
		return p.finish(h)
	case name == "name" || name == "timeout":
		p.text = nil
	}
	return nil
}

// finish adds an entry for each name of a host element.
func (p *xmlParser) finish(h *xmlHost) error {
	var e Entry
	if h.timeout != nil {
		text := strings.TrimSpace(h.timeout.String())
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("timeout %q is not a whole number of seconds", text)
		}
		e.Timeout, e.HasTimeout = int32(n), true
	}
	if h.name == nil {
		return nil
	}
	for name := range strings.SplitSeq(h.name.String(), ",") {
		if e.Host = strings.TrimSpace(name); e.Host == "" {
			continue
		}
		if err := p.list.addChecked(e); err != nil {
			return err
		}
	}
	return nil
}
