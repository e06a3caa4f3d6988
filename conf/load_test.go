package conf

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// site builds options that serve files from memory.
func site(files map[string]string) Options {
	return Options{Read: memory(files)}
}

func mustLoad(t *testing.T, o Options) *Properties {
	t.Helper()
	p, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOriginsAndOrder(t *testing.T) {
	p := mustLoad(t, Options{
		Read: memory(map[string]string{
			"core-site.xml": "<configuration>\n<property>\n<name>b.x</name>\n <value>${a.y}!</value></property></configuration>",
			"yarn-site.xml": "<configuration>\n  <property name='a.y' value='1' final='true'/></configuration>",
		}),
		Overrides: []Override{{"b.z", "cli"}},
	})
	want := []Value{
		{Name: "b.x", Raw: "${a.y}!", Value: "1!", Origin: Origin{"core-site.xml", 4, 2}},
		{Name: "b.z", Raw: "cli", Value: "cli", Origin: Origin{"command line", 0, 0}},
	}
	if got := p.WithPrefix("b."); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if v, _ := p.Lookup("a.y"); !v.Final || v.Origin.Position() != "yarn-site.xml:2:3" {
		t.Errorf("a.y: %+v", v)
	}
	plain := Plain(p.Explicit())
	wantPlain := []Property{{"a.y", "1", "yarn-site.xml:2:3"}, {"b.x", "1!", "core-site.xml:4:2"}, {"b.z", "cli", "command line"}}
	if !slices.Equal(plain, wantPlain) {
		t.Errorf("plain: %v", plain)
	}
	if v, ok := p.Lookup("yarn.acl.enable"); !ok || !v.Origin.IsDefault() || v.Origin.String() != "yarn-default.xml" {
		t.Errorf("default: %+v", v)
	}
	if got := p.Files(); !slices.Equal(got, []string{"core-site.xml", "yarn-site.xml"}) {
		t.Errorf("files: %v", got)
	}
}

func TestWarnings(t *testing.T) {
	p := mustLoad(t, site(map[string]string{
		"core-site.xml": `<configuration>
<property name="fs.default.name" value="hdfs://a"/>
<property name="fs.default.name" value="hdfs://b"/>
<property name="yarn.acl.enable" value="true"/>
<property name="k.final" value="1" final="true"/>
<proprety name="x" value="y"/>
<property><value>v</value></property>
<property><name>k.spaced</name><value>v</value><final> true</final></property>
</configuration>`,
		"yarn-site.xml": `<conf>
<property name="k.final" value="2"/>
<property><name>yarn.admin.acl</name><value></value></property>
<property name="k.loop" value="${k.loop2}"/><property name="k.loop2" value="${k.loop}"/>
</conf>`,
	}))
	var got []string
	for _, w := range p.Warnings() {
		got = append(got, w.Error())
	}
	want := []string{
		`core-site.xml:6:1: element <proprety> is ignored, expected <property>`,
		`core-site.xml:7:11: a <property> without <name> is ignored`,
		`core-site.xml:8:60: <final> counts only as exactly <final>true</final>, without spaces: the property is not final`,
		`core-site.xml:2:1: fs.default.name = "hdfs://a": deprecated; taken as fs.defaultFS, use that name`,
		`core-site.xml:3:1: fs.defaultFS = "hdfs://b": replaces "hdfs://a" set at core-site.xml:2`,
		`core-site.xml:4:1: yarn.acl.enable = "true": has no effect in core-site.xml, yarn-default.xml is read after it: set it in yarn-site.xml`,
		`yarn-site.xml:1:1: the root element is <conf>, expected <configuration>`,
		`yarn-site.xml:2:1: k.final = "2": ignored, the property is final since core-site.xml:5`,
		`yarn-site.xml:3:38: yarn.admin.acl = "": an empty value changes nothing, "*" of yarn-default.xml stays`,
		`yarn-site.xml:4:1: k.loop = "${k.loop2}": expanding ${...} takes 20 rounds or more: look for variables that refer to each other`,
		`yarn-site.xml:4:45: k.loop2 = "${k.loop}": expanding ${...} takes 20 rounds or more: look for variables that refer to each other`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestBase merges a scheduler file over what was loaded before: variables see
// both, finals hold, and the first value is left alone.
func TestBase(t *testing.T) {
	files := map[string]string{
		"yarn-site.xml":          `<configuration><property name="locked" value="1" final="true"/><property name="share" value="30"/></configuration>`,
		"capacity-scheduler.xml": `<configuration><property name="locked" value="2"/><property name="yarn.scheduler.capacity.root.a.capacity" value="${share}"/></configuration>`,
	}
	base := mustLoad(t, site(files))
	o := site(files)
	o.Base, o.Files = base, []string{"capacity-scheduler.xml"}
	p := mustLoad(t, o)
	if got := p.Get("yarn.scheduler.capacity.root.a.capacity"); got != "30" {
		t.Errorf("capacity = %q", got)
	}
	if got := p.Get("locked"); got != "1" {
		t.Errorf("a final of the base was overridden with %q", got)
	}
	if _, ok := base.Lookup("yarn.scheduler.capacity.root.a.capacity"); ok {
		t.Error("the base was changed")
	}
	alone := site(files)
	alone.NoDefaults, alone.Files = true, []string{"capacity-scheduler.xml"}
	if p := mustLoad(t, alone); p.Len() != 2 || p.Get("locked") != "2" {
		t.Errorf("alone: %v", p.All())
	}
}

func TestExpansionIsBounded(t *testing.T) {
	big := strings.Repeat("x", 900_000)
	p := mustLoad(t, site(map[string]string{
		"yarn-site.xml": `<configuration><property name="big" value="` + big + `"/><property name="twice" value="${big}${big}"/></configuration>`,
	}))
	r := NewReader(p)
	if s := r.String("twice", "unset"); s != "unset" || r.Err() == nil {
		t.Errorf("%d bytes, %v", len(s), r.Err())
	}
	if !strings.Contains(r.Err().Error(), "longer than 1048576 bytes") {
		t.Error(r.Err())
	}
}

func TestLoadIsPure(t *testing.T) {
	o := recordedOptions("testdata/java/expand")
	a, b := mustLoad(t, o), mustLoad(t, o)
	if !slices.Equal(problemTexts(a.Warnings()), problemTexts(b.Warnings())) {
		t.Error("two loads of the same files warn differently")
	}
	for i, v := range a.All() {
		w := b.All()[i]
		if v.Name != w.Name || v.Value != w.Value || v.Origin != w.Origin {
			t.Fatalf("%+v and %+v", v, w)
		}
	}
}

func problemTexts(ps []Problem) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Error())
	}
	return out
}

