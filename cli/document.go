package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/heddle-project/heddle/internal/visible"
)

// Schema is the version of what --output json and yaml print. Fields may be added under
// the same version; a renamed or removed field makes a new one.
const Schema = "yarn.cli/1"

// document is an object whose fields keep their order.
type document []field

type field struct {
	name  string
	value any
}

func (d document) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range d {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(f.name)
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// writeDocument prints one object that begins with schema and kind, in the format of --output: indented JSON, YAML, or a table of its list.
func (c *call) writeDocument(kind string, d document) error {
	raw, err := json.Marshal(append(document{{"schema", Schema}, {"kind", kind}}, d...))
	if err != nil {
		return err
	}
	if c.format == formatYAML || c.format == formatWide {
		return c.layOut(raw)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err = io.WriteString(c.Stdout, visible.Text(b.String()))
	return err
}

// writeAnswer prints what the ResourceManager answered: JSON as it came, on one line, or another format.
func (c *call) writeAnswer(answer any) error {
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	if c.format == formatYAML || c.format == formatWide {
		return c.layOut(raw)
	}
	_, err = fmt.Fprintf(c.Stdout, "%s\n", raw)
	return err
}

// layOut prints JSON text in another format.
func (c *call) layOut(raw []byte) error {
	lay := yamlOf
	if c.format == formatWide {
		lay = wideOf
	}
	out, err := lay(raw)
	if err != nil {
		return fmt.Errorf("the answer as %s: %w", c.format, err)
	}
	_, err = io.WriteString(c.Stdout, visible.Text(string(out)))
	return err
}

// items makes a list that prints as [] when empty.
func items[T any](from []T, f func(T) document) []document {
	out := make([]document, len(from))
	for i, t := range from {
		out[i] = f(t)
	}
	return out
}

// words makes a list that prints as [] when empty.
func words(from []string) []string { return append([]string{}, from...) }
