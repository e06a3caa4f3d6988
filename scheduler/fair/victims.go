package fair

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

// victimsFor gives notice to the containers that have to end for the asks of an application that starves.
func (s *Scheduler) victimsFor(a *app) (out []victim) {
	for _, w := range s.starvedAsks(a) {
		near := s.nodesAt(w.place)
		for range w.count {
			best, node := s.search(near, &w.size, nil)
			if best == nil {
				break // another look would find nothing either
			}
			if w.relax && w.place != cluster.AnyPlace && best.masters > 0 {
				var far []cluster.NodeRef
				for _, n := range s.nodesAt(cluster.AnyPlace) {
					if !slices.Contains(near, n) {
						far = append(far, n)
					}
				}
				if other, at := s.search(far, &w.size, nil); other != nil && other.masters < best.masters {
					best, node = other, at
				}
			}
			if len(best.list) == 0 {
				break
			}
			s.promise(node, a, best)
			out = append(out, best.list...)
		}
	}
	return out
}

// victimSet is the containers of a node that would have to end to make room for one.
type victimSet struct {
	list    []victim
	masters int
}

// search finds the node where the fewest masters would have to end: the first one with none, if there is one.
func (s *Scheduler) search(nodes []cluster.NodeRef, size *resource, best *victimSet) (*victimSet, cluster.NodeRef) {
	at, most := cluster.NoNode, int(^uint(0)>>1)
	for _, ref := range nodes {
		if c := s.searchNode(ref, size, most); c != nil {
			best, at, most = c, ref, c.masters
			if most == 0 {
				break
			}
		}
	}
	return best, at
}

// searchNode finds containers on the node that have to end to make room for that size, fewer than most masters among them; or nil.
func (s *Scheduler) searchNode(ref cluster.NodeRef, size *resource, most int) *victimSet {
	n := s.Books.Node(ref)
	s.preemption.looks += 1 + n.Containers()
	room := less(n.Free(), s.committed(ref, n))
	c := &victimSet{}
	taken := map[*app]resource{}
	for _, container := range s.newestFirst(ref) {
		book := s.Books.Container(container)
		a := s.app(book.App)
		if a.Gone || s.preemption.noticed[container] {
			continue
		}
		if sum := taken[a]; s.mayTake(a, book, &sum) {
			if book.AM {
				if c.masters++; c.masters >= most {
					return nil
				}
			}
			c.list = append(c.list, victim{container, book.ID})
			taken[a] = sum.Add(book.Resource)
			room.Increase(&book.Resource)
		}
		if s.fits(size, &room) {
			return c
		}
	}
	return nil
}

// newestFirst are the containers of a node, the latest first and masters last.
func (s *Scheduler) newestFirst(ref cluster.NodeRef) (out []cluster.ContainerRef) {
	var masters []cluster.ContainerRef
	for _, c := range s.Books.OnNode(ref, int(^uint(0)>>1)) {
		if s.Books.Container(c).AM {
			masters = append(masters, c)
		} else {
			out = append(out, c)
		}
	}
	slices.Reverse(out)
	return append(out, masters...)
}

// mayTake tells whether a container may be preempted: without it, without its containers under notice and without taken its owner would not be
// below its fair share.
func (s *Scheduler) mayTake(a *app, book *cluster.Container, taken *resource) bool {
	if !a.queue.conf.Preemptable || book.AM && !a.amToo || !book.Live || book.Execution != yarn.Guaranteed {
		return false
	}
	left := s.appUsed(a).Sub(book.Resource).Sub(*taken)
	for _, v := range a.victims {
		if s.stands(v) {
			left = left.Sub(s.Books.Container(v.ref).Resource)
		}
	}
	return !s.below(a.queue.policy, &left, &a.share)
}
