package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Prefix heads every property of the CapacityScheduler.
const Prefix = "yarn.scheduler.capacity."

// settings answers typed questions about properties. The first broken rule is
// kept; answers after it are defaults.
type settings struct {
	values map[string]Property
	names  []string // of values, sorted; made when first needed
	cl     *Cluster
	err    *Error
	notes  []Finding
}

func (s *settings) fail(key, rule string, args ...any) {
	if s.err == nil {
		p := s.values[key]
		s.err = &Error{Finding{Key: key, Value: p.Value, Origin: s.origin(key), Rule: fmt.Sprintf(rule, args...)}}
	}
}

// origin is where the property was written. One that is not set belongs to the
// list of queues above it.
func (s *settings) origin(key string) string {
	p, ok := s.values[key]
	for rest := strings.TrimPrefix(key, Prefix); !ok; p, ok = s.values[Prefix+rest+".queues"] {
		i := strings.LastIndexByte(rest, '.')
		if i < 0 {
			break
		}
		rest = rest[:i]
	}
	return p.Origin
}

// governing is the property that is in force for that name; see Common.Governing.
func (s *settings) governing(name string) (Property, bool) {
	p, ok := s.values[name]
	rest, within := strings.CutPrefix(name, Prefix+queue.Root)
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	if ok || !within {
		return p, ok
	}
	switch last {
	case "maximum-am-resource-percent":
		if path, _, labelled := strings.Cut(name, ".accessible-node-labels."); labelled {
			if p, ok = s.values[path+"."+last]; ok {
				return p, true
			}
		}
	case "minimum-user-limit-percent", "user-limit-factor", "max-parallel-apps":
	default:
		return p, false
	}
	p, ok = s.values[Prefix+last]
	return p, ok
}

// sorted is the names of all properties in order.
func (s *settings) sorted() []string {
	if s.names == nil {
		s.names = slices.Sorted(maps.Keys(s.values))
	}
	return s.names
}

// under is what the names that begin with the prefix go on with, in order.
func (s *settings) under(prefix string) []string {
	names := s.sorted()
	i, _ := slices.BinarySearch(names, prefix)
	var out []string
	for ; i < len(names) && strings.HasPrefix(names[i], prefix); i++ {
		out = append(out, names[i][len(prefix):])
	}
	return out
}

// put sets a property, or hides another value of it.
func (s *settings) put(name string, p Property) { s.values[name], s.names = p, nil }

func (s *settings) text(key string) (string, bool) {
	p, ok := s.values[key]
	return p.Value, ok
}

func (s *settings) trimmed(key string) (string, bool) {
	v, ok := s.text(key)
	return strings.TrimSpace(v), ok
}

func (s *settings) number(key string, otherwise int64) int64 {
	v, ok := s.trimmed(key)
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 0, 64)
	if err != nil {
		s.fail(key, "must be a whole number")
		return otherwise
	}
	return n
}

// milliseconds is a number of them, at most 30 years either way.
//
// compat: beyond that Apache's arithmetic overflows, and "never" becomes "at once".
func (s *settings) milliseconds(key string, otherwise int64) int64 {
	const most = 30 * 365 * 86_400_000
	return max(min(s.number(key, otherwise), most), -most)
}

func (s *settings) int32(key string, otherwise int32) int32 {
	n := s.number(key, int64(otherwise))
	if n != int64(int32(n)) {
		s.fail(key, "does not fit in 32 bits")
		return otherwise
	}
	return int32(n)
}

func (s *settings) float(key string, otherwise float32) float32 {
	v, ok := s.trimmed(key)
	if !ok {
		return otherwise
	}
	f, ok := parseFloat(v)
	if !ok {
		s.fail(key, "must be a number")
		return otherwise
	}
	return f
}

func (s *settings) double(key string, otherwise float64) float64 {
	v, ok := s.trimmed(key)
	if !ok {
		return otherwise
	}
	f, err := strconv.ParseFloat(strings.TrimRight(v, "fFdD"), 64)
	if err != nil && (f == 0 || !errors.Is(err, strconv.ErrRange)) {
		s.fail(key, "must be a number")
		return otherwise
	}
	return f
}

// parseFloat reads a number as Float.parseFloat does.
func parseFloat(v string) (float32, bool) {
	v = strings.TrimRight(strings.TrimSpace(v), "fFdD")
	f, err := strconv.ParseFloat(v, 32)
	return float32(f), err == nil || f != 0 && errors.Is(err, strconv.ErrRange)
}

// flag takes anything but true and false for the default.
func (s *settings) flag(key string, otherwise bool) bool {
	v, ok := s.trimmed(key)
	switch {
	case ok && strings.EqualFold(v, "true"):
		return true
	case ok && strings.EqualFold(v, "false"):
		return false
	}
	return otherwise
}

// legacy tells whether the queues of one parent must agree in how their
// capacities are written.
func (s *settings) legacy() bool { return s.flag(Prefix+"legacy-queue-mode.enabled", true) }

// Unit and Vector are package queue's types.
type (
	Unit   = queue.Unit
	Vector = queue.Vector
)

