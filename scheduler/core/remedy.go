package core

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Remedy is the smallest change after which a reason no longer holds an application: the settings, or the act, or that so much becomes free.
// For each reason of Explain there is one of them at least, or Never.
type Remedy struct {
	Settings []Setting     // all of them are needed
	Act      Act           // what is done or awaited otherwise; the zero value: nothing besides
	Free     yarn.Resource // so much has to become free: in the queue, for masters, of the user's, or on the node that the reason names
	Room     bool          // Free says what is needed
	Holders  []Holder      // who has what would have to become free, or is in the way: those with the most, at most MaxHolders
	Never    bool          // nothing that ends helps: no node is large enough
	TooLarge bool          // nor here: what is asked for is by itself more than the limit
}

// Any tells whether the remedy says anything.
func (r *Remedy) Any() bool {
	return len(r.Settings) > 0 || r.Act.Do != "" || r.Room || r.Never || r.TooLarge
}

// Setting is a property with the value that it would have. The FairScheduler's are elements of its allocation file: Element is the queue or the user that
// they stand in.
type Setting struct{ Name, Value, Element string }

// Act is what somebody does, or what comes by itself.
type Act struct {
	Do      Deed
	Subject string        // application, node, queue or partition
	Label   string        // partition
	Size    yarn.Resource // at least
	Count   int64         // how often, how many, or a priority
}

// Deed is what an Act does. The texts are stable: REST prints them.
type Deed string

// What somebody does.
const (
	EndApp     Deed = "end-application"       // Subject ends
	RaiseApp   Deed = "raise-priority"        // of this application to Count; Subject is behind it then
	LabelNode  Deed = "label-node"            // node Subject gets Label
	AddNode    Deed = "add-node"              // of Size, in the partition Label
	ResizeNode Deed = "resize-node"           // Subject to Size
	UseNode    Deed = "use-node"              // Subject takes containers again
	Refresh    Deed = "refresh-queues"        // the configuration is applied once more
	MoveApp    Deed = "move-application"      // this one to queue Subject
	Restore    Deed = "restore-queue"         // Subject comes back into the configuration, and the application is moved there
	Relax      Deed = "relax-locality"        // the master asks for other places, or lets any do
	Unavoid    Deed = "remove-from-blacklist" // Subject, by the application
	AskLess    Deed = "ask-for-less"          // the master withdraws, or asks for less
	Ask        Deed = "ask"                   // the application asks for something
)

// What comes by itself.
const (
	Offers   Deed = "wait-for-heartbeats" // Count of them, of any nodes or of node Subject
	Update   Deed = "wait-for-update"     // of shares
	Earlier  Deed = "wait-for-own-asks"   // those of priority Count are met or withdrawn
	Others   Deed = "wait-for-queue"      // what queue Subject waits for is met or withdrawn
	Victims  Deed = "wait-for-preemption" // the notice of Count containers runs out
	NextCall Deed = "wait-for-master"     // its master calls
)

// Holder is somebody who has what others wait for.
type Holder struct {
	App   yarn.ApplicationID
	User  string
	Queue string
	Has   yarn.Resource
	Count int64 // containers or reservations
}

// Bounds of one remedy.
const (
	MaxHolders = 5       // that are named
	maxLooks   = 100_000 // applications that are looked at to find them
)

// Remedy is what would do away with the reason why an application waits: all that does not depend on the policy. Policies know settings besides.
func (s *Core) Remedy(ref AppRef, why yarn.Reason) (r Remedy) {
	a := s.App(ref)
	switch why.Code {
	case fit.NothingAsked:
		r.Act.Do = Ask
	case fit.NoNodes:
		first := s.first(a)
		r.Act = Act{Do: AddNode, Size: first.Any.Size, Label: first.Label}
	case fit.NodeFull:
		r = s.LackOf(why)
		r.Holders = s.holdersOn(why.Subject)
	case fit.NodeTooSmall:
		r = s.LackOf(why)
		r.Never = s.tooLargeForAll(&why.Needed)
		size := why.Limit
		if n := s.nodeNamed(why.Subject); n != cluster.NoNode { // beside what it has
			used := s.Books.Node(n).Used
			for i := range size {
				size[i] = max(size[i], used[i]+why.Needed[i])
			}
		}
		r.Act = Act{Do: ResizeNode, Subject: why.Subject, Size: size}
	case fit.NodeReserved:
		r.Act = Act{Do: EndApp, Subject: why.Detail}
		r.Holders = s.holdersOn(why.Subject)
	case fit.NodeUnavailable:
		r.Act = Act{Do: UseNode, Subject: why.Subject}
	case fit.Blacklisted:
		r.Act = Act{Do: Unavoid, Subject: why.Subject}
	case fit.OtherPartition:
		r.Act = s.MoreNodes(why.Subject, why.Detail, s.first(a).Any.Size)
	case fit.OthersFirst:
		r.Act = Act{Do: EndApp, Subject: why.Detail}
		r.Holders = s.Holders(func(o *App) (resource, int64) {
			if o.ID.String() == why.Detail {
				return s.Holding(o)
			}
			return resource{}, 0
		})
	case fit.ComesNext:
		r.Act = Act{Do: Offers, Subject: why.Subject, Count: 1}
	case fit.StrictLocality:
		r.Act = Act{Do: Relax, Subject: why.Subject}
	case fit.EarlierAsk:
		r.Act = Act{Do: Earlier, Count: why.Count}
	case fit.ShareDelay:
		r.Act = Act{Do: Offers, Count: max(why.Max-why.Count+1, 1)}
	default:
		r = s.LackOf(why)
	}
	return r
}

