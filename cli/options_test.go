package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var sample = []option{
	{name: "list"},
	{name: "lnl", long: "list-node-labels"},
	{name: "status", arg: "x", values: 1},
	{name: "pair", arg: "x", values: 2},
	{name: "kill", arg: "x", values: many, separate: ' '},
	{name: "states", arg: "x", values: many, separate: ','},
	{name: "g", long: "graceful", arg: "x", values: 1, optional: true},
}

// show prints options and words in the order of the table.
func show(p *parsed) string {
	var b strings.Builder
	for _, o := range sample {
		if p.has(o.name) {
			fmt.Fprintf(&b, "%s%v ", o.name, p.all(o.name))
		}
	}
	return fmt.Sprintf("%s| %s", b.String(), strings.Join(p.words, " "))
}

func TestParse(t *testing.T) {
	for _, x := range []struct{ line, want string }{
		{"", "| "},
		{"-list", "list[] | "},
		{"--list", "list[] | "},
		{"-list word -", "list[] | word -"},
		{"-lnl", "lnl[] | "},
		{"--list-node-labels", "lnl[] | "},
		{"-list-node-labels", "lnl[] | "},
		{"-status a", "status[a] | "},
		{"-status=a", "status[a] | "},
		{"--status=a=b", "status[a=b] | "},
		{`-status "a"`, "status[a] | "},
		{"-status a b", "status[a] | b"},
		{"-status -x", "status[-x] | "}, // compat: an unknown option is a value
		{"-pair a b c", "pair[a b] | c"},
		{"-pair a -list", "list[] pair[a] | "},
		{"-kill a b -list", "list[] kill[a b] | "},
		{"-kill a -kill b", "kill[a b] | "},
		{"-states a,b c", "states[a b c] | "},
		{"-states=a,b", "states[a b] | "},
		{"-g", "g[] | "},
		{"-g 5 -list", "list[] g[5] | "},
		{"-graceful 5", "g[5] | "},
		{"-g -list", "list[] g[] | "},
		{"-list -- -status x", "list[] | -status x"},
		{"-status", "missing status"},
		{"-status -list", "missing status"},
		{"-kill -list", "missing kill"},
		{"-bogus", "Unrecognized option: -bogus"},
		{"-list --bogus=1", "Unrecognized option: --bogus=1"},
	} {
		p, err := parse(sample, strings.Fields(x.line))
		got := ""
		var none errMissing
		var java javaError
		switch {
		case errors.As(err, &none):
			got = "missing " + none.option
		case errors.As(err, &java):
			got = java.message
		default:
			got = show(p)
		}
		if got != x.want {
			t.Errorf("%q: %s, want %s", x.line, got, x.want)
		}
	}
}

func TestGenericOptionsComeFirst(t *testing.T) {
	g, rest, err := genericOptions(strings.Fields("-D a=b -Dc=d=e -conf f.xml -fs hdfs://x -jt rm:1 -files options_test.go,hdfs:///x,. -list -D later=1"))
	if err != nil || strings.Join(g.properties, " ") != "a=b c=d=e fs.defaultFS=hdfs://x yarn.resourcemanager.address=rm:1" ||
		strings.Join(g.files, " ") != "f.xml" || strings.Join(rest, " ") != "-list -D later=1" {
		t.Errorf("%+v %v %v", g, rest, err)
	}
	for words, want := range map[string]string{"-files .,none.txt": "java.io.FileNotFoundException: File none.txt does not exist", "-archives none.zip#x": "File none.zip#x does not",
		"-libjars file:///none.jar": "File file:/none.jar does not", "-tokenCacheFile none": "File file:none does not", "-files ,": "java.lang.IllegalArgumentException: File name can't be empty string"} {
		if _, _, err := genericOptions(strings.Fields(words + " -list")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", words, err)
		}
	}
	if _, _, err := genericOptions([]string{"-D"}); err == nil || !strings.Contains(err.Error(), "property=value") {
		t.Error(err)
	}
}

func TestOutputFormat(t *testing.T) {
	for _, x := range []struct{ line, format, rest, err string }{
		{"-list", "text", "-list", ""},
		{"-list --output json -all", "json", "-list -all", ""},
		{"-output=json -list", "json", "-list", ""},
		{"--output", "", "", "needs a format"},
		{"--output yaml", "yaml", "", ""},
		{"-list --output=wide x", "wide", "-list x", ""},
		{"--output csv", "", "", "no such format"},
	} {
		format, rest, err := outputFormat(strings.Fields(x.line))
		if format != x.format || strings.Join(rest, " ") != x.rest || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%q: %q %q %v", x.line, format, rest, err)
		}
	}
}

// testdata/options.tsv lists the options of Hadoop's own tools.
func TestEveryOptionOfHadoopIsKnown(t *testing.T) {
	b, err := os.ReadFile("testdata/options.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")[1:]
	if len(lines) < 60 {
		t.Fatalf("only %d options", len(lines))
	}
	for _, line := range lines {
		f := strings.Split(line, "\t")
		k := lookUp(f[0])
		o := find(k.options, f[1])
		if o == nil {
			t.Errorf("%s %s is missing", f[0], f[1])
			continue
		}
		arg := ""
		if o.arg != "" {
			arg = "<" + o.arg + ">"
		}
		if o.arg == "" != (o.values == 0) || arg != f[3] || o.long != strings.TrimPrefix(f[2], "--") {
			t.Errorf("%s %s: %q %q, want %q %q", f[0], f[1], o.long, arg, f[2], f[3])
		}
	}
}

func TestUsageLayout(t *testing.T) {
	var b strings.Builder
	writeUsage(&b, "title", []option{
		{name: "beta", arg: "x", help: "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"},
		{name: "Alpha", long: "other", help: strings.Repeat("abcdefghi", 8)},
	})
	want := "usage: title\n" +
		" -Alpha,--other\n" +
		"                  abcdefghiabcdefghiabcdefghiabcdefghiabcdefghiabcdefghiab\n" +
		"                  cdefghiabcdefghi\n" +
		" -beta <x>        one two three four five six seven eight nine ten eleven\n" +
		"                  twelve thirteen fourteen\n"
	same(t, "usage", b.String(), want)
}

func TestTableHasNoTwins(t *testing.T) {
	var names []string
	for _, k := range table() {
		names = append(names, k.name)
		if k.alias != "" {
			names = append(names, k.alias)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error(names)
	}
	for _, k := range table() {
		seen := map[string]bool{}
		for _, o := range k.options {
			if seen[o.name] || o.help == "" {
				t.Errorf("%s -%s: twice, or without help", k.name, o.name)
			}
			seen[o.name] = true
		}
		if k.summary == "" || k.group == "" || k.kind == clientCommand && k.run == nil {
			t.Errorf("%s is incomplete", k.name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-list -states a,b -kill x y --output=json -D a=b -- z")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		_, rest, err := genericOptions(args)
		if err != nil {
			return
		}
		if p, err := parse(sample, rest); err == nil && len(p.words) > len(rest) {
			t.Fatalf("%q gave %d words", line, len(p.words))
		}
	})
}
