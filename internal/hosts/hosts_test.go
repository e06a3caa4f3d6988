package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func show(l *List) string {
	var words []string
	for _, e := range l.Entries() {
		if w := e.Host; e.HasTimeout {
			words = append(words, fmt.Sprintf("%s=%d", w, e.Timeout))
		} else {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, file, content, want string
	}{
		{"empty", "a", "", ""},
		{"one a line", "a.txt", "n1\nn2\r\nn3", "n1 n2 n3"},
		{"several a line", "a", "  n1\tn2 n3\n\n\fn4\n", "n1 n2 n3 n4"},
		{"comments", "a", "# all\nn1 # n2 n3\nn4 #n5\nn6#x\n", "n1 n4 n6#x"},
		{"twice", "a", "n1 n2 N1", "N1 n2"},
		{"xml", "a.xml", `<?xml version="1.0"?><!-- c --><hosts><host><name>n1</name></host>
			<host><name> n2 ,n3,, </name><timeout>1800</timeout></host><host><timeout>-1</timeout><name>n4</name></host></hosts>`,
			"n1 n2=1800 n3=1800 n4=-1"},
		{"xml in capitals", "A.XML", `<h><host><name>n1</name></host></h>`, "n1"},
		{"anywhere, last wins", "a.xml", `<x><y><host><name>n1</name><timeout>5</timeout></host></y><host><name>n2</name></host><host><name>n1</name></host></x>`, "n1 n2"},
		{"first name and timeout", "a.xml", `<x><host><name>n1</name><name>n2</name><z><timeout> 7 </timeout></z><timeout>8</timeout></host></x>`, "n1=7"},
		{"no names", "a.xml", `<x><host/><host><name/></host><name>n9</name></x>`, ""},
		{"escapes", "a.xml", `<x><host><name>n&#49;<![CDATA[0]]><b>1</b></name></host></x>`, "n101"},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := ReadFile(path)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := show(l); got != c.want || l.Len() != len(strings.Fields(c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat("<a>", maxDepth+1)
	for _, c := range []struct{ file, content, want string }{
		{"a.xml", "", "no root element"},
		{"a.xml", "<hosts>\n<host>", "line 2: XML syntax error"},
		{"a.xml", "<a/><b/>", "a second root element"},
		{"a.xml", "<a/>n1", "text outside"},
		{"a.xml", "n1 n2", "text outside"},
		{"a.xml", `<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>`, "document types"},
		{"a.xml", "<a>&e;</a>", "invalid character entity"},
		{"a.xml", deep, "nest deeper than 16"},
		{"a.xml", "<a><host><x><host/></x></host></a>", "a host element within another"},
		{"a.xml", "<a>\n\n<host><name>n</name><timeout>soon</timeout></host></a>", `line 3: timeout "soon" is not`},
		{"a.xml", "<a><host><name>n</name><timeout/></host></a>", `timeout "" is not`},
		{"a.xml", "<a><host><name>n</name><timeout>3000000000</timeout></host></a>", "is not a whole number"},
		{"a.xml", `<?xml version="1.0" encoding="UTF-16"?><a/>`, "encoding"},
		{"a.json", "{}", "lists in JSON are not supported"},
		{"a", "ok\n" + strings.Repeat("x", MaxName+1), "line 2: host name of 256 bytes"},
		{"a", "\xff\xfe", "not UTF-8"},
		{"a", strings.Repeat("\n", MaxFile+1), "larger than"},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := ReadFile(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%.60q: %v, %v; want %q", c.content, l, err, c.want)
		}
	}
	if _, err := ReadFile("/does/not/exist"); err == nil {
		t.Error("a missing file was read")
	}
	if l, err := ReadFile(""); err != nil || l.Len() != 0 {
		t.Errorf("no file: %v, %v", l, err)
	}
}

func TestMatching(t *testing.T) {
	list := func(s string) *List {
		l, err := ParseXML([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	text := func(s string) *List {
		l, err := ParseText([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	none := Lists{}
	excluding := Lists{Exclude: list("<x><host><name>n1,10.0.0.2, 2001:DB8::0:3</name><timeout>9</timeout></host></x>")}
	both := Lists{Include: text("n1 n2 10.0.0.3"), Exclude: text("n1")}
	for _, c := range []struct {
		lists               Lists
		host, ip            string
		included, mentioned bool
		excluded            string
	}{
		{none, "n1", "10.0.0.1", true, false, ""},
		{excluding, "n1", "", true, true, "n1"},
		{excluding, "N1", "10.0.0.9", true, true, "n1"},
		{excluding, "n1.example.org", "10.0.0.9", true, false, ""}, // short names are not looked up
		{excluding, "n2", "10.0.0.2", true, true, "10.0.0.2"},
		{excluding, "n2", "::ffff:10.0.0.2", true, true, "10.0.0.2"},
		{excluding, "n3", "2001:db8:0:0:0:0:0:3", true, true, "2001:DB8::0:3"},
		{excluding, "", "", true, false, ""},
		{both, "n1", "", true, true, "n1"},
		{both, "n2", "", true, true, ""},
		{both, "n3", "10.0.0.3", true, true, ""},
		{both, "n4", "10.0.0.4", false, false, ""},
	} {
		e, excluded := c.lists.Excluded(c.host, c.ip)
		if c.lists.Included(c.host, c.ip) != c.included || c.lists.Mentioned(c.host, c.ip) != c.mentioned ||
			excluded != (c.excluded != "") || e.Host != c.excluded || c.lists.Valid(c.host, c.ip) != (c.included && !excluded) {
			t.Errorf("%s %s: %+v", c.host, c.ip, e)
		}
	}
	if e, _ := excluding.Excluded("other", "10.0.0.2"); !e.HasTimeout || e.Timeout != 9 {
		t.Errorf("an entry by address has no timeout: %+v", e)
	}
}

func FuzzParseXML(f *testing.F) {
	f.Add([]byte(`<hosts><host><name>a,b</name><timeout>1800</timeout></host></hosts>`))
	f.Add([]byte(`<a><host><name>a</name><b><host/></b></host></a>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseXML(data)
		if err != nil {
			return
		}
		for _, e := range l.Entries() {
			if found, ok := l.Find(e.Host, ""); !ok || found != e || e.Host == "" || e.Host != strings.TrimSpace(e.Host) {
				t.Fatalf("%+v: found %+v, %v", e, found, ok)
			}
		}
	})
}