// first is what the application asks for first; a Want without anything where it asks for nothing.
func (s *Core) first(a *App) *demand.Want {
	if keys := a.Wants.Keys(); len(keys) > 0 {
		return keys[0]
	}
	return &demand.Want{}
}

// tooLargeForAll tells whether no node could ever have so much.
func (s *Core) tooLargeForAll(size *resource) bool {
	for i := range s.Books.NodeSlots() {
		if n := s.Books.Node(NodeRef(i)); n.Member && s.Calc.FitsIn(size, &n.Total) {
			return false
		}
	}
	return true
}

// LackOf is what is missing by the amounts of a reason.
func (s *Core) LackOf(why yarn.Reason) (r Remedy) {
	if why.Needed.IsZero() {
		return r
	}
	for i := range why.Needed {
		if lack := why.Needed[i] - why.Limit[i]; lack > 0 && s.counts(i) {
			r.Free[i], r.Room = lack, true
		}
	}
	return r
}

// Holding is what the application has in all partitions, reservations included.
func (s *Core) Holding(a *App) (sum resource, containers int64) {
	for p := range a.Shares {
		sum.Increase(&a.Shares[p].Used)
		sum.Increase(&a.Shares[p].Reserved)
	}
	return sum, int64(a.Live.Len()) + int64(a.Held)
}

// Holders are the applications that have the most, by what share says that they have and in how many containers.
func (s *Core) Holders(share func(*App) (resource, int64)) []Holder {
	var out []Holder
	for i, looks := 0, 0; i < len(s.Apps) && looks < maxLooks; i++ {
		a := s.Apps[i]
		if a == nil {
			continue
		}
		looks++
		if has, n := share(a); !has.IsZero() || n > 0 {
			out = s.addHolder(out, Holder{a.ID, a.User, a.Leaf.Path, has, n})
		}
	}
	return out
}

// addHolder puts one into a list of those who have the most.
func (s *Core) addHolder(list []Holder, h Holder) []Holder {
	i, _ := slices.BinarySearchFunc(list, h, func(a, b Holder) int {
		return cmp.Or(-s.Calc.Compare(&s.Books.Total, &a.Has, &b.Has), a.App.Compare(b.App))
	})
	if i >= MaxHolders {
		return list
	}
	list = slices.Insert(list, i, h)
	return list[:min(len(list), MaxHolders)]
}

// HoldersIn are those who use the most in the queue and below it, in one partition.
func (s *Core) HoldersIn(q *queue.Queue, p cluster.Part) []Holder {
	return s.Holders(func(a *App) (resource, int64) {
		if !Within(a.Leaf, q) || int(p) >= len(a.Shares) {
			return resource{}, 0
		}
		sum := a.Shares[p].Used
		if sum.IsZero() {
			return sum, 0
		}
		return sum, int64(a.Live.Len()) + int64(a.Held)
	})
}

// Within tells whether a queue is the other one or below it.
func Within(q, above *queue.Queue) bool {
	for ; q != nil; q = q.Parent {
		if q == above {
			return true
		}
	}
	return false
}

// holdersOn are the applications that have the most on a node.
func (s *Core) holdersOn(name string) []Holder {
	ref := s.nodeNamed(name)
	if ref < 0 {
		return nil
	}
	has := map[AppRef]*Holder{}
	var order []AppRef
	add := func(c ContainerRef) {
		book := s.Books.Container(c)
		h := has[book.App]
		if h == nil {
			a := s.App(book.App)
			h = &Holder{App: book.ID.Attempt.Application}
			if a != nil {
				h.User, h.Queue = a.User, a.Leaf.Path
			}
			has[book.App] = h
			order = append(order, book.App)
		}
		h.Has.Increase(&book.Resource)
		h.Count++
	}
	n := s.Books.Node(ref)
	for _, c := range s.Books.OnNode(ref, maxLooks) {
		add(c)
	}
	if n.Reserved >= 0 {
		add(n.Reserved)
	}
	var out []Holder
	for _, app := range order {
		out = s.addHolder(out, *has[app])
	}
	return out
}

// nodeNamed is the node of that name, or NoNode.
func (s *Core) nodeNamed(name string) NodeRef {
	for i := range s.Books.NodeSlots() {
		if n := s.Books.Node(NodeRef(i)); n.Member && n.ID.String() == name {
			return NodeRef(i)
		}
	}
	return cluster.NoNode
}

