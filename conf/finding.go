package conf

import (
	"errors"
	"fmt"
)

// Severity is what a finding means for whoever runs the daemon.
type Severity int

// The severities, the worst first.
const (
	Refused Severity = iota // the daemon does not start: it touches safety, durability or who gets what
	Changed                 // it starts, but behaves differently from what the configuration says
	Ignored                 // it starts, and the setting makes no difference that matters
)

// String is the word that commands print.
func (s Severity) String() string { return [...]string{"refused", "changed", "ignored"}[s] }

// Finding is one property that asks for something Heddle does not support, or
// something odd about a file.
type Finding struct {
	Severity Severity
	Feature  string // what it would turn on; "" for what is odd about a file
	Name     string
	Value    string
	Origin   Origin
	Reason   string // what is different from what it asks for
	Advice   string // what to do; "" where there is nothing to say
}

// String is one line: where, what, why, and what to do.
func (f Finding) String() string {
	return Problem{Name: f.Name, Value: f.Value, Origin: f.Origin, Text: f.Text()}.Error()
}

// Text is what a finding says of its property.
func (f Finding) Text() string {
	text := f.Reason
	if f.Feature != "" {
		text = f.Feature + ": " + text
	}
	if f.Advice != "" {
		text += "; " + f.Advice
	}
	return text
}

// Findings are those of one daemon.
type Findings []Finding

// Of picks the findings of one severity.
func (fs Findings) Of(s Severity) (out Findings) {
	for _, f := range fs {
		if f.Severity == s {
			out = append(out, f)
		}
	}
	return out
}

// Report calls warn with each Changed finding, and tell with one line that counts
// the Ignored ones. The error lists the Refused ones; it is nil if there are none.
// dir is the directory of the configuration.
func (fs Findings) Report(dir string, warn, tell func(line string)) error {
	for _, f := range fs.Of(Changed) {
		warn(f.String())
	}
	if n := len(fs.Of(Ignored)); n > 0 {
		tell(fmt.Sprintf("settings that make no difference here: %d; yarn --config %s conf -lint lists them", n, dir))
	}
	refused := fs.Of(Refused)
	if len(refused) == 0 {
		return nil
	}
	all := []error{errors.New("cannot start: the configuration asks for what Heddle does not have yet")}
	for _, f := range refused {
		all = append(all, errors.New(f.String()))
	}
	return errors.Join(all...)
}
