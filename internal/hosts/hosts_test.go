package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func show(l *List) string {
	var words []string
	for _, e := range l.Entries() {
		w := e.Host
		if e.HasTimeout {
			w += fmt.Sprintf("=%d", e.Timeout)
		}
		if e.Deadline != 0 {
			w += fmt.Sprintf("@%d", e.Deadline)
		}
		if e.Reason != "" {
			w += "(" + e.Reason + ")"
		}
		words = append(words, w)
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
		{"marked as UTF-8", "a", "\xef\xbb\xbfn1\nn2", "n1 n2"},
		{"XML marked as UTF-8", "a.xml", "\xef\xbb\xbf<x><host><name>n1</name></host></x>", "n1"},
		{"JSON marked as UTF-8", "a.json", "\xef\xbb\xbf{\"exclude\":[{\"host\":\"n1\"}]}", "n1"},
		{"JSON", "a.json", `{"exclude":[{"host":"n1"}, {"host":"10.0.0.2","timeoutSecs":600,"reason":"disk"}, {"timeoutSecs":-1,"host":"n3"},
			{"host":"2001:db8::1","deadline":"2026-11-24T18:00:00.5+01:00","reason":"\u00fc"}]}`,
			"n1 10.0.0.2=600(disk) n3=-1 2001:db8::1@1795539600500(ü)"},
		{"JSON in capitals", "A.JSON", "\n{}\n", ""},
		{"JSON, last wins", "a.json", `{"exclude":[{"host":"n1","timeoutSecs":5},{"host":"n2"},{"host":"N1"}]}`, "N1 n2"},
		{"JSON, a deadline that is over", "a.json", `{"exclude":[{"host":"n1","deadline":"1970-01-01T00:00:00.001Z"}]}`, "n1@1"},
		{"JSON, the largest timeout", "a.json", `{"exclude":[{"host":"n1","timeoutSecs":2147483647},{"host":"n2","timeoutSecs":0}]}`, "n1=2147483647 n2=0"},
		{"JSON, the longest reason", "a.json", `{"exclude":[{"host":"n1","reason":"` + strings.Repeat("x", MaxReason) + `"}]}`, "n1(" + strings.Repeat("x", MaxReason) + ")"},
		{"escapes", "a.xml", `<x><host><name>n&#49;<![CDATA[0]]><b>1</b></name></host></x>`, "n101"},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		lists, err := Read("", path)
		l := lists.Exclude
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := show(l); got != c.want || l.Len() != len(strings.Fields(c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
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
		if e2, excluded2 := c.lists.Excluded(c.host, ""); !c.lists.NeedAddress(c.host) &&
			(e2 != e || excluded2 != excluded || c.lists.Valid(c.host, "") != c.lists.Valid(c.host, c.ip) || c.lists.Mentioned(c.host, "") != c.mentioned) {
			t.Errorf("%s %s: its address is needed", c.host, c.ip)
		}
		if c.lists.Included(c.host, c.ip) != c.included || c.lists.Mentioned(c.host, c.ip) != c.mentioned ||
			excluded != (c.excluded != "") || e.Host != c.excluded || c.lists.Valid(c.host, c.ip) != (c.included && !excluded) {
			t.Errorf("%s %s: %+v", c.host, c.ip, e)
		}
	}
	for _, c := range []struct {
		lists Lists
		host  string
		want  bool
	}{
		{none, "n1", false}, {excluding, "n9", false}, {both, "n1", false}, {both, "n2", false}, {both, "n9", true},
		{Lists{Unnamed: true}, "n1", true}, {Lists{Exclude: text("n1"), Unnamed: true}, "N1", false}, {Lists{Exclude: text("n1"), Unnamed: true}, "n2", true},
	} {
		if c.lists.Untracked(c.host, "") != c.want {
			t.Errorf("%s of %+v: untracked? not %t", c.host, c.lists, !c.want)
		}
	}
	for host, need := range map[string]bool{"n1": false, "n2": true, "10.0.0.9": false} {
		if excluding.NeedAddress(host) != need {
			t.Errorf("%s: is its address needed? not %v", host, need)
		}
	}
	including := Lists{Include: text("n1 10.0.0.3"), Exclude: text("n4")}
	for host, need := range map[string]bool{"n1": false, "n2": true, "n4": false} {
		if including.NeedAddress(host) != need || (Lists{Include: text("n1 n3"), Exclude: text("n4")}).NeedAddress(host) || none.NeedAddress(host) {
			t.Errorf("%s: is its address needed? not %v", host, need)
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

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`{"include":[{"host":"n1"}],"exclude":[{"host":"n2","timeoutSecs":600,"reason":"r"},{"host":"::1","deadline":"2026-11-24T18:00:00Z"}]}`))
	f.Add([]byte(`{"exclude":[{"host":"n1"},]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseJSON(data, Exclude, true)
		if _, err2 := ParseJSON(data, Include, true); (err == nil) != (err2 == nil) {
			t.Fatalf("%v for one list, %v for the other", err, err2)
		}
		if err != nil {
			return
		}
		if !json.Valid(bytes.TrimPrefix(data, byteOrderMark)) {
			t.Fatal("what is not JSON was taken")
		}
		for _, e := range l.Entries() {
			if found, ok := l.Find(e.Host, ""); !ok || found != e || e.Host == "" || e.HasTimeout && e.Deadline != 0 || e.Deadline < 0 {
				t.Fatalf("%+v: found %+v, %v", e, found, ok)
			}
		}
	})
}

// One file may be both lists, under one path or by a link; then each takes its own key. A key that nobody takes is refused.
func TestOneFileForBoth(t *testing.T) {
	dir := t.TempDir()
	file, link, other := filepath.Join(dir, "lists.json"), filepath.Join(dir, "link.json"), filepath.Join(dir, "other.json")
	for path, content := range map[string]string{file: `{"include":[{"host":"n1"},{"host":"n2"}],
		"exclude":[{"host":"n2","reason":"r"}]}`, other: `{"include":[{"host":"n3"}]}`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, exclude := range []string{file, link, dir + "/./lists.json"} {
		if l, err := Read(file, exclude); err != nil || show(l.Include) != "n1 n2" || show(l.Exclude) != "n2(r)" {
			t.Errorf("%s: %v, %v, %v", exclude, show(l.Include), show(l.Exclude), err)
		}
	}
	for _, c := range []struct {
		include, exclude, want string
		role                   Role
	}{
		{file, "", `line 2: "exclude" would be ignored: this is the file of the include list, and yarn.resourcemanager.nodes.exclude-path does not`, Include},
		{"", file, `line 1: "include" would be ignored: this is the file of the exclude list`, Exclude},
		{other, file, `line 1: "include" would be ignored`, Exclude},
		{file, other, `line 2: "exclude" would be ignored`, Include},
	} {
		_, err := Read(c.include, c.exclude)
		var failed *Error
		if !errors.As(err, &failed) || failed.Role != c.role || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), failed.Path) {
			t.Errorf("%s and %s: %v", c.include, c.exclude, err)
		}
	}
	if l, err := Read(other, ""); err != nil || show(l.Include) != "n3" || l.Exclude.Len() != 0 {
		t.Errorf("an include list alone: %v, %v", show(l.Include), err)
	}
	if l, err := Read("", ""); err != nil || l.Include.Len()+l.Exclude.Len() != 0 {
		t.Errorf("no lists: %v, %v", l, err)
	}
	gone := filepath.Join(dir, "gone")
	if _, err := Read(gone, gone); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), gone) != 1 {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A list of every form may have a hundred thousand hosts.
func TestManyHosts(t *testing.T) {
	const many = 100000
	var plain, marked, objects strings.Builder
	for i := range many {
		fmt.Fprintf(&plain, "n%d.example.org\n", i)
		fmt.Fprintf(&marked, "<host><name>n%d.example.org</name><timeout>%d</timeout></host>\n", i, i)
		fmt.Fprintf(&objects, "%s{\"host\":\"n%d.example.org\",\"timeoutSecs\":%d}", [...]string{",\n", ""}[max(0, 1-i)], i, i)
	}
	for name, content := range map[string]string{"a": plain.String(), "a.xml": "<hosts>" + marked.String() + "</hosts>", "a.json": `{"exclude":[` + objects.String() + "]}"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Read("", path)
		if err != nil || l.Exclude.Len() != many {
			t.Fatalf("%s: %v", name, err)
		}
		if e, ok := l.Excluded("N99999.example.org", ""); !ok || e.HasTimeout && e.Timeout != 99999 {
			t.Errorf("%s: %+v, %v", name, e, ok)
		}
	}
}

// A list that is replaced by rename while it is read is one version or the other, for both roles the same.
func TestReplacedWhileRead(t *testing.T) {
	dir := t.TempDir()
	path, fresh := filepath.Join(dir, "lists.json"), filepath.Join(dir, "lists.json.new")
	versions := [2]string{}
	for v := range versions {
		var hosts []string
		for i := range 300 {
			hosts = append(hosts, fmt.Sprintf(`{"host":"v%d-n%d"}`, v, i))
		}
		one := strings.Join(hosts, ",\n")
		versions[v] = fmt.Sprintf(`{"include":[%s],"exclude":[%s]}`, one, one)
	}
	replace := func(version string) {
		if err := os.WriteFile(fresh, []byte(version), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Rename(fresh, path); err != nil {
			t.Error(err)
		}
	}
	replace(versions[0])
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				replace(versions[i%2])
			}
		}
	}()
	for range 200 {
		l, err := Read(path, path)
		if err != nil || l.Include.Len() != 300 || show(l.Include) != show(l.Exclude) || strings.Count(show(l.Include), show(l.Include)[:3]) != 300 {
			t.Errorf("a mixture was read: %v", err)
			break
		}
	}
	close(stop)
	<-stopped
}
