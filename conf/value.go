package conf

import (
	"fmt"
	"sort"
	"strings"
)

// Origin says where a value was written. Line and Column count from 1; both
// are 0 when the source has no lines (embedded defaults, the command line).
type Origin struct {
	File         string
	Line, Column int
}

// String renders "file:line", or just the file when there are no lines. It is
// the opaque origin string that pure packages carry around.
func (o Origin) String() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Position renders "file:line:column" for error messages.
func (o Origin) Position() string {
	if o.Line == 0 || o.Column == 0 {
		return o.String()
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
}

// IsDefault reports whether the value comes from Hadoop's built-in defaults
// rather than from somebody's file or command line.
func (o Origin) IsDefault() bool {
	return o.Line == 0 && (o.File == coreDefault || o.File == yarnDefault)
}

// Value is one property as it ended up after merging.
type Value struct {
	Name   string
	Raw    string // as written, untrimmed
	Value  string // Raw with ${variables} expanded; Raw itself if that failed
	Origin Origin
	Final  bool // marked final somewhere: later files could not change it

	expandErr error
	from      string // the name with an rm-id that the value comes from; see one
}

// Property is a value for packages that know nothing of files: Origin is an
// opaque "file:line" to show to people.
type Property struct {
	Name, Value, Origin string
}

// Properties is an immutable set of merged properties.
type Properties struct {
	values   map[string]Value
	names    []string // sorted
	warnings []Problem
	files    []string
	hdfsSite string            // where hdfs-site.xml is, or would be; "" if none was looked for
	final    map[string]Origin // where each final name was locked, unset names too
	vars     variables
	merged   map[string]Value // before addresses with an rm-id stood in for others; see one
	one      one
	here     []string // the rm-ids of this machine; see merger.here
}

// Lookup finds a property by its current or its deprecated name; the Value
// returned carries the current one.
func (p *Properties) Lookup(name string) (Value, bool) {
	v, ok := p.values[CurrentName(trim(name))]
	return v, ok
}

// Get returns the expanded value, untrimmed, or "" when the property is unset.
func (p *Properties) Get(name string) string {
	v, _ := p.Lookup(name)
	return v.Value
}

// Len is the number of properties set, defaults included.
func (p *Properties) Len() int { return len(p.names) }

// All lists every property, sorted by name.
func (p *Properties) All() []Value { return p.WithPrefix("") }

// WithPrefix lists the properties whose name starts with prefix, sorted by
// full name.
func (p *Properties) WithPrefix(prefix string) []Value {
	var out []Value
	for _, n := range p.names[sort.SearchStrings(p.names, prefix):] {
		if !strings.HasPrefix(n, prefix) {
			break
		}
		out = append(out, p.values[n])
	}
	return out
}

// PropsWithPrefix is Configuration.getPropsWithPrefix: expanded values by name
// with the prefix cut off. The name equal to the prefix has the key "".
func (p *Properties) PropsWithPrefix(prefix string) map[string]string {
	out := map[string]string{}
	for _, v := range p.WithPrefix(prefix) {
		out[v.Name[len(prefix):]] = v.Value
	}
	return out
}

// Explicit lists the properties that somebody set: no defaults, and no properties
// that an address with an rm-id stands in for.
func (p *Properties) Explicit() []Value {
	var out []Value
	for _, n := range p.names {
		if v := p.values[n]; !v.Origin.IsDefault() && v.from == "" {
			out = append(out, v)
		}
	}
	return out
}

// Warnings are the oddities met while loading, in the order met: deprecated
// names, overridden finals, duplicates, values that cannot be expanded.
func (p *Properties) Warnings() []Problem { return append([]Problem(nil), p.warnings...) }

// Files lists the files read, includes too, in the order read.
func (p *Properties) Files() []string { return append([]string(nil), p.files...) }

// Plain converts values to the form the pure packages take.
func Plain(values []Value) []Property {
	out := make([]Property, len(values))
	for i, v := range values {
		out[i] = Property{Name: v.Name, Value: v.Value, Origin: v.Origin.Position()}
	}
	return out
}
