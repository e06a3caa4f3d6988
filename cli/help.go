package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// The layout of usage texts, in columns.
const (
	helpWidth = 74
	helpPad   = 3
)

// writeUsage prints a subcommand's options as Hadoop's tools lay them out: one
// line of syntax, then two columns, sorted without regard to case.
func writeUsage(w io.Writer, title string, options []option) {
	fmt.Fprintf(w, "usage: %s\n", title)
	sorted := present(options)
	slices.SortStableFunc(sorted, func(a, b option) int {
		return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name))
	})
	width := 0
	for _, o := range sorted {
		width = max(width, len(o.syntax()))
	}
	for _, o := range sorted {
		line := o.syntax() + strings.Repeat(" ", width-len(o.syntax())+helpPad) + o.help
		writeWrapped(w, line, width+helpPad)
	}
}

// present are the options that are here.
func present(options []option) []option {
	return slices.DeleteFunc(slices.Clone(options), func(o option) bool { return o.absent != "" })
}

// syntax is the left column: " -name,--long <arg>".
func (o *option) syntax() string {
	s := " -" + o.name
	if o.long != "" {
		s += ",--" + o.long
	}
	if o.arg != "" {
		s += " <" + o.arg + ">"
	}
	return s
}

// writeWrapped breaks text at spaces to helpWidth, indenting all but the first line.
func writeWrapped(w io.Writer, text string, indent int) {
	for first := true; len(text) > helpWidth; first = false {
		at := strings.LastIndexByte(text[:helpWidth+1], ' ')
		if !first && at < indent {
			at = helpWidth // a word longer than the column is cut
		}
		fmt.Fprintln(w, strings.TrimRight(text[:at], " "))
		text = strings.Repeat(" ", indent) + strings.TrimLeft(text[at:], " ")
	}
	fmt.Fprintln(w, strings.TrimRight(text, " "))
}

// writeGenericUsage prints the options that every tool takes.
func writeGenericUsage(w io.Writer) {
	fmt.Fprintln(w, "Generic options supported are:")
	for _, o := range generic {
		if o.help != "" {
			fmt.Fprintf(w, "%-33s %s\n", fmt.Sprintf("-%s <%s>", o.name, o.arg), o.help)
		}
	}
	fmt.Fprint(w, "\nThe general command line syntax is:\ncommand [genericOptions] [commandOptions]\n\n")
}
