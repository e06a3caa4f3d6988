package fairtwin

import "github.com/heddle-project/heddle/scheduler/javanum"

// busy tells whether so much of the cluster is in use that others are preempted.
func (w *World) busy() bool {
	used, all := w.Used(w.Root), w.Cluster()
	return w.Config.Preemption && w.Config.Utilization < max(float32(used[0])/float32(all[0]), float32(used[1])/float32(all[1]))
}

// starvation finds what applications lack of their fair shares, and leaves of their minima, for longer than their timeouts.
func (w *World) starvation() {
	if !w.busy() {
		return
	}
	for _, q := range w.Queues() {
		if q.Leaf {
			w.starving(q)
		}
	}
}

func (w *World) starving(q *Queue) {
	var apps []*App
	for _, m := range w.members(q) {
		apps = append(apps, m.app)
	}
	var lacking resource
	for _, a := range apps {
		if a.FairStarved = w.lacksFair(a); none(a.FairStarved) {
			break // those behind it keep what they had
		}
		lacking = lacking.Add(a.FairStarved)
	}
	left := max0(w.lacksMin(q).Sub(lacking))
	for _, a := range apps {
		a.MinStarved = resource{}
		if none(left) {
			continue
		}
		wants := max0(a.Demand.Sub(w.Usage(a)).Sub(a.FairStarved))
		a.MinStarved = wants
		if w.compare(q, wants, left) > 0 {
			// compat: it is charged the excess over the rest.
			a.MinStarved, left = max0(wants.Sub(left)), resource{}
		} else {
			left = max0(left.Sub(wants))
		}
	}
}

// lacksFair is what the application lacks of the part of its fair share that it is to have.
func (w *World) lacksFair(a *App) resource {
	q, usage := a.Queue, w.Usage(a)
	var part resource
	for i := range w.types() {
		part[i] = javanum.Scale(a.FairShare[i], float64(q.Conf.FairShareThreshold))
	}
	part = least(part, a.Demand)
	if !w.Less(q, usage, part) {
		a.lastAtFair = w.Now
		return resource{}
	}
	if w.Now-a.lastAtFair < q.Conf.FairShareTimeout {
		return resource{}
	}
	return max0(part.Sub(usage))
}

// lacksMin is what the leaf lacks of its minimum.
func (w *World) lacksMin(q *Queue) resource {
	lacks := max0(least(q.Conf.Min, q.Demand).Sub(w.Used(q)))
	if none(lacks) {
		q.lastAtMin = w.Now
	}
	if w.Now-q.lastAtMin < q.Conf.MinShareTimeout {
		return resource{}
	}
	return lacks
}

// Starves tells whether any application starved at the last Update.
func (w *World) Starves() bool {
	for _, a := range w.Apps {
		if a.Running && !(none(a.FairStarved) && none(a.MinStarved)) {
			return true
		}
	}
	return false
}
