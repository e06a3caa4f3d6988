package cli

import (
	"bytes"
	"slices"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-project/heddle/internal/visible"
)

// The values of --output.
const (
	formatText = "text" // Hadoop's own layout
	formatJSON = "json"
	formatYAML = "yaml"
	formatWide = "wide" // a table with a column for each field of the JSON
)

// treeOf reads JSON text, which is YAML too, and keeps the order of its fields.
func treeOf(raw []byte) (*yaml.Node, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(raw, &n); err != nil {
		return nil, err
	}
	return n.Content[0], nil
}

// yamlOf lays JSON text out as YAML.
func yamlOf(raw []byte) ([]byte, error) {
	n, err := treeOf(raw)
	if err != nil {
		return nil, err
	}
	plain(n)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// plain takes the style of JSON away; the encoder quotes what needs it.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}

// wideOf draws the first list of a document as a table, with a column for each field of its objects. A document without a list becomes
// lines of a field and its value; an empty list becomes nothing.
func wideOf(raw []byte) ([]byte, error) {
	n, err := treeOf(raw)
	if err != nil {
		return nil, err
	}
	depth := 1
	if len(n.Content) >= 4 && n.Content[0].Value == "schema" {
		if strings.HasSuffix(n.Content[3].Value, "s") { // a kind of many: its list may lie deeper. In a report on one thing it would be a detail
			depth = maxListDepth
		}
		n.Content = n.Content[4:] // and kind
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 1, 2, ' ', 0)
	line := func(cells []string) {
		for i, cell := range cells {
			cells[i] = visible.Line(cell)
		}
		_, _ = w.Write([]byte(strings.TrimRight(strings.Join(cells, "\t"), "\t") + "\n"))
	}
	list := listIn(n, depth)
	if list == nil {
		names, values := flat(n, "", nil, map[string]string{})
		for _, name := range names {
			line([]string{name, values[name]})
		}
		err := w.Flush()
		return b.Bytes(), err
	}
	var columns []string
	rows := make([]map[string]string, len(list.Content))
	for i, item := range list.Content {
		columns, rows[i] = flat(item, "", columns, map[string]string{})
	}
	if len(columns) > 0 {
		line(slices.Clone(columns))
	}
	for _, row := range rows {
		var cells []string
		for _, name := range columns {
			cell, ok := row[name]
			if !ok {
				cell = "-"
			}
			cells = append(cells, cell)
		}
		line(cells)
	}
	err = w.Flush()
	return b.Bytes(), err
}

// maxListDepth is how deep the list of a document may lie.
const maxListDepth = 3

// listIn finds the first list of objects, the one that lies the least deep; nil: there is none.
func listIn(n *yaml.Node, depth int) *yaml.Node {
	level := []*yaml.Node{n}
	for range depth {
		var next []*yaml.Node
		for _, object := range level {
			for i := 1; i < len(object.Content); i += 2 {
				switch v := object.Content[i]; {
				case v.Kind == yaml.SequenceNode && (len(v.Content) == 0 || v.Content[0].Kind == yaml.MappingNode):
					if len(v.Content) > 0 || !wordList[object.Content[i-1].Value] {
						return v
					}
				case v.Kind == yaml.MappingNode:
					next = append(next, v)
				}
			}
		}
		level = next
	}
	return nil
}

// wordList are fields that hold words: empty, they look like a list of objects.
var wordList = map[string]bool{"types": true, "states": true, "tags": true, "labels": true, "attributes": true, "accessibleNodeLabels": true, "warnings": true}

// flat adds the fields of an object to the columns, those of objects in it with a dot between the names, and its values to row.
func flat(n *yaml.Node, prefix string, columns []string, row map[string]string) ([]string, map[string]string) {
	if n.Kind != yaml.MappingNode {
		if !slices.Contains(columns, "value") {
			columns = append(columns, "value")
		}
		row["value"] = cellOf(n)
		return columns, row
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, v := prefix+n.Content[i].Value, n.Content[i+1]
		if v.Kind == yaml.MappingNode && len(v.Content) > 0 {
			columns, row = flat(v, name+".", columns, row)
			continue
		}
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
		row[name] = cellOf(v)
	}
	return columns, row
}

// cellOf is a value on one line; a minus stands for nothing.
func cellOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" || n.Value == "" {
			return "-"
		}
		return n.Value
	case yaml.SequenceNode, yaml.MappingNode:
		if len(n.Content) == 0 {
			return "-"
		}
		var parts []string
		for i, child := range n.Content {
			text := cellOf(child)
			if n.Kind == yaml.MappingNode && i%2 == 1 {
				parts[len(parts)-1] += "=" + text
				continue
			}
			parts = append(parts, text)
		}
		separator := ","
		if n.Kind == yaml.MappingNode {
			separator = " "
		} else if n.Content[0].Kind == yaml.MappingNode {
			separator = "; "
		}
		return strings.Join(parts, separator)
	}
	return "-"
}
