package tree_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
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

// TestDraw: an object that is drawn, kept or not, is written like one of members.
func TestDraw(t *testing.T) {
	one := func(i int, m *tree.Members) { m.Int("i", int64(i)).Float("f", float32(i)) }
	made := tree.New().Add("i", int64(0)).Add("f", float32(0))
	list := tree.List{made, tree.New().Add("i", int64(1)).Add("f", float32(1))}
	want := tree.New().Add("t", "<a>").Add("yes", true).Add("some", list).Add("one", tree.List{made}).
		Add("empty", tree.New()).Add("o", tree.New().Add("x", "y").Add("deep", tree.New().Add("n", -1))).Add("put", made).Add("puts", tree.List{made, made}).Add("z", "")
	draw := func(kept bool) *tree.Object {
		o := tree.Draw(func(m *tree.Members) {
			m.Text("t", "<a>").TextIf(false, "no", "x").Bool("yes", true).Each("some", 2, one).Each("none", 0, one).Each("one", 1, one).
				Object("empty", func(*tree.Members) {}).
				Object("o", func(m *tree.Members) {
					m.Text("x", "y").Object("deep", func(m *tree.Members) { m.Int("n", -1) })
				}).
				Put("put", made).PutEach("puts", 2, func(int) *tree.Object { return made }).PutEach("no", 0, nil).Text("z", "")
		})
		if kept {
			o.Keep()
		}
		return o
	}
	nothing := tree.Draw(func(*tree.Members) {})
	for _, c := range []struct{ want, got *tree.Object }{
		{want, draw(false)},
		{tree.New().Add("a", tree.List{want, want}), tree.New().Add("a", tree.List{draw(true), draw(false)})},
		{tree.New().Add("a", want).Add("b", want), func() *tree.Object { k := draw(true); return tree.New().Add("a", k).Add("b", k) }()},
		{tree.New().Add("a", tree.New()).Add("b", tree.New()), tree.New().Add("a", nothing).Add("b", nothing.Keep())},
	} {
		wantJSON, wantXML := written(t, tree.Document{Root: "r", Body: c.want})
		if gotJSON, gotXML := written(t, tree.Document{Root: "r", Body: c.got}); gotJSON != wantJSON || gotXML != wantXML {
			t.Errorf("%s\n%s\nwant\n%s\n%s", gotJSON, gotXML, wantJSON, wantXML)
		}
	}
}

// TestSince: members are written again as they were, at the beginning of an object and after others.
func TestSince(t *testing.T) {
	kept := map[bool][]byte{}
	late := map[bool][]byte{}
	first := tree.Document{Root: "r", Body: tree.Draw(func(m *tree.Members) {
		at := m.Mark()
		m.Text("a", strings.Repeat("x", 20<<10)).Int("b", 2)
		kept[m.XML()] = bytes.Clone(m.Since(at))
		at = m.Mark()
		if m.Since(at) != nil {
			t.Error("nothing was written")
		}
		m.Put("c", tree.New().Add("l", tree.List{1, 2})).Int("d", 4)
		late[m.XML()] = bytes.Clone(m.Since(at))
	})}
	again := tree.Document{Root: "r", Body: tree.Draw(func(m *tree.Members) {
		m.Written(kept[m.XML()]).Written(nil).Written(late[m.XML()])
	})}
	turned := tree.Document{Root: "r", Body: tree.Draw(func(m *tree.Members) { m.Written(late[m.XML()]).Int("e", 5) })}
	wantJSON, wantXML := written(t, first)
	if gotJSON, gotXML := written(t, again); gotJSON != wantJSON || gotXML != wantXML {
		t.Errorf("%.50s\n%.50s\nwant\n%.50s\n%.50s", gotJSON, gotXML, wantJSON, wantXML)
	}
	gotJSON, gotXML := written(t, turned)
	if gotJSON != `{"r":{"c":{"l":[1,2]},"d":4,"e":5}}` || gotXML != "<r><c><l>1</l><l>2</l></c><d>4</d><e>5</e></r>" {
		t.Errorf("%s\n%s", gotJSON, gotXML)
	}
}

// chunks keeps the sizes of writes.
type chunks struct {
	bytes.Buffer
	sizes []int
}

func (c *chunks) Write(b []byte) (int, error) {
	c.sizes = append(c.sizes, len(b))
	return c.Buffer.Write(b)
}

// TestChunks: a document is sent in chunks, which are larger once it turns out to be long.
func TestChunks(t *testing.T) {
	long := tree.Document{Root: "r", Body: tree.New().Add("n", tree.Stream(func(yield func(tree.Value) bool) {
		for i := range 40_000 {
			if !yield(tree.New().Add("i", int64(i)).Add("t", strings.Repeat("x", 100))) {
				return
			}
		}
	}))}
	var c chunks
	if err := tree.WriteJSON(&c, long); err != nil {
		t.Fatal(err)
	}
	var back struct{ R struct{ N []struct{ I int } } }
	if err := json.Unmarshal(c.Bytes(), &back); err != nil || len(back.R.N) != 40_000 || back.R.N[39_999].I != 39_999 {
		t.Fatalf("%d elements: %v", len(back.R.N), err)
	}
	if first, last := c.sizes[0], c.sizes[len(c.sizes)-2]; first < 32<<10 || first > 40<<10 || last < 256<<10 || last > 320<<10 {
		t.Errorf("the first chunk has %d bytes, the last but one %d", first, last)
	}
}

// held is a client that reads no more once a chunk is long.
type held struct {
	waits   chan<- struct{}
	goesOn  <-chan struct{}
	waiting bool
}

func (h *held) Write(b []byte) (int, error) {
	if len(b) >= 200<<10 && !h.waiting {
		h.waiting = true
		h.waits <- struct{}{}
		<-h.goesOn
	}
	return len(b), nil
}

// TestFewHaveLongChunks: clients that read slowly do not hold much memory, however many they are.
func TestFewHaveLongChunks(t *testing.T) {
	doc := func() tree.Document {
		return tree.Document{Root: "r", Body: tree.New().Add("n", tree.Stream(func(yield func(tree.Value) bool) {
			for range 3000 {
				if !yield(strings.Repeat("x", 1000)) {
					return
				}
			}
		}))}
	}
	waits, goesOn, done := make(chan struct{}), make(chan struct{}), make(chan error)
	for range 16 {
		go func() { done <- tree.WriteJSON(&held{waits: waits, goesOn: goesOn}, doc()) }()
		<-waits
	}
	longest := func() int {
		var c chunks
		if err := tree.WriteJSON(&c, doc()); err != nil {
			t.Fatal(err)
		}
		return slices.Max(c.sizes)
	}
	if n := longest(); n > 80<<10 {
		t.Errorf("one more document has chunks of %d bytes", n)
	}
	close(goesOn)
	for range 16 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := longest(); n < 256<<10 {
		t.Errorf("when they are done a document has chunks of %d bytes", n)
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