func TestParseOverride(t *testing.T) {
	for arg, want := range map[string]Override{
		"a=b":    {"a", "b"},
		"a=b=c ": {"a", "b=c "},
		" a =":   {"a", ""},
	} {
		if got, err := ParseOverride(arg); err != nil || got != want {
			t.Errorf("%q: %v, %v", arg, got, err)
		}
	}
	for _, arg := range []string{"", "a", "=b", " =b"} {
		if _, err := ParseOverride(arg); err == nil {
			t.Errorf("%q was accepted", arg)
		}
	}
}

func TestLatin1(t *testing.T) {
	p := mustLoad(t, Options{NoDefaults: true, Files: []string{"f.xml"}, Read: memory(map[string]string{
		"f.xml": "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<configuration><property name=\"a\" value=\"\xfc\"/></configuration>",
	})})
	if got := p.Get("a"); got != "ü" {
		t.Errorf("got %q", got)
	}
}

func TestDefaults(t *testing.T) {
	p := shippedDefaults()
	if p.Len() < 700 || len(p.Warnings()) != 0 {
		t.Errorf("%d defaults, warnings %v", p.Len(), p.Warnings())
	}
	for name, want := range map[string]string{
		"yarn.resourcemanager.address":     "0.0.0.0:8032",
		"hadoop.tmp.dir":                   "/tmp/hadoop-${user.name}",
		"yarn.resourcemanager.cluster-id":  "",
		"topology.script.number.args":      "100",
		"hadoop.tags.system":               "YARN,HDFS,NAMENODE,DATANODE,REQUIRED,SECURITY,KERBEROS,PERFORMANCE,CLIENT\n      ,SERVER,DEBUG,DEPRECATED,COMMON,OPTIONAL",
		"yarn.resourcemanager.epoch.range": "0",
	} {
		if got := p.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if !known("yarn.resourcemanager.cluster-id") {
		t.Error("a property without a default is not known by name")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"<configuration><property><name>a</name><value>${b}</value></property></configuration>",
		`<configuration xmlns:xi="x"><xi:include href="g.xml"><xi:fallback><property name="a" value="1" final="true"/></xi:fallback></xi:include></configuration>`,
		"<!DOCTYPE x><a/>", "\xef\xbb\xbf<a/>", "<?xml version=\"1.0\" encoding=\"latin1\"?><a>\xe9</a>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(path string) ([]byte, error) { return data, nil }
		o := Options{NoDefaults: true, Files: []string{"f.xml"}, Read: read, Env: func(string) (string, bool) { return "${a}", true }}
		p, err := Load(o)
		if err != nil {
			var at Problem
			if !errors.As(err, &at) || at.Origin.File == "" || at.Text == "" {
				t.Errorf("the error names no file: %v", err)
			}
			return
		}
		for _, v := range p.All() {
			if v.Name == "" || v.Origin.Line == 0 || len(v.Value) > maxExpanded {
				t.Errorf("%+v", v)
			}
		}
		if _, err := ReadResourceManager(p); err != nil && err.Error() == "" {
			t.Error("an error without text")
		}
		UnsupportedByResourceManager(p)
	})
}

// shippedDefaults is Hadoop 3.5.0's core-default.xml and yarn-default.xml with no
// files, no environment and no system properties: ${user.name} stays as it is.
func shippedDefaults() *Properties {
	m := newMerger()
	m.add(defaultItems()[coreDefault], coreDefault)
	m.add(defaultItems()[yarnDefault], yarnDefault)
	return m.finish(variables{})
}
