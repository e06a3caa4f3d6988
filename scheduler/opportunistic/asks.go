package opportunistic

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// Asks are the opportunistic containers that an attempt wants. The zero value wants none.
type Asks struct {
	wants  map[key]*Want
	list   []*Want // in the order in which they are served, once sorted
	sorted bool
	rows   int
	start  int // in list: where the next call of Place begins
}

// key is what containers are asked for by.
type key struct {
	priority  int32
	requestID int64
	size      yarn.Resource
}

// Want is containers of one kind.
type Want struct {
	Priority            int32
	AllocationRequestID int64
	Size                yarn.Resource // as it was asked for
	count               int32
	hosts, racks        places
}

// places are how many containers are wanted where, in the order in which they were named.
type places struct {
	list  []place
	index map[string]int
	start int // where the next call of Place begins
}

type place struct {
	name  string
	count int32
}

// Rows is how much is remembered.
func (a *Asks) Rows() int { return a.rows }

// HasRoom tells whether these rows can be entered. Those that only withdraw something always can.
func (a *Asks) HasRoom(rows []yarn.Ask) bool {
	more := 0
	for i := range rows {
		if rows[i].Count > 0 {
			more += 2 // a want and a place
		}
	}
	if more > 0 && a.rows+more > MaxRows {
		a.tidy()
	}
	return more == 0 || a.rows+more <= MaxRows
}

// tidy forgets places at which nothing is wanted any more.
func (a *Asks) tidy() {
	a.sorted = false
	a.sort()
	a.rows = 0
	for _, w := range a.list {
		w.hosts.tidy()
		w.racks.tidy()
		a.rows += 1 + len(w.hosts.list) + len(w.racks.list)
	}
}

// Enter enters rows of asks; counts replace those of before.
func (a *Asks) Enter(rows []yarn.Ask) {
	for i := range rows {
		a.enter(&rows[i])
	}
	if len(a.list) > 2*len(a.wants)+mostDropped {
		a.sort()
	}
}

// mostDropped is how many wants that were dropped the list may hold besides as many as there are.
const mostDropped = 64

func (a *Asks) enter(row *yarn.Ask) {
	k := key{row.Priority, row.AllocationRequestID, row.Capability}
	w := a.wants[k]
	anywhere := row.Where == yarn.AnyHost || row.Where == ""
	if row.Count <= 0 && (w == nil || anywhere) {
		if w != nil {
			a.drop(w)
		}
		return
	}
	if w == nil {
		if a.wants == nil {
			a.wants = map[key]*Want{}
		}
		// compat: a row for a place that comes first counts for any place, too, until there is one for that.
		w = &Want{Priority: row.Priority, AllocationRequestID: row.AllocationRequestID, Size: row.Capability, count: row.Count}
		a.wants[k] = w
		a.list, a.sorted = append(a.list, w), false
		a.rows++
	}
	switch {
	case anywhere:
		w.count = row.Count
	case strings.HasPrefix(row.Where, "/"):
		a.rows += w.racks.set(row.Where, row.Count)
	default:
		a.rows += w.hosts.set(row.Where, row.Count)
	}
}

// drop forgets what is not wanted any more.
func (a *Asks) drop(w *Want) {
	w.count = 0
	delete(a.wants, key{w.Priority, w.AllocationRequestID, w.Size})
	a.rows -= 1 + len(w.hosts.list) + len(w.racks.list)
	a.sorted = false
}

// sort brings the wants into the order in which they are served, and leaves out those that were dropped.
//
// compat: Apache begins with the least important ones. Within a priority and request id it goes by hash.
func (a *Asks) sort() {
	if a.sorted {
		return
	}
	a.list = slices.DeleteFunc(a.list, func(w *Want) bool { return w.count <= 0 })
	a.start = 0
	slices.SortFunc(a.list, func(x, y *Want) int {
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(y.AllocationRequestID, x.AllocationRequestID), slices.Compare(x.Size[:], y.Size[:]))
	})
	a.sorted = true
}

// tidy forgets places at which nothing is wanted any more.
func (p *places) tidy() {
	p.list = slices.DeleteFunc(p.list, func(x place) bool { return x.count <= 0 })
	p.start = 0
	clear(p.index)
	for i := range p.list {
		p.index[p.list[i].name] = i
	}
}

// set sets how many are wanted there, and returns by how much the list has grown.
func (p *places) set(name string, count int32) int {
	if i, ok := p.index[name]; ok {
		p.list[i].count = max(count, 0)
		return 0
	}
	if count <= 0 {
		return 0
	}
	if p.index == nil {
		p.index = map[string]int{}
	}
	p.index[name] = len(p.list)
	p.list = append(p.list, place{name, count})
	return 1
}
