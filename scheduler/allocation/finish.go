package allocation

import (
	"fmt"

	"github.com/heddle-project/heddle/yarn"
)

// finish fills in what queues take from above and from the defaults, and judges what only the whole tree shows.
func (p *parser) finish() {
	if e := p.top["fairSharePreemptionTimeout"]; e != nil && p.top["defaultFairSharePreemptionTimeout"] != nil {
		p.say(Warning, NoEffect, e, e.name, javaTrim(e.text), "it is an old name of defaultFairSharePreemptionTimeout, which is there, too, and counts", "remove it")
	}
	root := p.root.queue
	root.Kind = Parent
	if p.root.set["aclSubmitApps"] == nil {
		root.Submit = yarn.Everybody()
	}
	if p.root.set["aclAdministerApps"] == nil {
		root.Administer = yarn.Everybody()
	}
	above := *root
	above.MinShareTimeout, above.FairShareTimeout, above.FairShareThreshold = p.minTimeout, p.fairTimeout, p.threshold
	above.MaxContainer, above.Preemptable = Unbounded(p.types), true
	p.finishQueue(p.root, &above, nil)
}

// finishQueue does so for a queue and those below it; parent is nil for root.
func (p *parser) finishQueue(d *draft, above *Queue, parent *draft) {
	q := d.queue
	p.kind(d)
	inherit(d, "minSharePreemptionTimeout", &q.MinShareTimeout, above.MinShareTimeout)
	inherit(d, "fairSharePreemptionTimeout", &q.FairShareTimeout, above.FairShareTimeout)
	inherit(d, "fairSharePreemptionThreshold", &q.FairShareThreshold, above.FairShareThreshold)
	inherit(d, "maxContainerAllocation", &q.MaxContainer, above.MaxContainer)
	inherit(d, "maxRunningApps", &q.MaxApps, p.defaults.QueueMaxApps)
	inherit(d, "maxAMShare", &q.MaxAMShare, p.defaults.QueueMaxAMShare)
	inherit(d, "maxResources", &q.Max, p.defaults.QueueMax)
	inherit(d, "schedulingPolicy", &q.Policy, p.defaults.Policy)
	if e := d.set["allowPreemptionFrom"]; e != nil && q.Preemptable && !above.Preemptable {
		p.say(Warning, NoEffect, e, q.Path+"/"+e.name, javaTrim(e.text), "a queue above does not allow it, so that it has no effect", "change it there")
	}
	q.Preemptable = q.Preemptable && above.Preemptable
	p.bounds(d)
	p.open(d)
	if q.Policy == FIFO && q.Kind != Leaf && len(d.children) == 0 {
		p.tell(Warning, Structure, d.set["schedulingPolicy"], q.Path+"/schedulingPolicy", "no queue can be made below a queue that is fifo", "write fair or drf")
	}
	if parent != nil {
		p.allowed(d, parent)
	}
	for _, c := range d.children {
		p.finishQueue(c, q, d)
		q.Children = append(q.Children, c.queue)
	}
}

// inherit takes what the file does not say from above.
func inherit[T any](d *draft, name string, value *T, above T) {
	if d.set[name] == nil {
		*value = above
	}
}

// kind decides what the queue is for, and refuses what does not go with that.
func (p *parser) kind(d *draft) {
	q := d.queue
	parent := d.declared || len(d.children) > 0
	why := `type="parent"`
	if len(d.children) > 0 {
		why = "queues below it"
	}
	if e := d.set["reservation"]; e != nil {
		if parent {
			p.refuse(e, q.Path+"/"+e.name, "a queue with "+why+" cannot be reserved", "remove it, or make it a leaf")
		}
		q.Kind = Plan
	}
	if e := d.set["maxAMShare"]; e != nil && parent {
		p.refuse(e, q.Path+"/"+e.name, "a queue with "+why+" runs no masters", "write it in the leaves, or as queueMaxAMShareDefault")
	}
	if parent {
		q.Kind = Parent
	}
	if e := d.set["maxChildResources"]; e != nil && q.Kind == Leaf && q.Path != "root" {
		p.say(Warning, NoEffect, e, q.Path+"/"+e.name, javaTrim(e.text), "it has an effect in parents only, and this is a leaf", "remove it")
	}
}

// bounds compares the least and the most of a queue.
func (p *parser) bounds(d *draft) {
	q, e := d.queue, d.set["minResources"]
	if e == nil || q.Max.OfCluster {
		return
	}
	for i, t := range p.types {
		if q.Min[i] <= q.Max.Amount[i] {
			continue
		}
		// compat: the larger one is the maximum.
		p.say(Warning, Maximum, e, q.Path+"/"+e.name, javaTrim(e.text),
			fmt.Sprintf("%s: the minimum, %d, is more than the maximum, %d, and counts as the maximum, too", t.Name, q.Min[i], q.Max.Amount[i]),
			"write a maximum that is not below the minimum")
	}
}

// open tells of lists that keep nobody out, because root lets everybody in.
func (p *parser) open(d *draft) {
	if d == p.root {
		return
	}
	for _, l := range []struct {
		name, act string
		list      yarn.ACL
	}{{"aclSubmitApps", "submit", p.root.queue.Submit}, {"aclAdministerApps", "administer", p.root.queue.Administer}} {
		if e := d.set[l.name]; e != nil && l.list.All() {
			p.say(Warning, AccessList, e, d.queue.Path+"/"+l.name, e.text, "it keeps nobody out, because root lets everybody "+l.act,
				"give root an "+l.name+" with a single space")
		}
	}
}

// allowed refuses policies that the parent's does not go with.
func (p *parser) allowed(d, parent *draft) {
	at, key := d.set["schedulingPolicy"], d.queue.Path+"/schedulingPolicy"
	if at == nil {
		at = d.first
	}
	switch q, above := d.queue, parent.queue; {
	case above.Policy == FIFO:
		if len(parent.children) > 0 && parent.children[0] != d {
			return // it is said once
		}
		p.refuse(parent.set["schedulingPolicy"], above.Path+"/schedulingPolicy", "a queue with queues below it cannot be fifo", "write fair or drf, and fifo in leaves")
	case q.Policy == DRF && above.Policy == Fair:
		p.refuse(at, key, "drf is not possible below "+above.Path+", which is fair", "make "+above.Path+" drf, or this queue fair or fifo")
	}
}
