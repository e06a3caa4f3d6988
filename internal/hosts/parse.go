package hosts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep elements may nest; the format needs three levels.
const maxDepth = 16

// ReadFile reads a list, in the form that the name's ending tells. An empty
// path is an empty list.
func ReadFile(path string) (*List, error) {
	if path == "" {
		return &List{}, nil
	}
	l, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read host list %s: %w", path, err)
	}
	return l, nil
}

func readFile(path string) (*List, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".xml":
		return ParseXML(data)
	case ".json":
		return nil, errors.New("lists in JSON are not supported: use text or XML")
	}
	return ParseText(data)
}

// ParseText reads names separated by blanks and line ends.
func ParseText(data []byte) (*List, error) {
	if err := checkSize(data); err != nil {
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

func checkSize(data []byte) error {
	if len(data) > MaxFile {
		return fmt.Errorf("it is larger than %d bytes", MaxFile)
	}
	if !utf8.Valid(data) {
		return errors.New("it is not UTF-8 text")
	}
	return nil
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

func (l *List) addChecked(e Entry) error {
	if len(e.Host) > MaxName {
		return fmt.Errorf("host name of %d bytes is longer than %d", len(e.Host), MaxName)
	}
	if l.add(e); len(l.entries) > MaxHosts {
		return fmt.Errorf("more than %d hosts", MaxHosts)
	}
	return nil
}

// ParseXML reads the XML form. Every element called host counts, wherever it
// stands below the root; of several names or timeouts in it the first counts.
// Document types are refused, and with them entities.
func ParseXML(data []byte) (*List, error) {
	if err := checkSize(data); err != nil {
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

// capture gathers the text of the first name and of the first timeout.
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

// finish adds the hosts of a host element; one without names has no effect.
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
