package allocation

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/spelling"
	"github.com/heddle-project/heddle/yarn"
)

// What an old-style amount is made of. Fractions of a megabyte or a vcore are written, and dropped.
var (
	oldAmount     = regexp.MustCompile(`(-?\d+)(?:\.\d*)?\s*([a-z]+)`)
	oldPercentage = regexp.MustCompile(`^\s*(-?\d+(?:\.\d*)?)\s*%\s*(memory|cpu)(.*)$`)
	percentage    = regexp.MustCompile(`^\s*(-?\d+(?:\.\d*)?)\s*%\s*$`)
)

const (
	resourceForms = "write memory-mb=4096, vcores=4, or memory-mb=50%, vcores=25%"
	notNegative   = "write a number that is not negative"
)

// amount reads the texts of resources. What is worth knowing about one that is accepted goes into notes.
type amount struct {
	types   yarn.ResourceTypes
	missing yarn.Resource // what an amount is of types that it does not name
	notes   []note
}

type note struct{ code, what, fix string }

// refusal is why a text is not a resource.
type refusal struct{ what, fix string }

func (r refusal) Error() string { return r.what }

func refuse(fix, format string, args ...any) error { return refusal{fmt.Sprintf(format, args...), fix} }

func (a *amount) note(code, fix, format string, args ...any) {
	a.notes = append(a.notes, note{code, fmt.Sprintf(format, args...), fix})
}

// ParseAmount reads a text in any form that the file knows for a resource: an amount, in which types that it does not name
// are 0, or a share of the cluster.
func ParseAmount(text string, types yarn.ResourceTypes) (Limit, error) {
	if len(text) > maxResource {
		return Limit{}, fmt.Errorf("the text has more than %d bytes", maxResource)
	}
	l, err := (&amount{types: types}).parse(text)
	if err != nil {
		r := err.(refusal) //nolint:errorlint // parse wraps nothing
		return Limit{}, fmt.Errorf("%s; %s", r.what, r.fix)
	}
	return l, nil
}

// parse reads one text in any of the forms that the file knows.
func (a *amount) parse(text string) (Limit, error) {
	switch {
	case strings.Contains(text, "="):
		return a.named(text)
	case strings.Contains(text, "%"):
		return a.oldPercentages(strings.ToLower(text))
	}
	return a.oldAmounts(strings.ToLower(text))
}

// pieces cuts at commas. Empty pieces at the end are dropped.
func pieces(text string) []string {
	out := strings.Split(text, ",")
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// named reads "memory-mb=4096, vcores=4" and "memory-mb=50%, vcores=25%".
func (a *amount) named(text string) (Limit, error) {
	l := Limit{Amount: a.missing, OfCluster: strings.Contains(text, "%")}
	if l.OfCluster {
		l = a.whole(1)
	}
	seen := map[int]bool{}
	for _, piece := range pieces(text) {
		name, value, ok := strings.Cut(piece, "=")
		name, value = javaTrim(name), javaTrim(value)
		if !ok || value == "" || strings.Contains(value, "=") {
			return Limit{}, refuse(resourceForms, "%q is not of the form name=value", javaTrim(piece))
		}
		i := a.types.Index(name)
		if i < 0 {
			return Limit{}, a.unknown(name)
		}
		if seen[i] {
			a.note(Repeated, "write it once", "%s is there more than once, the last one counts", name)
		}
		seen[i] = true
		var err error
		if l.OfCluster {
			l.Fractions[i], err = fraction(name, value)
		} else {
			l.Amount[i], err = whole(name, value)
		}
		if err != nil {
			return Limit{}, err
		}
	}
	l.Amount[yarn.VCores] = min(l.Amount[yarn.VCores], MaxVCores)
	a.over(l)
	return l, nil
}

func (a *amount) unknown(name string) error {
	var names []string
	for _, t := range a.types {
		names = append(names, t.Name)
	}
	fix := "resource types are named in yarn.resource-types; known here are " + strings.Join(names, ", ")
	near := spelling.Nearest(name, names)
	switch strings.ToLower(name) {
	case "memory", "mem", "mb":
		near = names[yarn.Memory]
	case "cpu", "cores", "vcore":
		near = names[yarn.VCores]
	}
	if near != "" {
		fix = "did you mean " + near + "?"
	}
	return refuse(fix, "there is no resource type %q", name)
}

func fraction(name, value string) (float64, error) {
	m := percentage.FindStringSubmatch(value)
	if m == nil {
		return 0, refuse("write all of it as percentages, or nothing", "%s=%s is not a percentage, though others are", name, value)
	}
	return share(name, m[1])
}

// share turns the number of a percentage into a fraction.
func share(name, number string) (float64, error) {
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil:
		return 0, refuse(notNegative, "%s%% of %s is not a number that can be used", number, name)
	case strings.HasPrefix(number, "-"):
		return 0, refuse(notNegative, "%s%% of %s is negative", number, name)
	}
	return v / 100, nil
}

