package allocation

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/heddle-project/heddle/yarn"
)

// The elements of <queue>.
var queueNames = []string{
	"queue", "pool", "minResources", "maxResources", "maxChildResources", "maxContainerAllocation", "maxRunningApps", "maxAMShare", "weight",
	"schedulingPolicy", "schedulingMode", "minSharePreemptionTimeout", "fairSharePreemptionTimeout", "fairSharePreemptionThreshold",
	"allowPreemptionFrom", "aclSubmitApps", "aclAdministerApps", "aclAdministerReservations", "aclListReservations", "aclSubmitReservations",
	"reservation",
}

// draft is a queue while the file is read. A queue that stands in the file twice has one draft.
type draft struct {
	queue    *Queue
	set      settings // what the file says of it
	first    *element // where it stands; nil if it does not
	declared bool     // type="parent"
	children []*draft
	byName   map[string]*draft
}

func newDraft(name, path string) *draft {
	return &draft{queue: &Queue{Name: name, Path: path, Weight: 1, Preemptable: true}, set: settings{}}
}

// queueName is a queue's name without the spaces around it, Unicode's included.
func queueName(e *element) string {
	name, _ := e.attr("name")
	return strings.TrimSpace(name)
}

func (p *parser) explicitRoot(e *element) {
	if name := queueName(e); name != "root" {
		p.say(Warning, Structure, e, "root", name, "it is read as root", "write root")
	}
	p.queue(p.root, e)
}

// child reads a queue below another.
func (p *parser) child(parent *draft, e *element) {
	if p.queues++; p.queues > MaxQueues {
		if p.queues == MaxQueues+1 {
			p.refuseCode(TooMany, e, "", "", false, fmt.Sprintf("there are more than %d queues", MaxQueues), "write fewer queues")
		}
		return
	}
	name := queueName(e)
	key := parent.queue.Path + "/queue"
	path := parent.queue.Path + "." + name
	switch {
	case name == "":
		p.refuse(e, key, "the queue has no name", `write <queue name="...">`)
	case strings.Contains(name, "."):
		p.refuseValue(e, key, name, "a queue's name must not have a dot", "write a queue within its parent, or another character")
	case len(path) > MaxPathBytes:
		p.refuseValue(e, key, name, fmt.Sprintf("the full name has more than %d bytes", MaxPathBytes), "use shorter names")
	default:
		d := parent.byName[name]
		if d == nil {
			d = newDraft(name, path)
			if parent.byName == nil {
				parent.byName = map[string]*draft{}
			}
			parent.byName[name] = d
			parent.children = append(parent.children, d)
		} else {
			p.tell(Warning, Repeated, e, path, fmt.Sprintf("the queue is also in line %d: what both say is put together, "+
				"and of what both set the last one counts", d.first.line), "write each queue once")
		}
		if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			p.say(Warning, OddName, e, key, name, "the name has characters that nobody sees", "remove them")
		}
		p.queue(d, e)
		return
	}
	// Its contents are read for what else is wrong.
	p.queue(newDraft("?", parent.queue.Path+".?"), e)
}

// queue reads what an element says of a queue.
func (p *parser) queue(d *draft, e *element) {
	path := d.queue.Path
	if d.first == nil {
		d.first, d.queue.Line = e, e.line
	}
	p.attributes(e, path, "name", "type")
	p.strayText(e, path)
	kind, typed := e.attr("type")
	d.declared = d.declared || kind == "parent"
	below := slices.ContainsFunc(e.children, func(c *element) bool { return c.name == "queue" || c.name == "pool" })
	switch {
	case !typed || kind == "parent":
	case kind == "leaf" && below:
		p.say(Warning, NoEffect, e, path+"@type", kind, "the queue has queues below, so that it is a parent", "remove the attribute")
	case kind != "leaf" && !below:
		p.say(Warning, NoEffect, e, path+"@type", kind, "nothing but parent in lower case has an effect: the queue is a leaf",
			`write type="parent", or remove the attribute`)
	}
	for _, c := range e.children {
		if p.stopped {
			return
		}
		if c.name == "queue" || c.name == "pool" {
			p.child(d, c)
		} else {
			p.queueElement(d, c)
		}
	}
}

