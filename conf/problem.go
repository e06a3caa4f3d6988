package conf

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong, or odd, about one property or one place in a
// file. Name and Value are empty when it is about the file itself.
type Problem struct {
	Name, Value string
	Origin      Origin
	Text        string // what is wrong and what is allowed instead
	Harmless    bool   // it is odd, and has the effect that it should have
}

// Error renders `file:line:column: name = "value": text`.
func (p Problem) Error() string {
	var b strings.Builder
	if p.Origin.File != "" {
		b.WriteString(p.Origin.Position() + ": ")
	}
	if p.Name != "" {
		fmt.Fprintf(&b, "%s = %q: ", p.Name, clip(p.Value))
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problems is every problem of one attempt, reported together.
type Problems []Problem

// maxShown bounds how many problems one error message spells out.
const maxShown = 50

// Error puts each problem on a line of its own.
func (ps Problems) Error() string {
	var b strings.Builder
	for i, p := range ps {
		if i == maxShown {
			fmt.Fprintf(&b, "\n... and %d more", len(ps)-maxShown)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Error())
	}
	return b.String()
}

// Err is nil when there are no problems.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// maxClip bounds how much of an offending value a message repeats.
const maxClip = 200

func clip(s string) string {
	if len(s) <= maxClip {
		return s
	}
	return strings.ToValidUTF8(s[:maxClip], "") + "..."
}