func whole(name, value string) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return 0, refuse("write a plain number, without a unit: memory in megabytes", "%s=%s is not a whole number", name, value)
	case n < 0:
		return 0, refuse(notNegative, "%s=%s is negative", name, value)
	}
	return n, nil
}

// whole is the same fraction of every type.
func (a *amount) whole(f float64) Limit {
	l := Limit{OfCluster: true}
	for i := range a.types {
		l.Fractions[i] = f
	}
	return l
}

// over notes shares of more than all there is.
func (a *amount) over(l Limit) {
	for i, t := range a.types {
		if l.Fractions[i] > 1 {
			a.note(Maximum, "write at most 100%", "%s is more than 100%% of the cluster", t.Name)
		}
	}
}

// oldPercentages reads "50%" for all types, and "50% memory, 25% cpu".
func (a *amount) oldPercentages(text string) (Limit, error) {
	parts := pieces(text)
	if len(parts) == 1 {
		m := percentage.FindStringSubmatch(parts[0])
		if m == nil {
			return Limit{}, refuse("write 50%, or 50% memory, 25% cpu, or memory-mb=50%, vcores=25%", "not a percentage")
		}
		f, err := share("the cluster", m[1])
		if err != nil {
			return Limit{}, err
		}
		l := a.whole(f)
		a.over(l)
		return l, nil
	}
	l := Limit{OfCluster: true}
	var found [2]bool
	for _, part := range parts {
		m := oldPercentage.FindStringSubmatch(part)
		i := 0
		if m != nil && m[2] == "cpu" {
			i = 1
		}
		if m == nil || found[i] {
			a.note(NoEffect, "remove it; memory-mb=50%, vcores=25% has a place for every type", "%q is passed over", javaTrim(part))
			continue
		}
		f, err := share(m[2], m[1])
		if err != nil {
			return Limit{}, err
		}
		if javaTrim(m[3]) != "" {
			a.note(NoEffect, "remove it", "%q is passed over", javaTrim(m[3]))
		}
		l.Fractions[i], found[i] = f, true
	}
	for i, name := range []string{"memory", "cpu"} {
		if !found[i] {
			return Limit{}, refuse("write both: 50% memory, 25% cpu", "there is no percentage of %s", name)
		}
	}
	a.silent("memory-mb=50%, vcores=25%")
	a.over(l)
	return l, nil
}

// oldAmounts reads "4096 mb, 4 vcores" in either order, with or without a comma. compat: what else is written is passed
// over, as long as there are two numbers with a unit.
func (a *amount) oldAmounts(text string) (Limit, error) {
	parts := pieces(text)
	if len(parts) != 2 {
		parts = oldAmount.FindAllString(text, 3)
	}
	var l Limit
	var found [2]bool
	for _, part := range parts {
		part = javaTrim(part)
		m := oldAmount.FindStringSubmatchIndex(part)
		if m == nil || m[0] != 0 || len(parts) != 2 {
			break
		}
		number, unit := part[m[2]:m[3]], part[m[4]:m[5]]
		i := yarn.Memory
		switch {
		case strings.HasPrefix(unit, "vcores"):
			i, unit = yarn.VCores, "vcores"
		case strings.HasPrefix(unit, "mb"):
			unit = "mb"
		default:
			return Limit{}, refuse(resourceForms, "%q is neither mb nor vcores", unit)
		}
		n, err := strconv.ParseInt(number, 10, 64)
		switch {
		case strings.HasPrefix(number, "-"):
			return Limit{}, refuse(notNegative, "%s %s is negative", number, unit)
		case err != nil || n > math.MaxInt32:
			return Limit{}, refuse("write memory-mb=..., vcores=..., where more fits", "%s %s is more than %d", number, unit, math.MaxInt32)
		}
		l.Amount[i], found[i] = n, true
		text = strings.Replace(text, part[:m[4]]+unit, "", 1)
	}
	if !found[yarn.Memory] || !found[yarn.VCores] {
		return Limit{}, refuse(resourceForms, "there must be one amount of mb and one of vcores, and no other")
	}
	if rest := strings.Trim(text, " ,;\t\n\r"); rest != "" {
		a.note(NoEffect, "remove it", "%q is passed over", rest)
	}
	a.silent("memory-mb=4096, vcores=4")
	return l, nil
}

// silent notes that the old forms leave nothing of other types. compat: so it is for maxima, too.
func (a *amount) silent(form string) {
	if len(a.types) <= 2 || a.missing.IsZero() {
		return
	}
	var names []string
	for _, t := range a.types[2:] {
		names = append(names, t.Name)
	}
	a.note(Maximum, "write "+form+", which leaves out what it does not name", "it stands for 0 of %s, which this form cannot name", strings.Join(names, ", "))
}

// javaTrim cuts off what Java's String.trim does: everything up to the space.
func javaTrim(s string) string { return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) }
