package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
)

// many marks an option that takes any number of values.
const many = -1

// option is one option of a subcommand.
type option struct {
	name     string // after the dash, "list"
	long     string // a second, longer name, or ""
	arg      string // placeholder of its value in usage texts; "" for a flag
	values   int    // how many values at most: 0, 1, 2, … or many
	separate byte   // splits one word into several values; 0 for none
	optional bool   // the value may be missing
	help     string // what it does, in one or two sentences
	absent   string // of one that Hadoop has and Heddle has not: what is said of it behind its name; usage texts leave it out
}

// errMissing is an option without its value.
type errMissing struct{ option string }

func (e errMissing) Error() string { return "Missing argument for option: " + e.option }

// parsed are the options and words of a command line.
type parsed struct {
	values map[string][]string // by option name; present but empty for flags
	words  []string            // what no option took
}

func (p *parsed) has(name string) bool { _, ok := p.values[name]; return ok }

// first is the first value of an option, or "".
func (p *parsed) first(name string) string {
	if v := p.values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (p *parsed) all(name string) []string { return p.values[name] }

// only tells whether no option besides those named was given.
func (p *parsed) only(names ...string) bool {
	for n := range p.values {
		if !slices.Contains(names, n) {
			return false
		}
	}
	return true
}

// parse reads a command line as Hadoop's tools do: one dash or two, values in
// the next words or after "=". A word that is not a known option is a value of
// the option before it if that still takes one, even if it begins with a dash
// (compat: commons-cli's GnuParser). An unknown option is a javaError, a missing
// value errMissing.
func parse(options []option, args []string) (*parsed, error) {
	p := &parsed{values: map[string][]string{}}
	words := flatten(options, args)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
			p.words = append(p.words, words[i+1:]...)
			return p, nil
		case w == "-" || !strings.HasPrefix(w, "-"):
			p.words = append(p.words, w)
			continue
		}
		o := find(options, w)
		if o == nil {
			return nil, javaError{"org.apache.commons.cli.UnrecognizedOptionException", "Unrecognized option: " + w}
		}
		n := o.take(p, options, words[i+1:])
		if n == 0 && o.values != 0 && !o.optional {
			return nil, errMissing{o.name}
		}
		i += n
	}
	return p, nil
}

// take adds the option with its values and returns how many words it used.
func (o *option) take(p *parsed, options []option, words []string) int {
	got := p.values[o.name]
	own, used := 0, 0
	for _, w := range words {
		if o.values != many && own >= o.values || strings.HasPrefix(w, "-") && find(options, w) != nil || w == "--" {
			break
		}
		limit := many
		if o.values != many {
			limit = o.values - own
		}
		parts := o.split(unquote(w), limit)
		got = append(got, parts...)
		own += len(parts)
		used++
	}
	if got == nil {
		got = []string{}
	}
	p.values[o.name] = got
	return used
}

func (o *option) split(w string, limit int) []string {
	if o.separate == 0 {
		return []string{w}
	}
	return strings.SplitN(w, string(o.separate), limit)
}

func unquote(w string) string {
	if len(w) >= 2 && w[0] == '"' && w[len(w)-1] == '"' {
		return w[1 : len(w)-1]
	}
	return w
}

// find looks an option up by its word, "-list" or "--list".
func find(options []option, word string) *option {
	name := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	for i := range options {
		if o := &options[i]; name == o.name || o.long != "" && name == o.long {
			return o
		}
	}
	return nil
}

// flatten splits "-name=value" into two words.
func flatten(options []option, args []string) []string {
	var out []string
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		if name, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(a, "-") && find(options, a) == nil {
			if o := find(options, name); o != nil {
				out = append(out, name, value)
				continue
			}
		}
		out = append(out, a)
	}
	return out
}

