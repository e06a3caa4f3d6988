package conf

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// Reader reads typed values and gathers what is wrong with them, so that one
// start reports every bad property. It also remembers which names were asked
// for, so that what nobody reads can be told apart. A Reader is used by one
// goroutine; the Properties under it are shared freely.
type Reader struct {
	props    *Properties
	problems Problems
	asked    map[string]bool
}

// NewReader starts reading p.
func NewReader(p *Properties) *Reader {
	return &Reader{props: p, asked: map[string]bool{}}
}

// Err is nil, or Problems with everything wrong so far, in file order.
func (r *Reader) Err() error {
	sorted := slices.Clone(r.problems)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Origin.File, b.Origin.File), a.Origin.Line-b.Origin.Line, a.Origin.Column-b.Origin.Column)
	})
	return sorted.Err()
}

// Asked lists the names read so far, sorted.
func (r *Reader) Asked() []string {
	out := make([]string, 0, len(r.asked))
	for n := range r.asked {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// Fail records a problem with a property that the caller found, such as two
// properties that contradict each other. The same problem is recorded once.
func (r *Reader) Fail(name, format string, args ...any) {
	v, _ := r.props.Lookup(name)
	p := Problem{Name: cmp.Or(v.from, name), Value: v.Value, Origin: v.Origin, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

// Raw reads a value as Configuration.get does: expanded, untrimmed. A value
// that cannot be expanded is a problem and reads as unset.
func (r *Reader) Raw(name string) (string, bool) {
	r.asked[CurrentName(name)] = true
	v, ok := r.props.Lookup(name)
	if ok && v.expandErr != nil {
		r.Fail(name, "%v", v.expandErr)
		return "", false
	}
	return v.Value, ok
}

// trimmed reads a value as Configuration.getTrimmed does.
func (r *Reader) trimmed(name string) (string, bool) {
	s, ok := r.Raw(name)
	return trim(s), ok
}

// String reads trimmed text; unset or blank gives def.
func (r *Reader) String(name, def string) string {
	if s, ok := r.trimmed(name); ok && s != "" {
		return s
	}
	return def
}

// Range bounds a number, ends included.
type Range struct{ Min, Max int64 }

// Ranges used often.
var (
	AnyInt   = Range{math.MinInt64, math.MaxInt64}
	Positive = Range{1, math.MaxInt64}
	NotBelow = func(low int64) Range { return Range{low, math.MaxInt64} }
)

func (g Range) has(n int64) bool { return g.Min <= n && n <= g.Max }

func (g Range) String() string {
	switch {
	case g.Min == math.MinInt64 && g.Max == math.MaxInt64:
		return "a whole number"
	case g.Max == math.MaxInt64:
		return fmt.Sprintf("a whole number of at least %d", g.Min)
	case g.Min == math.MinInt64:
		return fmt.Sprintf("a whole number of at most %d", g.Max)
	}
	return fmt.Sprintf("a whole number from %d to %d", g.Min, g.Max)
}

// Int64 reads a decimal or 0x number.
func (r *Reader) Int64(name string, def int64, in Range) int64 {
	s, ok := r.trimmed(name)
	if !ok {
		return def
	}
	n, ok := parseLong(s)
	if !ok || !in.has(n) {
		r.Fail(name, "not allowed, expected %s", in)
		return def
	}
	return n
}

// Int32 reads a number that must fit Java's int.
func (r *Reader) Int32(name string, def int32, in Range) int32 {
	in.Min, in.Max = max(in.Min, math.MinInt32), min(in.Max, math.MaxInt32)
	return int32(r.Int64(name, int64(def), in))
}

// Int is Int32 for callers that count with int.
func (r *Reader) Int(name string, def int, in Range) int {
	return int(r.Int32(name, int32(def), in))
}

// Bool reads true or false in any case; blank gives def. Hadoop takes the
// default for any other text with a line in the log. Here it is a problem:
// a mistyped security switch must not silently stay off.
func (r *Reader) Bool(name string, def bool) bool {
	s, ok := r.trimmed(name)
	switch {
	case !ok || s == "":
		return def
	case strings.EqualFold(s, "true"):
		return true
	case strings.EqualFold(s, "false"):
		return false
	}
	r.Fail(name, "not allowed, expected true or false")
	return def
}

// Float reads a finite number within [low, high]; Java's f and d suffixes are
// accepted.
func (r *Reader) Float(name string, def, low, high float64) float64 {
	s, ok := r.trimmed(name)
	if !ok {
		return def
	}
	f, ok := parseFloat(s)
	if !ok || f < low || f > high {
		r.Fail(name, "not allowed, expected a number from %g to %.6g", low, high)
		return def
	}
	return f
}

// units are the suffixes of Configuration.getTimeDuration, in the order in
// which they are tried.
var units = []struct {
	suffix string
	size   time.Duration
}{
	{"ns", time.Nanosecond}, {"us", time.Microsecond}, {"ms", time.Millisecond},
	{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour},
}

// parseDuration reads a whole number with an optional unit. Too long saturates
// at about 292 years, as "forever" is commonly written as a huge number.
func parseDuration(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.ToLower(trim(s))
	if _, hex := cutHex(strings.TrimPrefix(s, "-")); !hex {
		for _, u := range units {
			if number, ok := strings.CutSuffix(s, u.suffix); ok {
				s, unit = number, u.size
				break
			}
		}
	}
	n, ok := parseLong(s)
	return time.Duration(saturatingMul(n, int64(unit))), ok
}

// Duration reads a time with an optional unit ns, us, ms, s, m, h or d; unit is
// what a bare number counts. Where Hadoop reads the property as a plain number
// of milliseconds or seconds, the suffixes are an extension.
func (r *Reader) Duration(name string, def, unit, low time.Duration) time.Duration {
	s, ok := r.trimmed(name)
	if !ok {
		return def
	}
	d, ok := parseDuration(s, unit)
	if !ok {
		r.Fail(name, "not allowed, expected a whole number of %s, or one with a unit: ns us ms s m h d", unitName(unit))
		return def
	}
	if d < low {
		r.Fail(name, "not allowed, expected at least %s", low)
		return def
	}
	return d
}

func unitName(unit time.Duration) string {
	switch unit {
	case time.Millisecond:
		return "milliseconds"
	case time.Second:
		return "seconds"
	case time.Minute:
		return "minutes"
	case time.Hour:
		return "hours"
	}
	return "units of " + unit.String()
}

// parseSize reads Configuration.getLongBytes: a whole number, or one with a
// binary prefix k, m, g, t, p or e.
func parseSize(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	shift := strings.IndexByte("kmgtpe", s[len(s)-1]|0x20)
	if shift < 0 {
		return parseDecimal(s)
	}
	n, ok := parseDecimal(s[:len(s)-1])
	unit := int64(1) << (10 * (shift + 1))
	if !ok || n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// Size reads a number of bytes.
func (r *Reader) Size(name string, def int64, in Range) int64 {
	s, ok := r.trimmed(name)
	if !ok {
		return def
	}
	n, ok := parseSize(s)
	if !ok || !in.has(n) {
		r.Fail(name, "not allowed, expected %s (bytes; k m g t p e multiply by 1024)", in)
		return def
	}
	return n
}

// Strings reads a comma list; see splitList for the corners. Unset gives nil.
func (r *Reader) Strings(name string) []string {
	s, _ := r.Raw(name)
	return splitList(s)
}

// Enum reads one of the allowed words, case counting as in Hadoop.
func (r *Reader) Enum(name, def string, allowed ...string) string {
	s := r.String(name, def)
	for _, a := range allowed {
		if s == a {
			return s
		}
	}
	r.Fail(name, "not allowed, expected one of %s", strings.Join(allowed, ", "))
	return def
}

// Class reads a Java class name and translates it; words are what each known
// class, or our own word for it, is called. An unknown class is returned as it
// is written, with ok false, for Unsupported to judge.
func (r *Reader) Class(name, def string, words map[string]string) (word string, ok bool) {
	s := r.String(name, def)
	if w, known := words[s]; known {
		return w, true
	}
	for _, w := range words {
		if s == w {
			return w, true
		}
	}
	return s, s == ""
}
