package fair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Check recounts the books, and then what this policy keeps besides; see the facade.
func (s *Scheduler) Check() string {
	if bad := s.Core.Check(); bad != "" {
		return bad
	}
	for _, step := range []func() string{s.checkTree, s.checkApps, s.checkLineups, s.checkBounds, s.checkVictims} {
		if bad := step(); bad != "" {
			return bad
		}
	}
	return ""
}

func (s *Scheduler) checkTree() (bad string) {
	count, leaves := 0, 0
	s.root.each(func(q *Queue) {
		count++
		if q.Leaf {
			leaves++
		}
		runnable, sum := int32(len(q.runnableApps)), resource{}
		for _, c := range q.children {
			runnable += c.runnable
			sum.Increase(&c.demand)
			if c.outdated && !q.outdated {
				bad = c.Path + " is outdated, and its parent is not"
			}
			if c.up != q || c.Parent != &q.Queue {
				bad = c.Path + " has another parent"
			}
		}
		switch {
		case s.find(q.Path) != q:
			bad = q.Path + " is not found"
		case runnable != q.runnable:
			bad = fmt.Sprintf("%s: %d run, counted %d", q.Path, q.runnable, runnable)
		case len(q.children) != len(q.byName) || !slices.IsSortedFunc(q.byName, func(a, b *Queue) int { return strings.Compare(a.Path, b.Path) }) ||
			!slices.IsSortedFunc(q.byName, func(a, b *Queue) int { return cmp.Or(cmp.Compare(a.order, b.order), -1) }):
			bad = q.Path + " has ranked its children wrongly"
		case !q.outdated && (q.Leaf && len(q.changed) > 0 || !q.Leaf && sum != q.demandSum):
			bad = q.Path + " is outdated without a note"
		case q.Leaf && len(q.children) > 0 || !q.Leaf && q.members > 0:
			bad = q.Path + " is leaf and parent"
		}
	})
	known := 0
	for _, q := range s.tree.All {
		if q != nil {
			known++
		}
	}
	if bad == "" && (known != count || len(s.leaves) != leaves) {
		bad = fmt.Sprintf("%d queues below the root, %d in the tree; %d leaves, %d in their list", count, known, leaves, len(s.leaves))
	}
	return bad
}

func (s *Scheduler) checkApps() string {
	members, users, masters := map[*Queue]int32{}, map[string]int32{}, map[*Queue]resource{}
	waiting := 0
	for _, of := range s.Apps {
		if of == nil || of.Gone {
			continue
		}
		a := appOf(of)
		q := a.queue
		members[q]++
		if &q.Queue != a.Leaf || s.find(q.Path) != q {
			return fmt.Sprintf("%v is in %s, which is not its leaf or not in the tree", a.ID, q.Path)
		}
		switch in := slices.Contains(q.runnableApps, a); {
		case in != (a.Running && a.runnable):
			return fmt.Sprintf("%v runs: %v, in the list: %v", a.ID, a.Running && a.runnable, in)
		case slices.Contains(q.waiting, a) != (a.Running && !a.runnable):
			return fmt.Sprintf("%v waits to run: %v", a.ID, a.Running && !a.runnable)
		case a.Running && !a.changed && a.demand != s.demandNow(a):
			return fmt.Sprintf("%v uses and asks for %v, and its demand is %v", a.ID, s.demandNow(a), a.demand)
		case a.Running && a.changed != slices.Contains(q.changed, a):
			return fmt.Sprintf("%v is changed: %v", a.ID, a.changed)
		case in:
			users[a.User]++
			masters[q] = masters[q].Add(a.am)
		case a.Running:
			waiting++
			if !slices.Contains(s.users[a.User].waiting, a) {
				return fmt.Sprintf("%v does not wait among those of %s", a.ID, a.User)
			}
		}
	}
	for _, q := range s.leaves {
		if members[q] != q.members {
			return fmt.Sprintf("%s has %d applications, counted %d", q.Path, q.members, members[q])
		}
		if !s.AsApache && masters[q] != q.ams.used {
			return fmt.Sprintf("%s: masters use %v, counted %v", q.Path, q.ams.used, masters[q])
		}
	}
	for name, u := range s.users { //tidy:unordered each by itself
		waiting -= len(u.waiting)
		if u.runnable != users[name] {
			return fmt.Sprintf("user %s: %d run, counted %d", name, u.runnable, users[name])
		}
	}
	if waiting != 0 {
		return "users' lists have applications that do not wait"
	}
	return ""
}

// checkVictims sees that the applications with containers under notice are known, so that nobody has to look for them.
func (s *Scheduler) checkVictims() string {
	owners := s.preemption.owners
	if !slices.IsSortedFunc(owners, func(a, b *app) int { return cmp.Or(cmp.Compare(a.Ref, b.Ref), -1) }) {
		return "applications with containers under notice are out of order, or there twice"
	}
	for _, of := range s.Apps {
		if of == nil || appOf(of).starvation == nil {
			continue
		}
		if a := appOf(of); len(a.victims) > 0 && !slices.Contains(owners, a) {
			return fmt.Sprintf("%v has containers under notice, and is not among those that do", a.ID)
		}
	}
	return ""
}