func (p *parser) queueElement(d *draft, e *element) {
	q, key := d.queue, d.queue.Path+"/"+e.name
	name := e.name
	if name == "schedulingMode" {
		name = "schedulingPolicy"
	}
	if !slices.Contains(queueNames, name) {
		p.unknownElement(e, q.Path, queueNames, topNames, "belongs directly into <allocations>")
		return
	}
	p.once(d.set, name, e, key)
	switch name {
	case "minResources":
		p.minimum(e, key, q)
	case "maxResources":
		p.maximum(e, key, &q.Max)
	case "maxChildResources":
		q.MaxChild = new(Limit)
		p.maximum(e, key, q.MaxChild)
	case "maxContainerAllocation":
		p.container(d, e, key)
	case "maxRunningApps":
		p.apps(e, key, &q.MaxApps)
	case "maxAMShare":
		p.masters(e, key, &q.MaxAMShare)
	case "weight":
		if text, v, ok := p.number(e, key, false); ok {
			if q.Weight = v; v <= 0 {
				p.say(Warning, Weight, e, key, text, "it gives the queue nothing beyond minResources", "write more than 0")
			}
		}
	case "schedulingPolicy":
		p.policy(e, key, &q.Policy)
	case "minSharePreemptionTimeout":
		p.seconds(e, key, &q.MinShareTimeout)
	case "fairSharePreemptionTimeout":
		p.seconds(e, key, &q.FairShareTimeout)
	case "fairSharePreemptionThreshold":
		p.fraction(e, key, &q.FairShareThreshold)
	case "allowPreemptionFrom":
		p.flag(e, key, &q.Preemptable)
	case "reservation":
		p.attributes(e, key)
	default:
		p.list(d, e, key)
	}
}

func (p *parser) minimum(e *element, key string, q *Queue) {
	l, ok := p.resource(e, key, yarn.Resource{})
	switch {
	case !ok:
	case l.OfCluster:
		// compat: a share of the cluster is no minimum.
		p.say(Warning, NoEffect, e, key, javaTrim(e.text), "percentages have no effect as a minimum: the queue has none", "write memory-mb=4096, vcores=4")
		q.Min = yarn.Resource{}
	default:
		q.Min = l.Amount
	}
}

func (p *parser) container(d *draft, e *element, key string) {
	var l Limit
	switch {
	case !p.maximum(e, key, &l):
	case l.OfCluster:
		// compat: a share of the cluster is no limit.
		p.say(Warning, NoEffect, e, key, javaTrim(e.text), "percentages have no effect here: containers may be as large as the scheduler allows",
			"write memory-mb=4096, vcores=4")
		d.queue.MaxContainer = Unbounded(p.types)
	default:
		d.queue.MaxContainer = l.Amount
	}
}

// list reads an access control list. compat: spaces at its ends count, the first one ends the users.
func (p *parser) list(d *draft, e *element, key string) {
	q := d.queue
	p.attributes(e, key)
	if e.text == "" {
		p.refuse(e, key, "it is empty", "write users and groups, * for everybody, or a single space for nobody")
		delete(d.set, e.name)
		return
	}
	acl := yarn.ParseACL(e.text)
	if what := yarn.SuspiciousACL(e.text); what != "" {
		p.say(Warning, AccessList, e, key, e.text, what, "write alice,bob dev,ops: users, one space, groups")
	} else if strings.Trim(e.text, "\n\r\t") != e.text {
		p.say(Warning, AccessList, e, key, e.text, "there are line breaks or tabs around it, and spaces beside them end the users", "write it on one line")
	}
	switch e.name {
	case "aclSubmitApps":
		q.Submit = acl
	case "aclAdministerApps":
		q.Administer = acl
	case "aclAdministerReservations":
		q.Reservations.Administer = &acl
	case "aclListReservations":
		q.Reservations.List = &acl
	case "aclSubmitReservations":
		q.Reservations.Submit = &acl
	}
}

// TrimName is a queue's name without blanks around it.
func TrimName(name string) string { return strings.TrimSpace(name) }
