package sealed

import (
	"fmt"
	"strings"
)

// maxTold bounds the findings that are told one by one.
const maxTold = 10

// DamageError is a file that does not hold what it must.
type DamageError struct {
	Path     string
	Kind     string   // "state store"
	Findings Findings // never empty
	Advice   string   // what to do about it
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("the %s %s is damaged (%s): %s; nothing was changed. %s", e.Kind, e.Path, e.Findings.Counts(), e.Findings, e.Advice)
}

// Findings are what was found to be damaged.
type Findings struct {
	Files, Pages, Buckets, Records int
	Told                           []string // the first ones, a sentence each
}

// None tells that nothing is damaged.
func (f *Findings) None() bool { return f.count() == 0 }

func (f *Findings) count() int { return f.Files + f.Pages + f.Buckets + f.Records }

// Counts is "3 pages, 1 bucket".
func (f Findings) Counts() string {
	var out []string
	for _, x := range []struct {
		n    int
		what string
	}{{f.Files, "file"}, {f.Pages, "page"}, {f.Buckets, "bucket"}, {f.Records, "record"}} {
		switch x.n {
		case 0:
		case 1:
			out = append(out, "1 "+x.what)
		default:
			out = append(out, fmt.Sprintf("%d %ss", x.n, x.what))
		}
	}
	return strings.Join(out, ", ")
}

func (f Findings) String() string {
	text := strings.Join(f.Told, "; ")
	if more := f.count() - len(f.Told); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func (f *Findings) tell(kind *int, format string, args ...any) {
	*kind++
	if len(f.Told) < maxTold {
		f.Told = append(f.Told, fmt.Sprintf(format, args...))
	}
}

func (f *Findings) file(format string, args ...any)   { f.tell(&f.Files, format, args...) }
func (f *Findings) page(format string, args ...any)   { f.tell(&f.Pages, format, args...) }
func (f *Findings) bucket(format string, args ...any) { f.tell(&f.Buckets, format, args...) }
func (f *Findings) record(format string, args ...any) { f.tell(&f.Records, format, args...) }
