package allocation

import (
	"fmt"
	"strings"
)

// Severity tells how bad a finding is.
type Severity uint8

// The severities, the worst last.
const (
	Hint    Severity = iota // works as written; worth knowing
	Warning                 // accepted, but it does not do what it seems to
	Error                   // the file is refused
)

func (s Severity) String() string { return [...]string{"hint", "warning", "error"}[s] }

// Codes of findings. They do not change their meaning.
const (
	Refused      = "refused"       // the file is refused for it
	TooMany      = "too-many"      // a bound of this package
	Broken       = "file"          // no XML, or XML of a kind that is not read
	UnknownKey   = "unknown-key"   // an element or attribute that nothing reads
	NoEffect     = "no-effect"     // known, but without effect where or as it stands
	Repeated     = "repeated"      // written twice where one counts
	Maximum      = "maximum"       // maxima that are not what they seem to be
	Weight       = "weight"        // weights that give nothing
	TakesNothing = "takes-nothing" // limits under which no application runs
	UnitTrap     = "unit-trap"     // percentages where fractions are read, milliseconds where seconds are
	NotAFlag     = "not-a-flag"    // neither true nor false
	AccessList   = "acl"           // lists that do not say what they seem to, or keep nobody out
	OddName      = "odd-name"      // names with characters that nobody sees
	Structure    = "structure"     // the shape of the tree
	Rule         = "mapping-rule"  // rules of placement that can never decide, or lead nowhere
)

// Finding is one thing to say about one element of a file.
type Finding struct {
	Severity Severity
	Code     string
	Line     int    // where the element begins, from 1; 0 if it is about the file
	Column   int    // in bytes, from 1
	Key      string // the element: "root.training/weight", "userMaxAppsDefault"; "" if it is about the file
	Value    string // its text, or an attribute's
	Set      bool   // it has a value
	What     string // what is wrong, or what happens
	Fix      string // what to do
}

// String is `line:column: key = "value": what; fix`. Whoever knows the file's name puts it before, with a colon.
func (f Finding) String() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d:%d: ", f.Line, f.Column)
	}
	switch {
	case f.Set:
		fmt.Fprintf(&b, "%s = %q: ", f.Key, clip(f.Value))
	case f.Key != "":
		b.WriteString(f.Key + ": ")
	}
	b.WriteString(f.What)
	if f.Fix != "" {
		b.WriteString("; " + f.Fix)
	}
	return b.String()
}

// Errors is why a file is refused, in the order of its lines: at least one finding, each of severity Error.
type Errors []Finding

// Error puts each on a line of its own, the first maxShown of them.
func (e Errors) Error() string {
	var b strings.Builder
	for i, f := range e {
		if i == maxShown {
			fmt.Fprintf(&b, "\n... and %d more", len(e)-maxShown)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.String())
	}
	return b.String()
}

// Bounds of what is said.
const (
	maxErrors   = 100  // errors of one file; reading ends after them
	maxFindings = 2000 // warnings and hints of one file; further ones are dropped
	maxShown    = 50   // errors in one text
	maxText     = 200  // bytes of a value that are repeated
	maxSentence = 2000 // bytes of a key, and of what is said
)

func clip(s string) string { return clipTo(s, maxText) }

func clipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// bounded is the finding without the rest of what came at length from the file.
func (f Finding) bounded() Finding {
	f.Key, f.What = clipTo(f.Key, maxSentence), clipTo(f.What, maxSentence)
	return f
}
