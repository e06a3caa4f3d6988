package opportunistic

// Why is why a want is not served, by how many of the nodes that report a queue do not take a container of it.
type Why struct {
	*Want
	Count   int32 // containers that are wanted
	Known   int   // nodes that report a queue
	Nodes   int   // of them that were looked at
	Avoided int   // those that do not suit
	Full    int   // whose queues are full, or that have MaxOnNode
	Small   int   // that are smaller than the container
	Nearest *Node // of those with full queues, the one with the shortest
	PerCall int   // containers that one call gets
}

// maxExplained is how many nodes Explain looks at.
const maxExplained = 1000

// Wanted tells whether anything is asked for.
func (a *Asks) Wanted() bool { return len(a.wants) > 0 }

// Explain tells why the want that is served first waits. It changes nothing that Place goes by.
func (l *Loads) Explain(a *Asks, suits func(*Node) bool) (why Why) {
	a.sort()
	for _, w := range a.list {
		if w.count > 0 {
			why.Want, why.Count = w, w.count
			break
		}
	}
	if why.Want == nil {
		return why
	}
	why.Known, why.PerCall = len(l.all.nodes), l.perCall()
	for _, n := range l.all.nodes[:min(len(l.all.nodes), maxExplained)] {
		why.Nodes++
		if !suits(n) {
			why.Avoided++
			continue
		}
		switch l.judge(n, &why.Size) {
		case tooSmall:
			why.Small++
		case full:
			why.Full++
			if x := why.Nearest; x == nil || n.load.Waiting < x.load.Waiting {
				why.Nearest = n
			}
		}
	}
	return why
}

// Queue is how many containers wait on the node, and how many may; and how many opportunistic ones it has.
func (n *Node) Queue() (waiting, capacity, held int32) {
	return n.load.Waiting, n.load.Capacity, n.held
}
