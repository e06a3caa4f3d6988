package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

const header = `{"trace":1,"scheduler":"capacity","yarn-site":{"a":1,"b":true,"c":"x","d":-0.5},"capacity-scheduler":{},"groups":{"ann":["g","h"]},"node-labels":{"y":false,"x":true}}` + "\n"

func TestRead(t *testing.T) {
	text := header + "\n" + `{"do":"beat","node":"h1:1","completed":["a1/am"]}` + "\n" +
		`{"n":7,"do":"ask","app":"a1","asks":[{"resource":{"vcores":2},"count":0,"relax":false}],"saw":{"granted":[]}}`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, text)
	z.Close()
	for name, in := range map[string]io.Reader{"plain": strings.NewReader(text), "gzip": &zipped} {
		r, err := NewReader(in, name)
		if err != nil {
			t.Fatal(err)
		}
		want := Properties{{"a", "1"}, {"b", "true"}, {"c", "x"}, {"d", "-0.5"}}
		if h := r.Header(); len(h.Site) != 4 || h.Site[0] != want[0] || h.Site[1] != want[1] || h.Site[2] != want[2] || h.Site[3] != want[3] {
			t.Errorf("%s: yarn-site %v", name, h.Site)
		}
		if got := strings.Join(r.Header().LabelNames(), ","); got != "x,y" {
			t.Errorf("%s: labels %s", name, got)
		}
		e, err := r.Next()
		if err != nil || e.Do != "beat" || e.N != 1 || e.Line != 3 || e.Completed[0] != "a1/am" {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		e, err = r.Next()
		if err != nil || e.N != 7 || e.Asks[0].Resource["vcores"] != 2 || *e.Asks[0].Count != 0 || *e.Asks[0].Relax || e.Asks[0].Priority != nil {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the end: %v", name, err)
		}
	}
}

func TestBad(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "x: empty",
		"{}":                                 "x:1: header: trace version 0",
		`{"trace":2}`:                        "version 2, only 1",
		"nonsense":                           "x:1: header: invalid character",
		`{"trace":1,"color":1}`:              `unknown field "color"`,
		`{"trace":1} {}`:                     "more than one value",
		`{"trace":1,"groups":3}`:             "cannot unmarshal",
		`{"trace":1,"yarn-site":{"a":[1]}}`:  "property a: [1] is neither",
		`{"trace":1,"yarn-site":{"a":null}}`: "property a: null is neither",
		"\n{\"trace\":1}\n\n{\"n\":1}":       `x:4: an event without "do"`,
		"{\"trace\":1}\n{\"do\":1}":          "x:2: json: cannot unmarshal",
		"{\"trace\":1}\n{\"do\":\"x\",\"do2\":1}":          `x:2: json: unknown field "do2"`,
		"{\"trace\":1}\n" + strings.Repeat("x", MaxLine+1): "x:2: longer than",
		"\x1f\x8bnot gzip": "x: not a gzip file",
	} {
		r, err := NewReader(strings.NewReader(text), "x")
		if err == nil {
			_, err = r.Next()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want %s", text, err, want)
		}
	}
}

func TestCompare(t *testing.T) {
	recorded := json.RawMessage(`{"a":[1,{"b":"x"}],"c":null,"d":0.5,"e":{"f":true}}`)
	same := Saw{"a": []any{1.000004, map[string]any{"b": "x"}}, "c": nil, "d": 0.499995, "e": map[string]bool{"f": true}}
	if d, err := Compare(recorded, same); d != nil || err != nil {
		t.Errorf("%+v %v", d, err)
	}
	for path, change := range map[string]func(Saw){
		"a":     func(s Saw) { s["a"] = []any{1} },
		"a.0":   func(s Saw) { s["a"] = []any{1.1, map[string]any{"b": "x"}} },
		"a.1.b": func(s Saw) { s["a"] = []any{1, map[string]any{"b": "y"}} },
		"c":     func(s Saw) { delete(s, "c") },
		"d":     func(s Saw) { s["d"] = "0.5" },
		"e":     func(s Saw) { s["e"] = 1 },
		"e.f":   func(s Saw) { s["e"] = map[string]bool{"f": false} },
		"g":     func(s Saw) { s["g"] = 1 },
	} {
		s := Saw{"a": []any{1, map[string]any{"b": "x"}}, "c": nil, "d": 0.5, "e": map[string]bool{"f": true}}
		change(s)
		d, err := Compare(recorded, s)
		if err != nil || d == nil || d.Path != path {
			t.Errorf("at %s: %+v %v", path, d, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(header + `{"do":"beat"}`))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(bytes.NewReader(b), "x")
		for err == nil {
			_, err = r.Next()
		}
	})
}
