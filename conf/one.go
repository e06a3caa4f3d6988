package conf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// one is the ResourceManager whose addresses are used when high availability is
// off and the files have addresses with an rm-id, such as
// yarn.resourcemanager.address.rm1. Hadoop reads these only while high availability
// is on.
//
// All of them are taken from one id: yarn.resourcemanager.ha.id; else the id whose
// host is this machine, if the caller tells which is (Options.Local) and there is
// just one; else the first in yarn.resourcemanager.ha.rm-ids that has an address.
// Each stands in for the property without the id, unless that property is set. None
// is used if yarn.resourcemanager.hostname is set.
type one struct {
	id    string            // "" if none is needed, or none has an address
	by    string            // the property that says so
	first string            // the id that is chosen without Options.Local
	names map[string]string // the name with the id, by the name that it stands in for
}

const hostname = rm + "hostname"

// addressNames are the properties that high availability has once for each
// ResourceManager, with its id behind them.
var addressNames = []string{hostname, rm + "address", rm + "scheduler.address", rm + "resource-tracker.address", rm + "admin.address", rm + "webapp.address",
	rm + "webapp.https.address"}

// chooseOne chooses the id, from the merged properties.
func (m *merger) chooseOne(vars variables) one {
	get := m.getter(vars)
	set := func(name string) bool {
		v, ok := m.values[name]
		return ok && !v.Origin.IsDefault()
	}
	own := get(rm + "ha.id")
	c := one{by: rm + "ha.rm-ids"}
	ids := distinct(splitList(get(c.by)))
	if own != "" {
		c.by, ids = rm+"ha.id", []string{own}
	}
	if strings.EqualFold(get(rm+"ha.enabled"), "true") || set(hostname) || len(ids) > maxResourceManagers {
		return one{}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool {
		return !slices.ContainsFunc(addressNames, func(name string) bool { return set(name + "." + id) })
	})
	if len(ids) == 0 {
		return one{}
	}
	c.first = ids[0]
	c.id = c.first
	if m.local != nil && len(ids) > 1 {
		here := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !m.local(hostOf(get, id)) })
		if len(here) == 1 {
			c.id = here[0]
		}
	} else if slices.Contains(ids, m.before) {
		c.id = m.before
	}
	c.names = map[string]string{}
	for _, name := range addressNames {
		if from := name + "." + c.id; set(from) && !set(name) {
			c.names[name] = from
		}
	}
	return c
}

// getter gives merged properties, expanded; "" for one that cannot be.
func (m *merger) getter(vars variables) func(name string) string {
	return func(name string) string {
		text, err := vars.expand(m.values[name].Raw, rawOf(m.values))
		if err != nil {
			return ""
		}
		return trim(text)
	}
}

// hostOf is where the ResourceManager of an id is, or "".
func hostOf(get func(string) string, id string) string {
	for _, name := range []string{rm + "address", hostname} {
		if a, ok := ParseAddress(get(name+"."+id), 0); ok {
			return a.Host
		}
	}
	return ""
}

// Source is the property that an address of the ResourceManager comes from: the
// property of that name, or one with an rm-id that stands in for it.
func (r *Reader) Source(name string) string {
	v, ok := r.props.Lookup(name)
	if from := r.props.values[hostname].from; ok && v.Origin.IsDefault() && from != "" {
		return from
	}
	return cmp.Or(v.from, name)
}

// finding says whose addresses are used.
func (o *one) finding(p *Properties) Finding {
	v := p.values[o.by]
	var taken []string
	for _, name := range addressNames {
		if o.names[name] != "" {
			taken = append(taken, name+" = "+clip(trim(p.Get(name))))
		}
	}
	f := Finding{Changed, "addresses of one ResourceManager", v.Name, v.Value, v.Origin,
		"high availability is off, and those of " + o.id + " are used, which Hadoop's own programs do not do: " + strings.Join(taken, ", "),
		"set these properties, or " + hostname + " if the ports are the default ones"}
	if o.id != o.first {
		f.Reason += fmt.Sprintf("; this machine is that of %s, but NodeManagers and commands that have high availability off, too, look for %s", o.id, o.first)
		f.Advice = "set " + rm + "ha.id to " + o.id + " for all of them; or " + f.Advice
	}
	return f
}

// leftovers are addresses of single ResourceManagers that are not used where
// high availability is off.
func leftovers(p *Properties) (out Findings) {
	if isTrue(p, trim(p.Get(rm+"ha.enabled"))) {
		return nil
	}
	for _, name := range addressNames {
		for _, v := range p.WithPrefix(name + ".") {
			base, id := p.values[name], strings.TrimPrefix(v.Name, name+".")
			if v.Origin.IsDefault() || id == "" || strings.Contains(id, ".") || known(v.Name) || base.from == v.Name {
				continue
			}
			f := Finding{Ignored, "address of one ResourceManager", v.Name, v.Value, v.Origin, "high availability is off, and it says the same as " + name, "remove it"}
			switch {
			case trim(base.Value) == trim(v.Value):
			case p.one.id != "" && id != p.one.id:
				f.Reason, f.Advice = "high availability is off, and the addresses of "+p.one.id+" are used", ""
			default:
				f.Severity = Changed
				f.Reason = fmt.Sprintf("high availability is off, so it has no effect: %s is %s", name, base.Value)
				f.Advice = fmt.Sprintf("if this is the one ResourceManager, set %s to %s", name, clip(v.Value))
			}
			out = append(out, f)
		}
	}
	return out
}