// NodeIn is a node of the partition that takes containers, that with the most room; NoNode if there is none.
func (s *Core) NodeIn(p cluster.Part) NodeRef {
	best := cluster.NoNode
	var most resource
	for i := range s.Books.NodeSlots() {
		n := s.Books.Node(NodeRef(i))
		if !n.Member || !n.Accepting || n.Part != p {
			continue
		}
		if free := n.Free(); best == cluster.NoNode || s.Calc.More(&s.Books.Total, &free, &most) {
			best, most = NodeRef(i), free
		}
	}
	return best
}

// MoreNodes has the partition to get another node: one of the partition from that has room for the size now, or a new one.
func (s *Core) MoreNodes(from, to string, size resource) Act {
	if p, ok := s.Books.FindPart(from); ok && from != to {
		n := s.NodeIn(p)
		var free resource
		if n != cluster.NoNode {
			free = s.Books.Node(n).Free()
		}
		if n != cluster.NoNode && s.Calc.FitsIn(&size, &free) {
			return Act{Do: LabelNode, Subject: s.Books.Node(n).ID.String(), Label: to}
		}
	}
	return Act{Do: AddNode, Label: to, Size: size}
}

// Line is a place in line.
type Line struct {
	Place, Of int    // from 1; 0: it stands in no line
	For       string // what it waits for in that line: LineSlot, LineMaster or LineRoom
	Queue     string // of those who stand in it
}

// The lines.
const (
	LineSlot   = "a place among the applications that may run"
	LineMaster = "room for its ApplicationMaster"
	LineRoom   = "containers"
)

// Impossible is an ask that is never met as the cluster is, whoever ends.
type Impossible struct {
	Priority int32
	Size     yarn.Resource
	Count    int32
	Label    string
	Why      yarn.Reason
}

// maxJudged is how many kinds of asks of one application are looked at.
const maxJudged = 16

// Impossible are those of the application's asks that no node could ever meet: it is too small, avoided, in another partition or none of the hosts and
// racks that are asked for. It stops at the first node that could.
func (s *Core) Impossible(ref AppRef) (out []Impossible) {
	a := s.App(ref)
	keys := a.Wants.Keys()
	if !a.Running || s.Books.Count == 0 {
		return nil
	}
	for _, w := range keys[:min(len(keys), maxJudged)] {
		if w.Any.Count <= 0 {
			continue
		}
		if why := s.judge(a, w); !why.OK() {
			out = append(out, Impossible{w.Priority, w.Any.Size, w.Any.Count, w.Label, why})
		}
	}
	return out
}

// judge is why no node could ever meet an ask; zero where one could.
func (s *Core) judge(a *App, w *demand.Want) yarn.Reason {
	var largest resource
	var name, avoided string
	here, there := 0, 0 // nodes of the partition; of these, nodes where it may go
	for i := range s.Books.NodeSlots() {
		n := s.Books.Node(NodeRef(i))
		if !n.Member || n.Part != w.Part && (w.Part != 0 || s.Books.Partition(n.Part).Exclusive) {
			continue
		}
		here++
		if !s.reaches(w, n) {
			continue
		}
		there++
		switch size := s.Books.Size(NodeRef(i)); {
		case a.Avoids(n):
			avoided = n.ID.String()
		case s.Calc.FitsIn(&w.Any.Size, &size):
			return yarn.Reason{}
		case name == "" || s.Calc.More(&s.Books.Total, &size, &largest):
			largest, name = size, n.ID.String()
		}
	}
	switch {
	case here == 0:
		return yarn.Reason{Code: fit.OtherPartition, Subject: "", Detail: w.Label}
	case there == 0:
		return yarn.Reason{Code: fit.StrictLocality, Subject: yarn.AnyHost}
	case name != "":
		return yarn.Reason{Code: fit.NodeTooSmall, Subject: name, Needed: w.Any.Size, Limit: largest}
	}
	return yarn.Reason{Code: fit.Blacklisted, Subject: avoided}
}

// reaches tells whether an ask may be met on a node by the places that it names.
func (s *Core) reaches(w *demand.Want, n *cluster.NodeBook) bool {
	if len(w.Rows) == 0 {
		return true
	}
	rack, host := w.At(n.RackPlace), w.At(n.NodePlace)
	switch {
	case rack != nil && rack.Count > 0 && host != nil && host.Count > 0:
		return true
	case rack != nil && !rack.Relax:
		return false
	case rack != nil && rack.Count > 0:
		return true
	}
	return w.Any.Relax
}

// Waits tells whether the application asks for something that it has not got; see the facade.
func (s *Core) Waits(ref AppRef) bool {
	a := s.App(ref)
	return a.Running && a.Wants.PendingContainers() > 0
}

// MayEnter refuses nothing: queues have no limits on who comes.
func (s *Core) MayEnter(*demand.Application, string) yarn.Reason { return yarn.Reason{} }

// RemedyOfRefusal knows none.
func (s *Core) RemedyOfRefusal(*demand.Application, string, yarn.Reason) Remedy { return Remedy{} }
