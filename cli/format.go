package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

// compat: the formats in this file are Java's, because tables carry them.

// decimal prints x as DecimalFormat does, with at least whole and zeros and at
// most digits places before and after the point.
func decimal(x float64, whole, zeros, digits int) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "∞"
	case math.IsInf(x, -1):
		return "-∞"
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	for keep := digits; keep > zeros && strings.HasSuffix(s, "0"); keep-- {
		s = s[:len(s)-1]
	}
	s = strings.TrimSuffix(s, ".")
	if whole == 0 && strings.Contains(s, ".") {
		sign := ""
		if strings.HasPrefix(s, "-") {
			sign, s = "-", s[1:]
		}
		s = sign + strings.TrimPrefix(s, "0")
	}
	return s
}

// percent is the pattern ###.##% of a fraction.
func percent(fraction float32) string { return decimal(float64(fraction)*100, 1, 0, 2) + "%" }

// share is the pattern #.00 of a fraction times 100, multiplied in 32 bits.
func share(fraction float32) string { return twoPlaces(fraction*100) + "%" }

// twoPlaces is the pattern #.00, which prints zero as ".00".
func twoPlaces(x float32) string { return decimal(float64(x), 0, 2, 2) }

// float is Float.toString.
func float(x float32) string { return javanum.Text(x) }

// longTime is the pattern EEE MMM dd HH:mm:ss Z yyyy; times not yet come are N/A.
func (e *Env) longTime(ms int64) string {
	if ms <= 0 {
		return "N/A"
	}
	return e.at(ms).Format("Mon Jan 02 15:04:05 -0700 2006")
}

// isoTime is the pattern yyyy-MM-dd'T'HH:mm:ss.SSSZ.
func (e *Env) isoTime(ms int64) string { return e.at(ms).Format("2006-01-02T15:04:05.000-0700") }

// healthTime is the pattern E dd/MMM/yy hh:mm:ss:SSzz: a 12-hour clock without
// its half of the day, and milliseconds with at least two digits.
func (e *Env) healthTime(ms int64) string {
	t := e.at(ms)
	millis := strconv.Itoa(t.Nanosecond() / 1e6)
	if len(millis) < 2 {
		millis = "0" + millis
	}
	return t.Format("Mon 02/Jan/06 03:04:05:") + millis + t.Format("MST")
}

func (e *Env) at(ms int64) time.Time { return time.UnixMilli(ms).In(e.Zone) }

// shown filters what is printed so that names, reports and error texts from others cannot control the terminal. The function
// that it returns ends the filtered text.
func (c *call) shown() func() {
	own := *c.Env
	own.screen, own.errScreen = own.Stdout, own.Stderr
	out, errs := visible.NewWriter(own.Stdout), visible.NewWriter(own.Stderr)
	if !c.command.copies.out {
		own.Stdout = out
	}
	if !c.command.copies.err {
		own.Stderr = errs
	}
	c.Env = &own
	return func() { _, _ = out.Flush(), errs.Flush() }
}

// row prints a line of a table. A line end in a cell cannot pass for a new row.
func (c *call) row(format string, cells ...any) {
	for i, v := range cells {
		cells[i] = visible.Line(fmt.Sprint(v))
	}
	fmt.Fprintf(c.Stdout, format, cells...)
}

// writeLine adds a line of a report, writeLines a text that may have several.
func writeLine(b *strings.Builder, key string, value any) {
	writeLines(b, key, visible.Line(fmt.Sprint(value)))
}

func writeLines(b *strings.Builder, key, text string) { fmt.Fprintf(b, "\t%s : %s\n", key, text) }

// orNull prints what may be missing.
func orNull(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orNA(s *string) string {
	if s == nil {
		return "N/A"
	}
	return *s
}

// resource prints an amount with memory and vcores first; other types only if
// they are not zero.
func resource(r client.Resource) string {
	s := "<memory:" + strconv.FormatInt(r.MemoryMB, 10) + ", vCores:" + strconv.FormatInt(r.VCores, 10)
	for _, o := range r.Others {
		if o.Value != 0 {
			s += ", " + o.Name + ": " + strconv.FormatInt(o.Value, 10) + o.Units
		}
	}
	return s + ">"
}

// resourceSeconds prints amounts that were multiplied by seconds.
func resourceSeconds(amounts []client.Amount) string {
	value := map[string]int64{}
	var names []string
	for _, a := range amounts {
		if _, seen := value[a.Name]; !seen {
			names = append(names, a.Name)
		}
		value[a.Name] = a.Value
	}
	out := strconv.FormatInt(value["memory-mb"], 10) + " MB-seconds, " + strconv.FormatInt(value["vcores"], 10) + " vcore-seconds"
	if len(names) <= 2 {
		return out
	}
	for _, n := range hashOrder(names) {
		if n != "memory-mb" && n != "vcores" {
			out += ", " + strconv.FormatInt(value[n], 10) + " " + n + "-seconds"
		}
	}
	return out
}

// hashOrder is the order in which a Java HashSet gives strings back after they
// were added in the order given; duplicates are dropped.
func hashOrder(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	buckets := uint32(16)
	for len(out) > int(buckets)*3/4 {
		buckets *= 2
	}
	slot := func(s string) uint32 {
		var h int32
		for _, c := range utf16.Encode([]rune(s)) {
			h = 31*h + int32(c)
		}
		return (uint32(h) ^ uint32(h)>>16) & (buckets - 1)
	}
	slices.SortStableFunc(out, func(a, b string) int { return int(slot(a)) - int(slot(b)) })
	return out
}

// list prints a Java collection.
func list(words []string) string { return "[" + strings.Join(words, ", ") + "]" }
