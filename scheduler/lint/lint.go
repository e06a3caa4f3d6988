// Package lint reads a CapacityScheduler's properties as a careful colleague
// would: it lists everything that the ResourceManager refuses, what it accepts
// but does not do, and what it does but hardly anybody means. It is pure: the
// properties come in with the place where each was written, findings go out.
//
// What is refused comes from the scheduler's own reading (config.Parse,
// capacity.New), so that the linter and the daemon cannot disagree; this
// package goes on where they stop, and explains.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Severity tells how bad a finding is.
type Severity uint8

// The severities, the worst last.
const (
	Hint    Severity = iota // works as written; worth knowing
	Warning                 // accepted, but it does not do what it seems to
	Error                   // the ResourceManager refuses the configuration
)

func (s Severity) String() string { return [...]string{"hint", "warning", "error"}[s] }

// Code names a kind of finding. Codes are stable: scripts may filter by them.
type Code string

// Finding is one thing to say about one property, or about one that is missing.
type Finding struct {
	Severity Severity
	Code     Code
	Origin   string // "file:line:column", or the file alone
	Key      string // full name; "" if it is about the file
	Value    string // as configured; "" if it is not set
	Set      bool   // the property is there
	What     string // what happens
	Fix      string // what to do
}

// String is one line: where, how bad, which property, what happens, what to do.
func (f Finding) String() string {
	var b strings.Builder
	if f.Origin != "" {
		b.WriteString(f.Origin + ": ")
	}
	fmt.Fprintf(&b, "%s [%s]", f.Severity, f.Code)
	switch {
	case f.Set:
		fmt.Fprintf(&b, " %s = %q", f.Key, clip(f.Value))
	case f.Key != "":
		b.WriteString(" " + f.Key)
	}
	b.WriteString(": " + f.What)
	if f.Fix != "" {
		b.WriteString("; " + f.Fix)
	}
	return b.String()
}

// Place takes the origin apart; numbers that are not known are 0.
func (f Finding) Place() (file string, line, column int) { return place(f.Origin) }

// Input is what the linter looks at.
type Input struct {
	// Properties are all that somebody set, in the queue file and in the site
	// files beside it, each once. Origin is "file:line:column".
	Properties []config.Property
	Cluster    config.Cluster
	// File is the queue file's name as it begins the origins of its properties.
	// Findings about what is absent point to it.
	File string
	// Size is what all nodes have together, zero if that is not known.
	Size yarn.Resource
	// Elsewhere tells whether a property outside of the queue file's own prefix is
	// one of YARN's, and otherwise which one it resembles, if any. May be nil.
	Elsewhere func(name string) (known bool, nearest string)
	// Notes are findings that others had before, such as about the file itself.
	Notes []Finding
}

// Bounds of one run.
const (
	MaxFindings = 2000 // what is more is counted in one last finding
	maxRefusals = 100  // properties that are set aside one by one to find the next error
	maxText     = 200  // bytes of a value that are repeated
)

// NotRead is a queue file that the configured scheduler does not look at.
const NotRead Code = "not-read"

// Check lists all findings, in the order of the files' lines.
func Check(in Input) []Finding {
	l := newLinter(in)
	if in.Cluster.Policy != config.CapacityPolicy {
		l.say(Warning, NotRead, "", "the scheduler that yarn.resourcemanager.scheduler.class names does not read the CapacityScheduler's queues", "leave that property out to use them")
		return l.sorted()
	}
	l.keys()
	l.refusals()
	l.structure()
	l.access()
	l.flags()
	l.mappings()
	if l.cfg != nil {
		l.levels()
		l.queues(l.cfg.Root)
		l.globals()
		l.accepted()
		l.size()
	}
	return l.sorted()
}

// Count is how many findings there are of each severity.
func Count(findings []Finding) (errors, warnings, hints int) {
	for _, f := range findings {
		switch f.Severity {
		case Error:
			errors++
		case Warning:
			warnings++
		default:
			hints++
		}
	}
	return errors, warnings, hints
}

