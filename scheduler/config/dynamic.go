package config

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/queue"
)

func (s *settings) creation(q *Queue) {
	k := key(q.Path)
	const v2 = "auto-queue-creation-v2."
	q.MaxDepth = s.int32(k+v2+"maximum-queue-depth", s.int32(Prefix+v2+"maximum-queue-depth", 2))
	q.AutoRemove = s.flag(k+v2+"queue-auto-removal.enable", true)
	q.MaxChildren = s.int32(k+v2+"max-queues", 1000)
	s.tellTemplates(q)
	if q.Kind != Managed {
		return
	}
	q.MaxChildren = s.int32(k+"auto-create-child-queue.max-queues", 1000)
	q.FailOnExceeding = s.flag(k+"auto-create-child-queue.fail-on-exceeding-parent-capacity", false)
	q.templateSettings = map[string]Property{}
	prefix := k + legacyTemplate
	for _, rest := range s.under(prefix) {
		q.templateSettings[rest] = s.values[prefix+rest]
	}
	if _, ok := s.text(prefix + "capacity"); !ok {
		s.fail(prefix+"capacity", "must be set for a parent of automatically created leaves")
	}
}

const legacyTemplate = "leaf-queue-template."

// tellTemplates records the queue's templates for REST.
func (s *settings) tellTemplates(q *Queue) {
	var found queue.Templates
	prefix := key(q.Path) + legacyTemplate
	for _, rest := range s.under(prefix) {
		found.LegacyLeaves = append(found.LegacyLeaves, queue.Property{Name: rest, Value: s.values[prefix+rest].Value})
	}
	if q.Kind != Leaf {
		t := s.templates(q)
		found.Created, found.Leaves, found.Parents = byName(t.created), byName(t.leaves), byName(t.parents)
	}
	if len(found.LegacyLeaves)+len(found.Created)+len(found.Leaves)+len(found.Parents) > 0 {
		q.Templates = &found
	}
}

// byName is a template's settings, sorted by name.
func byName(of map[string]Property) (out []queue.Property) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, queue.Property{Name: name, Value: of[name].Value})
	}
	return out
}

// Dynamic is the configuration of a queue that is created on demand below
// parent, from the templates that apply there. It may be refused as a
// configured one may.
func (c *Capacity) Dynamic(parent *Queue, name string, kind Kind) (*Queue, error) {
	path := parent.Path + "." + name
	s := &settings{values: maps.Clone(c.settings.values), cl: &c.Cluster}
	if parent.Kind == Managed {
		for rest, p := range parent.templateSettings { //tidy:unordered each sets a property of its own
			s.put(key(path)+rest, p)
		}
	} else {
		c.template(s, parent, path, kind)
	}
	q := &Queue{Settings: queue.Settings{Path: path, Name: name}, Parent: parent, Kind: kind}
	s.readSettings(q)
	if parent.Kind != Managed {
		s.dynamicACLs(q)
		s.dynamicAmounts(q)
	}
	if s.err != nil {
		return nil, s.err
	}
	return q, nil
}

// Managed leaf of a template, for the sizes that a parent shares out.
func (c *Capacity) ManagedTemplate(parent *Queue) (*Queue, error) {
	return c.Dynamic(parent, "leaf-queue-template", Leaf)
}

// checkTemplates reads the capacities of managed parents' templates, which no
// queue may have used yet.
//
// compat: the rest of a template is read when a queue is created.
func (c *Capacity) checkTemplates(q *Queue) *Error {
	if q.Kind == Managed {
		var refused *Error
		if _, err := c.ManagedTemplate(q); errors.As(err, &refused) && strings.HasSuffix(refused.Finding.Key, "capacity") {
			return refused
		}
	}
	for _, child := range q.Children {
		if err := c.checkTemplates(child); err != nil {
			return err
		}
	}
	return nil
}

// template overlays the templates of parent on the settings below path: those
// under its exact path first, then those under paths with * in place of the
// last parts. What is set for the queue itself stays.
//
// compat: except user-limit-factor and maximum-am-resource-percent of a leaf: where they are set for the queue itself, fixed values hold,
// and no template changes them.
func (c *Capacity) template(s *settings, parent *Queue, path string, kind Kind) {
	own := map[string]bool{}
	for _, rest := range s.under(key(path)) {
		own[rest] = true
	}
	put := func(rest string, p Property) {
		if !own[rest] {
			s.put(key(path)+rest, p)
		}
	}
	if kind == Leaf {
		for _, forced := range []Property{{Name: "user-limit-factor", Value: "-1"}, {Name: "maximum-am-resource-percent", Value: "1"}} {
			s.put(key(path)+forced.Name, forced)
		}
	}
	t := c.settings.templates(parent)
	special := t.parents
	if kind == Leaf {
		special = t.leaves
	}
	for rest, p := range t.created { //tidy:unordered each sets a property of its own
		if _, ok := special[rest]; !ok {
			put(rest, p)
		}
	}
	for rest, p := range special { //tidy:unordered each sets a property of its own
		put(rest, p)
	}
}

// templates of a flexible queue: for all queues that are created below it, for leaves and for parents.
type templates struct{ created, leaves, parents map[string]Property }

func (s *settings) templates(q *Queue) templates {
	t := templates{map[string]Property{}, map[string]Property{}, map[string]Property{}}
	for _, pattern := range wildcards(q.Path, int(q.MaxDepth)) {
		prefix := key(pattern) + "auto-queue-creation-v2."
		for _, rest := range s.under(prefix) {
			p := s.values[prefix+rest]
			if r, ok := strings.CutPrefix(rest, "template."); ok {
				keepFirst(t.created, r, p)
			} else if r, ok := strings.CutPrefix(rest, "leaf-template."); ok {
				keepFirst(t.leaves, r, p)
			} else if r, ok := strings.CutPrefix(rest, "parent-template."); ok {
				keepFirst(t.parents, r, p)
			}
		}
	}
	return t
}

func keepFirst(m map[string]Property, k string, p Property) {
	if _, ok := m[k]; !ok {
		m[k] = p
	}
}

// wildcards are the paths under which templates for children of path are
// looked for, the most specific first.
func wildcards(path string, depth int) []string {
	out := []string{path}
	parts := strings.Split(path, ".")
	for n := 1; n <= depth && n < len(parts); n++ {
		parts[len(parts)-n] = "*"
		out = append(out, strings.Join(parts, "."))
	}
	return out
}

// dynamicAmounts gives a queue without a capacity the weight 1.
func (s *settings) dynamicAmounts(q *Queue) {
	for label, a := range q.Amounts { //tidy:unordered each changes only itself
		if a.Vector.Empty() {
			a.Vector, a.MaxVector, a.Weight = s.cl.uniform(1, Weight), s.cl.uniform(100, Percent), 1
			q.Amounts[label] = a
		}
	}
}

// dynamicACLs lets nobody in unless a template does.
func (s *settings) dynamicACLs(q *Queue) {
	q.Submit = s.acl(key(q.Path)+"acl_submit_applications", " ")
	q.Admin = s.acl(key(q.Path)+"acl_administer_queue", " ")
}

// way is the queues from the root to that path, as far as they are configured.
func (c *Capacity) way(path string) []*queue.Settings {
	q := c.Root
	found := []*queue.Settings{&q.Settings}
	for _, name := range strings.Split(path, ".")[1:] {
		i := slices.IndexFunc(q.Children, func(c *Queue) bool { return c.Name == name })
		if i < 0 {
			break
		}
		q = q.Children[i]
		found = append(found, &q.Settings)
	}
	return found
}