// The units of capacities.
const (
	NoUnit   = queue.NoUnit
	Absolute = queue.Absolute
	Percent  = queue.Percent
	Weight   = queue.Weight
)

// uniform is the same amount for all types.
func (c *Cluster) uniform(value float32, u Unit) (v Vector) {
	for i := range c.Types {
		v.Value[i], v.Unit[i] = float64(value), u
	}
	return v
}

// Percent is the same percentage of all types.
func (c *Cluster) Percent(value float32) Vector { return c.uniform(value, Percent) }

var (
	absolutePattern = regexp.MustCompile(`^\[[\w.,\-_= /]+\]$`)
	vectorPattern   = regexp.MustCompile(`^\[([\w.,\-_% /]+=[\w.,\-_% /]+)+\]$`)
	uniformPattern  = regexp.MustCompile(`^([0-9.]+)(.*)`)
	digitPattern    = regexp.MustCompile(`[0-9.]`)
)

// vector reads any form of a capacity.
//
// compat: QueueCapacityConfigParser. Text of no known form is an empty vector.
func (s *settings) vector(key string) (v Vector) {
	text, ok := s.text(key)
	if !ok {
		return v
	}
	text = strings.ReplaceAll(text, " ", "")
	if vectorPattern.MatchString(text) {
		v = s.cl.uniform(0, Absolute)
		for pair := range strings.SplitSeq(text[1:len(text)-1], ",") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				s.vectorEntry(&v, key, name, value)
			}
		}
		return v
	}
	m := uniformPattern.FindStringSubmatch(text)
	if m == nil {
		return v
	}
	f, ok := parseFloat(m[1])
	if !ok {
		s.fail(key, "must be a number, a weight or a list of resources")
		return v
	}
	switch m[2] {
	case "":
		return s.cl.uniform(f, Percent)
	case "w":
		return s.cl.uniform(f, Weight)
	}
	return v
}

func (s *settings) vectorEntry(v *Vector, key, name, value string) {
	if name == "memory" {
		name = "memory-mb"
	}
	i := s.cl.Types.Index(name)
	suffix := digitPattern.ReplaceAllString(value, "")
	if i < 0 || !strings.HasSuffix(value, suffix) {
		return
	}
	f, ok := parseFloat(value[:len(value)-len(suffix)])
	if !ok {
		s.fail(key, "amount of %s must be a number", name)
		return
	}
	v.Value[i], v.Unit[i] = float64(f), Absolute
	switch {
	case suffix == "%":
		v.Unit[i] = Percent
	case suffix == "w":
		v.Unit[i] = Weight
	case suffix != "" && knownUnit(suffix):
		v.Value[i] = float64(toMebi(int64(f), suffix))
	}
}

// unitScale is what a unit's prefix multiplies by, as a fraction.
var unitScale = map[string][2]int64{
	"p": {1, 1e12}, "n": {1, 1e9}, "u": {1, 1e6}, "m": {1, 1e3}, "": {1, 1},
	"k": {1e3, 1}, "M": {1e6, 1}, "G": {1e9, 1}, "T": {1e12, 1}, "P": {1e15, 1},
	"Ki": {1 << 10, 1}, "Mi": {1 << 20, 1}, "Gi": {1 << 30, 1}, "Ti": {1 << 40, 1}, "Pi": {1 << 50, 1},
}

func knownUnit(u string) bool { _, ok := unitScale[u]; return ok }

// toMebi converts to units of 2²⁰.
//
// compat: Apache does so for every resource of a queue's capacity, vcores too.
func toMebi(n int64, unit string) int64 {
	u := unitScale[unit]
	return int64(float64(n) * float64(u[0]) / float64(u[1]) / (1 << 20))
}

// isAbsolute tells whether the capacity is written as amounts.
func (s *settings) isAbsolute(key string) bool {
	v, ok := s.text(key)
	return ok && absolutePattern.MatchString(v)
}

// amounts reads a capacity written as amounts; nothing if it is not, or if it
// has no memory.
//
// compat: names that are unknown are passed over.
func (s *settings) amounts(key string) (r yarn.Resource) {
	if !s.isAbsolute(key) {
		return r
	}
	text, _ := s.text(key)
	for pair := range strings.SplitSeq(strings.TrimSpace(text[1:len(text)-1]), ",") {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		if name == "memory" {
			name = "memory-mb"
		}
		i := s.cl.Types.Index(name)
		if !ok || i < 0 {
			continue
		}
		unit := strings.TrimLeft(value, "0123456789-+. ")
		if !knownUnit(unit) {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(value, unit), 10, 64)
		if err != nil {
			s.fail(key, "amount of %s must be a whole number", name)
			return yarn.Resource{}
		}
		if unit != "" {
			n = toMebi(n, unit)
		}
		r[i] = n
	}
	if r[yarn.Memory] == 0 {
		return yarn.Resource{}
	}
	return r
}

func (s *settings) acl(key, otherwise string) yarn.ACL {
	if v, ok := s.text(key); ok {
		return yarn.ParseACL(v)
	}
	return yarn.ParseACL(otherwise)
}

func list(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