// ownWords splits a command line where another program's begins: at the first
// word that is neither an option nor the value of one, or after "--".
func ownWords(options []option, args []string) (own, program []string) {
	options = append([]option{{name: "output", values: 1}}, options...)
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			return args[:i], args[i+1:]
		case word == "-" || !strings.HasPrefix(word, "-"):
			return args[:i], args[i:]
		}
		if o := find(options, word); o != nil && o.values != 0 {
			i++
		}
	}
	return args, nil
}

// generic are the options that every one of Hadoop's tools takes before its own.
var generic = []option{
	{name: "conf", arg: "configuration file", values: many, help: "read one more configuration file"},
	{name: "D", arg: "property=value", values: many, help: "set a property, stronger than any file"},
	{name: "fs", arg: "file:///|hdfs://namenode:port", values: 1, help: "default file system, in place of fs.defaultFS"},
	{name: "jt", arg: "local|resourcemanager:port", values: 1, help: "ResourceManager to talk to"},
	{name: "files", arg: "file1,...", values: 1, help: "accepted; only jobs copy files to the cluster"},
	{name: "libjars", arg: "jar1,...", values: 1, help: "accepted; only jobs have a class path"},
	{name: "archives", arg: "archive1,...", values: 1, help: "accepted; only jobs unpack archives"},
	{name: "tokenCacheFile", arg: "tokensFile", values: 1, help: ""},
}

// genericOptions cuts the generic options off the front of a command line. Files that they
// name must be there.
func genericOptions(args []string) (g genericValues, rest []string, err error) {
	for len(args) > 0 {
		word := args[0]
		if strings.HasPrefix(word, "-D") && len(word) > 2 && !strings.HasPrefix(word, "-D=") {
			g.properties, args = append(g.properties, word[2:]), args[1:]
			continue
		}
		o := find(generic, word)
		if o == nil {
			return g, args, nil
		}
		if len(args) < 2 {
			return g, nil, fmt.Errorf("option -%s needs <%s>", o.name, o.arg)
		}
		if err := o.exists(args[1]); err != nil {
			return g, nil, err
		}
		switch o.name {
		case "D":
			g.properties = append(g.properties, args[1])
		case "conf":
			g.files = append(g.files, args[1])
		case "fs":
			g.properties = append(g.properties, "fs.defaultFS="+args[1])
		case "jt":
			g.properties = append(g.properties, "yarn.resourcemanager.address="+args[1])
		}
		args = args[2:]
	}
	return g, args, nil
}

// exists checks that the local files which an option names exist. No command here reads them, but a job would.
func (o *option) exists(value string) error {
	if !slices.Contains([]string{"files", "libjars", "archives", "tokenCacheFile"}, o.name) {
		return nil
	}
	for _, name := range strings.Split(value, ",") {
		if name == "" {
			return illegalArgument("File name can't be empty string")
		}
		path, _, _ := strings.Cut(name, "#") // after # comes the file's name on the nodes
		if u, err := url.Parse(path); err == nil && u.Scheme == "file" {
			path = u.Path
			name = "file:" + path
		} else if err == nil && u.Scheme != "" || strings.HasSuffix(path, "*") {
			continue
		} else if o.name == "tokenCacheFile" {
			name = "file:" + path
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return javaError{"java.io.FileNotFoundException", "File " + name + " does not exist"}
		}
	}
	return nil
}

// genericValues are what the generic options said.
type genericValues struct {
	properties []string // name=value
	files      []string
}

// outputFormat cuts --output FORMAT, with one dash or two, out of a command line.
func outputFormat(args []string) (format string, rest []string, err error) {
	const known = "text, json, yaml or wide"
	format = formatText
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(args[i], "=")
		if name != "--output" && name != "-output" {
			rest = append(rest, args[i])
			continue
		}
		if !inline {
			if i++; i >= len(args) {
				return "", nil, fmt.Errorf("option --output needs a format: " + known)
			}
			value = args[i]
		}
		format = value
	}
	if !slices.Contains([]string{formatText, formatJSON, formatYAML, formatWide}, format) {
		return "", nil, fmt.Errorf("--output %s: no such format; use "+known, format)
	}
	return format, rest, nil
}
