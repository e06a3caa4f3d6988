package conf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Override is a property given on the command line (-D name=value). It wins
// over every file and over final, as in Hadoop.
type Override struct{ Name, Value string }

// ParseOverride splits "name=value". The value may be empty or hold more
// equals signs.
func ParseOverride(arg string) (Override, error) {
	name, value, ok := strings.Cut(arg, "=")
	if name = trim(name); !ok || name == "" {
		return Override{}, fmt.Errorf("-D %s: expected -D name=value", arg)
	}
	return Override{name, value}, nil
}

// Options say what to load. The zero value of every field but Dir is usable.
type Options struct {
	// Dir holds the files (HADOOP_CONF_DIR).
	Dir string
	// Files are merged in order after the standard set, which is core-site.xml
	// and yarn-site.xml between the defaults, and hdfs-site.xml. The standard
	// files may be absent, these must exist unless Optional is true.
	Files    []string
	Optional bool
	// Base takes the place of the standard set, finals included: a scheduler
	// file over what was loaded before, for example.
	Base *Properties
	// NoDefaults loads Files alone (hadoop-policy.xml, resource-types.xml).
	NoDefaults bool
	// Env answers ${env.NAME}: os.LookupEnv for daemons. Nil means none, or
	// Base's.
	Env func(string) (string, bool)
	// System answers the JVM's properties such as ${user.name}; see
	// variables. Nil means none, or Base's.
	System map[string]string
	// Local tells whether a host is this machine. The ResourceManager sets it: where
	// the files name several ResourceManagers it takes the addresses of the one on
	// its own machine. Everybody else leaves it nil; see one.
	Local func(host string) bool
	// Overrides are merged on top of everything.
	Overrides []Override
	// Read replaces the file system, for tests and for configuration that
	// arrives over the wire. A missing file is fs.ErrNotExist.
	Read func(path string) ([]byte, error)
}

// loading is the state of one Load.
type loading struct {
	read       func(string) ([]byte, error)
	warnings   []Problem
	files      []string
	hdfsSite   string   // path of the standard set's
	stack      []string // files being parsed, outermost first
	includes   int
	properties int
}

func (l *loading) warn(p Problem) {
	if len(l.warnings) < maxWarnings {
		l.warnings = append(l.warnings, p)
	}
}

func (l *loading) countProperty(at Origin) error {
	if l.properties++; l.properties > MaxProperties {
		return Problem{Origin: at, Text: fmt.Sprintf("more than %d properties", MaxProperties)}
	}
	return nil
}

// path is where a file lies: below the directory, unless its name is absolute.
func (o Options) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(o.Dir, name)
}

// Load reads and merges configuration. Nothing is remembered between calls.
// The error is a Problem naming file, line and column, or an I/O error naming
// the path.
func Load(o Options) (*Properties, error) {
	l := &loading{read: o.Read}
	if l.read == nil {
		l.read = ReadFile
	}
	m := newMerger()
	m.load = l
	if err := m.layers(o); err != nil {
		return nil, err
	}
	for _, d := range o.Overrides {
		if err := m.override(d); err != nil {
			return nil, err
		}
	}
	vars := variables{env: o.Env, system: o.System}
	if o.Base != nil {
		if vars.env == nil {
			vars.env = o.Base.vars.env
		}
		if vars.system == nil {
			vars.system = o.Base.vars.system
		}
	}
	m.local = o.Local
	return m.finish(vars), nil
}

// layers merges the files in Hadoop's order.
func (m *merger) layers(o Options) error {
	switch {
	case o.Base != nil:
		m.base(o.Base)
	case o.NoDefaults:
	default:
		if err := m.standard(o.Dir); err != nil {
			return err
		}
	}
	for _, name := range o.Files {
		if err := m.file(o.path(name), o.Optional); err != nil {
			return err
		}
	}
	return nil
}

// standard is core-default, core-site, yarn-default, yarn-site, hdfs-site.
// compat: a property of yarn-default.xml wins over core-site.xml, because YARN
// adds its defaults after the core's files. HDFS's file comes last, because
// Hadoop adds it when it first uses a file system.
func (m *merger) standard(dir string) error {
	m.add(defaultItems()[coreDefault], coreDefault)
	if err := m.file(filepath.Join(dir, coreSite), true); err != nil {
		return err
	}
	m.add(defaultItems()[yarnDefault], yarnDefault)
	if err := m.file(filepath.Join(dir, yarnSite), true); err != nil {
		return err
	}
	m.load.hdfsSite = filepath.Join(dir, hdfsSite)
	return m.file(m.load.hdfsSite, true)
}

func (m *merger) file(path string, optional bool) error {
	items, err := m.load.parse(path)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	m.add(items, path)
	return nil
}

// parse reads one file and everything it includes.
func (l *loading) parse(path string) ([]item, error) {
	data, err := l.read(path)
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	if len(data) > MaxFileBytes {
		return nil, Problem{Origin: Origin{File: path}, Text: fmt.Sprintf("the file is larger than %d bytes", MaxFileBytes)}
	}
	l.files = append(l.files, path)
	l.stack = append(l.stack, path)
	defer func() { l.stack = l.stack[:len(l.stack)-1] }()
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	p := &parser{load: l, file: path, data: data}
	return p.parse()
}

