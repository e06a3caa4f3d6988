package introspect

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/visible"
)

// jmx tells the beans that qry fits (all without it), or one attribute with
// get=BEAN::ATTRIBUTE.
//
// compat: statuses and texts are those of Hadoop's servlet, which answers 200 to
// questions that it does not understand. It also lets scripts of every site read
// its answers (Access-Control-Allow-Origin); this one does not.
func (s *server) jmx(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json;charset=utf8")
	out := &pretty{Writer: bufio.NewWriter(w)}
	defer func() { _ = out.Flush() }()
	question, attribute := r.FormValue("qry"), ""
	if r.Form.Has("get") {
		parts := strings.Split(r.Form.Get("get"), "::")
		if len(parts) != 2 || parts[1] == "" {
			out.object([]Attribute{{Name: "result", Value: "ERROR"}, {Name: "message", Value: "query format is not as expected."}})
			return
		}
		question, attribute = parts[0], parts[1]
	} else if question == "" {
		question = "*:*"
	}
	q, ok := parseQuery(question)
	if !ok {
		out.object(nil)
		return
	}
	var list []any
	for _, b := range q.choose(s.beans(r.Context())) {
		list = append(list, told(b, attribute))
	}
	out.object([]Attribute{{Name: "beans", Value: list}})
}

// told is a bean as an object, with all attributes or with one.
func told(b Bean, attribute string) []Attribute {
	out := []Attribute{{Name: "name", Value: b.Name}, {Name: "modelerType", Value: b.Type}}
	if attribute == "" {
		return append(out, b.Attributes...)
	}
	for _, a := range b.Attributes {
		if a.Name == attribute {
			return append(out, a)
		}
	}
	return append(out, Attribute{Name: "result", Value: "ERROR"}, Attribute{Name: "message", Value: "No attribute with name " + attribute + " was found."})
}

// pretty writes JSON with Hadoop's line breaks. Errors of writing are those of a
// caller who has left.
type pretty struct {
	*bufio.Writer
	depth int
}

func (p *pretty) line() {
	_ = p.WriteByte('\n')
	for range p.depth {
		_, _ = p.WriteString("  ")
	}
}

func (p *pretty) object(members []Attribute) {
	if len(members) == 0 {
		_, _ = p.WriteString("{ }")
		return
	}
	_ = p.WriteByte('{')
	p.depth++
	for i, m := range members {
		if i > 0 {
			_ = p.WriteByte(',')
		}
		p.line()
		p.text(m.Name)
		_, _ = p.WriteString(" : ")
		p.value(m.Value)
	}
	p.depth--
	p.line()
	_ = p.WriteByte('}')
}

func (p *pretty) value(v any) {
	switch x := v.(type) {
	case nil:
		_, _ = p.WriteString("null")
	case string:
		p.text(x)
	case []Attribute:
		p.object(x)
	case []string:
		list := make([]any, len(x))
		for i, s := range x {
			list[i] = s
		}
		p.list(list)
	case []any:
		p.list(x)
	default:
		_, _ = p.Write(tree.Append(p.AvailableBuffer(), v))
	}
}

func (p *pretty) list(items []any) {
	_, _ = p.WriteString("[ ")
	for i, v := range items {
		if i > 0 {
			_, _ = p.WriteString(", ")
		}
		p.value(v)
	}
	if len(items) > 0 {
		_ = p.WriteByte(' ')
	}
	_ = p.WriteByte(']')
}

func (p *pretty) text(s string) {
	b, _ := json.Marshal(s)
	_, _ = p.WriteString(visible.Line(string(b)))
}