type linter struct {
	in       Input
	values   map[string]config.Property
	names    []string // of the properties, sorted
	tree     *tree
	owners   map[string]owned // what each property of a queue belongs to
	cfg      *config.Capacity // nil if it cannot be read even without what is wrong
	setAside map[string]bool  // properties that had to be set aside for cfg
	out      []Finding
}

func newLinter(in Input) *linter {
	l := &linter{in: in, values: map[string]config.Property{}, owners: map[string]owned{}, setAside: map[string]bool{}}
	l.out = append(l.out, in.Notes...)
	for _, p := range in.Properties {
		if _, twice := l.values[p.Name]; !twice {
			l.names = append(l.names, p.Name)
		}
		l.values[p.Name] = p
	}
	slices.Sort(l.names)
	l.tree = treeOf(l.values)
	return l
}

// say adds a finding about a property, whether it is set or not.
func (l *linter) say(s Severity, code Code, key, what, fix string) {
	p, set := l.values[key]
	origin := p.Origin
	if origin == "" {
		origin = l.nearby(key)
	}
	l.out = append(l.out, Finding{Severity: s, Code: code, Origin: origin, Key: key, Value: p.Value, Set: set, What: what, Fix: fix})
}

// nearby is where to look about a property that is not set: at the list that
// names its queue, or at the file.
func (l *linter) nearby(key string) string {
	if rest, ok := strings.CutPrefix(key, config.Prefix+queue.Root+"."); ok {
		n := l.tree.root.below(rest)[0].node
		if n.parent != nil {
			n = n.parent
		}
		if p, ok := l.values[config.Prefix+n.path+".queues"]; ok {
			return p.Origin
		}
	}
	return l.in.File
}

// text is a property's value without spaces around it.
func (l *linter) text(key string) (string, bool) {
	p, ok := l.values[key]
	return strings.TrimSpace(p.Value), ok
}

func (l *linter) hasErrors() bool {
	return slices.ContainsFunc(l.out, func(f Finding) bool { return f.Severity == Error })
}

// said tells whether there is an error about the property already.
func (l *linter) said(key string) bool {
	return slices.ContainsFunc(l.out, func(f Finding) bool { return f.Severity == Error && f.Key == key })
}

func (l *linter) sorted() []Finding {
	slices.SortStableFunc(l.out, func(a, b Finding) int {
		af, aline, acol := place(a.Origin)
		bf, bline, bcol := place(b.Origin)
		return cmp.Or(strings.Compare(af, bf), aline-bline, acol-bcol,
			strings.Compare(a.Key, b.Key), int(b.Severity)-int(a.Severity), strings.Compare(string(a.Code), string(b.Code)))
	})
	out := slices.Compact(l.out)
	if more := len(out) - MaxFindings; more > 0 {
		out = append(out[:MaxFindings:MaxFindings], Finding{Severity: worst(out[MaxFindings:]), Code: "more", Origin: l.in.File,
			What: fmt.Sprintf("%d further findings are not shown", more)})
	}
	return out
}

func worst(findings []Finding) Severity {
	s := Hint
	for _, f := range findings {
		s = max(s, f.Severity)
	}
	return s
}

// place takes "file:line:column" apart; numbers that are not there are 0.
func place(origin string) (file string, line, column int) {
	file = origin
	var numbers []int
	for len(numbers) < 2 {
		i := strings.LastIndexByte(file, ':')
		if i < 0 {
			break
		}
		n, err := strconv.Atoi(file[i+1:])
		if err != nil {
			break
		}
		file, numbers = file[:i], append(numbers, n)
	}
	switch len(numbers) {
	case 1:
		return file, numbers[0], 0
	case 2:
		return file, numbers[1], numbers[0]
	}
	return file, 0, 0
}

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "..."
}
