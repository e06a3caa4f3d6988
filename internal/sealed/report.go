package sealed

import (
	"fmt"
	"io"
)

// Print writes the report for whoever asked for a check, or for a repair.
func (r *Report) Print(w io.Writer, kind string) {
	total, wanted, known := int64(0), int64(0), true
	for _, t := range r.Tables {
		total, wanted, known = total+t.Readable, wanted+t.Want, known && t.Want >= 0
	}
	if r.Damage == nil {
		fmt.Fprintf(w, "%s %s: whole, %d records\n", kind, r.Path, total)
		if r.Odd != "" {
			fmt.Fprintf(w, "  %s\n", r.Odd)
		}
		return
	}
	fmt.Fprintf(w, "%s %s: damaged (%s)\n", kind, r.Path, r.Damage.Findings.Counts())
	for _, text := range r.Damage.Findings.Told {
		fmt.Fprintf(w, "  %s\n", text)
	}
	if more := r.Damage.Findings.count() - len(r.Damage.Findings.Told); more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
	if known {
		fmt.Fprintf(w, "%d of %d records can be read:\n", total, wanted)
	} else {
		fmt.Fprintf(w, "%d records can be read; how many there were is not known:\n", total)
	}
	for _, t := range r.Tables {
		fmt.Fprintf(w, "  %-20s %s\n", t.Name, t)
	}
	for _, x := range r.Lost {
		fmt.Fprintf(w, "lost: %s %q\n", x.Bucket, x.Key)
	}
	if r.Repaired {
		fmt.Fprintf(w, "repaired: %s has what can be read", r.Path)
		if r.Aside != "" {
			fmt.Fprintf(w, ", the damaged file is kept as %s", r.Aside)
		}
		fmt.Fprintln(w)
	}
}

func (t Table) String() string {
	switch {
	case t.Want < 0:
		return fmt.Sprintf("%d", t.Readable)
	case t.Proven:
		return fmt.Sprintf("all %d", t.Want)
	case t.Want == t.Readable:
		return fmt.Sprintf("%d, of which some are not as they were last", t.Want)
	}
	return fmt.Sprintf("%d of %d", t.Readable, t.Want)
}
