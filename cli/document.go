package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/heddle-project/heddle/internal/visible"
)

// Schema is the version of what --output json prints. Fields may be added under
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

// writeDocument prints one indented object that begins with schema and kind.
func writeDocument(w io.Writer, kind string, d document) error {
	raw, err := json.Marshal(append(document{{"schema", Schema}, {"kind", kind}}, d...))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = io.WriteString(w, visible.Text(out.String()))
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
