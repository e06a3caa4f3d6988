package tree_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heddle-project/heddle/internal/answer/tree"
)

func written(t *testing.T, d tree.Document) (asJSON, asXML string) {
	t.Helper()
	var j, x bytes.Buffer
	if err := errors.Join(tree.WriteJSON(&j, d), tree.WriteXML(&x, d)); err != nil {
		t.Fatal(err)
	}
	return j.String(), strings.TrimPrefix(x.String(), `<?xml version="1.0" encoding="UTF-8"?>`)
}

func TestForms(t *testing.T) {
	leaf := &tree.Object{Type: "leaf"}
	leaf.Add("a", 1)
	for _, c := range []struct {
		name      string
		doc       tree.Document
		json, xml string
	}{
		{"empty", tree.Document{Root: "apps", Body: tree.New()}, `{"apps":{}}`, `<apps/>`},
		{"bare", tree.Document{Root: "appstate", Bare: true, Body: tree.New().Add("state", "X")}, `{"state":"X"}`, `<appstate><state>X</state></appstate>`},
		{"one in a list", tree.Document{Root: "r", Body: tree.New().Add("e", tree.List{"x"})}, `{"r":{"e":["x"]}}`, `<r><e>x</e></r>`},
		{"empty list", tree.Document{Root: "r", Body: tree.New().Add("e", tree.List{}).Add("f", "")}, `{"r":{"f":""}}`, `<r><f></f></r>`},
		{"empty list last", tree.Document{Root: "r", Body: tree.New().Add("f", true).Add("e", tree.List(nil))}, `{"r":{"f":true}}`, `<r><f>true</f></r>`},
		{"types", tree.Document{Root: "r", Body: tree.New().Add("q", tree.List{leaf})}, `{"r":{"q":[{"type":"leaf","a":1}]}}`,
			`<r><q xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="leaf"><a>1</a></q></r>`},
		{"stream", tree.Document{Root: "r", Body: tree.New().Add("n", tree.Stream(func(yield func(tree.Value) bool) { _ = yield(int64(1)) && yield(int32(2)) }))},
			`{"r":{"n":[1,2]}}`, `<r><n>1</n><n>2</n></r>`},
		{"left out", tree.Document{Root: "r", Body: tree.New().AddIf(false, "a", 1).AddIf(true, "b", 2)}, `{"r":{"b":2}}`, `<r><b>2</b></r>`},
		{"texts", tree.Document{Root: "r", Body: tree.New().Add("t", "a\"\\<&>\n]]>")}, `{"r":{"t":"a\"\\<&>\n]]>"}}`, "<r><t>a&quot;\\&lt;&amp;>\n]]&gt;</t></r>"},
		{"what would not be seen", tree.Document{Root: "r", Body: tree.New().Add("t", "\x1b[2J\u009b\u202ea\U000e0041\x7f\r\t")},
			`{"r":{"t":"\u001b[2J\u009b\u202ea\udb40\udc41\u007f\r\t"}}`, "<r><t>\ufffd[2J&#x9b;&#x202e;a&#xe0041;&#x7f;&#xd;\t</t></r>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, x := written(t, c.doc)
			if j != c.json || x != c.xml {
				t.Errorf("%s\n%s\nwant\n%s\n%s", j, x, c.json, c.xml)
			}
		})
	}
}

// TestFloats: as Java prints them.
func TestFloats(t *testing.T) {
	for want, f := range map[string]tree.Value{
		"0.0": float32(0), "100.0": float32(100), "55.822067": float32(55.822067), "60.000004": float32(0.6) * 100, "-1.0": float32(-1),
		"0.001": float32(0.001), "9.0E-4": float32(0.0009), "1.0E7": float32(1e7), "9999999.0": float32(9999999), "1.5E10": 1.5e10,
		"0.21299999952316284": float64(float32(0.213)), "1.9694453477859497": 1.9694453477859497, "3.4028235E38": float32(math.MaxFloat32),
	} {
		if j, _ := written(t, tree.Document{Root: "r", Bare: true, Body: tree.New().Add("f", f)}); j != `{"f":`+want+`}` {
			t.Errorf("%v: %s, want %s", f, j, want)
		}
	}
	for want, f := range map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)} {
		if j, x := written(t, tree.Document{Root: "r", Bare: true, Body: tree.New().Add("f", f)}); j != `{"f":"`+want+`"}` || x != "<r><f>"+want+"</f></r>" {
			t.Errorf("%v: %s %s", f, j, x)
		}
	}
}

// FuzzText: any text comes back from both forms, but for what XML cannot hold.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "<a>&\"'", "]]>", "\x00\xff\ufffe", "\u2028", "日本", "\r\n\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		j, x := written(t, tree.Document{Root: "r", Bare: true, Body: tree.New().Add("t", s)})
		var back struct {
			T string `json:"t" xml:"t"`
		}
		if err := json.Unmarshal([]byte(j), &back); err != nil || back.T != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Errorf("JSON of %q: %q, %v", s, back.T, err)
		}
		d := xml.NewDecoder(strings.NewReader(x))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatalf("XML of %q: %v", s, err)
			}
		}
	})
}

func TestUnknownValue(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a value of no kind was written")
		}
	}()
	written(t, tree.Document{Root: "r", Body: tree.New().Add("x", struct{}{})})
}