// included parses href, a bare name, next to the file that includes it.
func (l *loading) included(from, href string) ([]item, error) {
	path := filepath.Join(filepath.Dir(from), href)
	for _, open := range l.stack {
		if open == path {
			return nil, fmt.Errorf("the file includes itself")
		}
	}
	if len(l.stack) > maxIncludeDepth {
		return nil, fmt.Errorf("files are included more than %d deep", maxIncludeDepth)
	}
	if l.includes++; l.includes > maxIncludes {
		return nil, fmt.Errorf("more than %d files are included", maxIncludes)
	}
	return l.parse(path)
}

// ReadFile reads a regular file of at most MaxFileBytes.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // before opening: opening a pipe would wait
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
}

// merger applies items in order, by Hadoop's rules.
type merger struct {
	load   *loading
	values map[string]Value
	final  map[string]Origin
	told   map[string]bool // deprecated names warned about
	before string          // the rm-id that the base has chosen
	local  func(host string) bool
}

func newMerger() *merger {
	return &merger{load: &loading{}, values: map[string]Value{}, final: map[string]Origin{}, told: map[string]bool{}}
}

func (m *merger) base(p *Properties) {
	maps.Copy(m.values, p.merged)
	m.before = p.one.id
	maps.Copy(m.final, p.final)
	m.load.files = append(m.load.files, p.files...)
	m.load.hdfsSite = p.hdfsSite
}

// add merges one resource.
func (m *merger) add(items []item, resource string) {
	seen := map[string]item{}
	for _, it := range items {
		it = m.renamed(it)
		m.duplicate(seen, it)
		m.set(it, resource)
	}
}

// renamed maps a deprecated name, with one warning for each.
func (m *merger) renamed(it item) item {
	current := CurrentName(it.name)
	if current != it.name && !m.told[it.name] && !it.origin.IsDefault() {
		m.told[it.name] = true
		m.load.warn(Problem{Name: it.name, Value: it.value, Origin: it.origin, Text: "deprecated; taken as " + current + ", use that name", Harmless: true})
	}
	it.name = current
	return it
}

func (m *merger) duplicate(seen map[string]item, it item) {
	before, ok := seen[it.name]
	if ok && before.value != it.value && !before.final && it.set && !it.origin.IsDefault() {
		m.load.warn(Problem{Name: it.name, Value: it.value, Origin: it.origin,
			Text: fmt.Sprintf("replaces %q set at %s", clip(before.value), before.origin)})
	}
	if it.set {
		seen[it.name] = it
	}
}

func (m *merger) set(it item, resource string) {
	old, had := m.values[it.name]
	locked, isFinal := m.final[it.name]
	switch {
	case !it.set:
		if had && old.Raw != "" && !it.origin.IsDefault() {
			m.load.warn(Problem{Name: it.name, Origin: it.origin,
				Text: fmt.Sprintf("an empty value changes nothing, %q of %s stays", clip(old.Raw), old.Origin)})
		}
	case isFinal:
		if had && old.Raw != it.value && !it.origin.IsDefault() {
			m.load.warn(Problem{Name: it.name, Value: it.value, Origin: it.origin,
				Text: fmt.Sprintf("ignored, the property is final since %s", locked)})
		}
	default:
		if had && resource == yarnDefault && !old.Origin.IsDefault() {
			m.load.warn(Problem{Name: it.name, Value: old.Raw, Origin: old.Origin,
				Text: "has no effect in core-site.xml, yarn-default.xml is read after it: set it in yarn-site.xml"})
		}
		m.values[it.name] = Value{Name: it.name, Raw: it.value, Origin: it.origin}
	}
	// compat: a property without a value can still be final, which keeps
	// later files from giving it one.
	if it.final && !isFinal {
		m.final[it.name] = it.origin
	}
}

// override merges a command-line property.
func (m *merger) override(d Override) error {
	at := Origin{File: "command line"}
	name := trim(d.Name)
	if name == "" || len(name) > MaxNameBytes || len(d.Value) > MaxValueBytes {
		return Problem{Name: clip(name), Value: d.Value, Origin: at, Text: "empty or too long"}
	}
	if err := m.load.countProperty(at); err != nil {
		return err
	}
	it := m.renamed(item{name: name, value: d.Value, origin: at})
	m.values[it.name] = Value{Name: it.name, Raw: it.value, Origin: at}
	return nil
}

// finish expands variables and freezes the result.
func (m *merger) finish(vars variables) *Properties {
	p := &Properties{merged: m.values, final: m.final, vars: vars, files: m.load.files, hdfsSite: m.load.hdfsSite, names: make([]string, 0, len(m.values))}
	p.values = maps.Clone(m.values)
	p.one, p.here = m.chooseOne(vars), m.here(vars)
	for name, from := range p.one.names {
		v := m.values[from]
		v.Name, v.from = name, from
		p.values[name] = v
	}
	for name := range p.values {
		p.names = append(p.names, name)
	}
	sort.Strings(p.names)
	for _, name := range p.names {
		v := p.values[name]
		v.Value, v.expandErr = vars.expand(v.Raw, rawOf(p.values))
		_, v.Final = m.final[name]
		p.values[name] = v
		if v.expandErr != nil {
			m.load.warn(Problem{Name: name, Value: v.Raw, Origin: v.Origin, Text: v.expandErr.Error()})
		}
	}
	p.warnings = m.load.warnings
	return p
}

// rawOf answers ${name} from values as they are written.
func rawOf(values map[string]Value) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[CurrentName(trim(name))]
		return v.Raw, ok
	}
}
