package compare

import (
	"cmp"
	"maps"
	"slices"
)

// Report is how two outcomes of a workload differ.
type Report struct {
	Trace    string        `json:"trace"`
	A        Configuration `json:"a"`
	B        Configuration `json:"b"`
	Recorded int64         `json:"recorded"` // milliseconds of the recording
	Equal    int           `json:"equal"`    // applications without a difference
	Apps     []Pair        `json:"apps"`
	Queues   []QueuePair   `json:"queues"`
	Notes    []string      `json:"notes,omitempty"`
	Check    *Check        `json:"check,omitempty"` // of the model; nil when neither side is the recorded configuration
}

// Check is how well the model does under the configuration of the recording.
type Check struct {
	Masters int   `json:"masters"` // that started in the recording
	Near    int   `json:"near"`    // of those, that start in the model at most Within milliseconds earlier or later
	Within  int64 `json:"within"`  // a round of heartbeats
}

// check holds an outcome under the recorded configuration against the recording.
func check(w *Workload, o *Outcome) *Check {
	c := &Check{Within: beatEvery}
	if w.Trace {
		c.Within = int64(max(len(w.Nodes), 1))
	}
	for i, a := range w.Apps {
		if a.Began == Never || a.Sub.Unmanaged {
			continue
		}
		c.Masters++
		if m := o.Apps[i].Master; m != Never && max(m-a.Began, a.Began-m) <= c.Within {
			c.Near++
		}
	}
	return c
}

// Configuration is one side.
type Configuration struct {
	File      string `json:"file"`
	Scheduler string `json:"scheduler"`
	Simulated int64  `json:"simulated"` // milliseconds
}

// Pair is an application under both configurations.
type Pair struct {
	Name      string  `json:"name"`
	User      string  `json:"user"`
	Submitted int64   `json:"submitted"` // milliseconds since the beginning
	A         *Result `json:"a"`
	B         *Result `json:"b"`
	Differs   bool    `json:"differs"`
	only      int     // how much of it happens under one configuration alone
	most      int64   // its largest difference
}

// QueuePair is a queue under both configurations. One that is missing on a side has no applications there.
type QueuePair struct {
	Queue string   `json:"queue"`
	A     QueueSum `json:"a"`
	B     QueueSum `json:"b"`
}

// QueueSum sums up the applications of a queue. Times are milliseconds; those of applications for which they never came do not count,
// and the median or the 95th percentile of none is Never.
type QueueSum struct {
	Apps         int   `json:"apps"`
	Refused      int   `json:"refused"`
	Started      int   `json:"started"`
	Ended        int   `json:"ended"`
	MasterMedian int64 `json:"masterMedian"` // from submission to the master's container
	MasterP95    int64 `json:"masterP95"`
	EndMedian    int64 `json:"endMedian"` // from submission to the end
	EndP95       int64 `json:"endP95"`
	Waited       int64 `json:"waited"` // containers × milliseconds
	Pending      int   `json:"pending"`
	Preempted    int   `json:"preempted"`
}

// Compare sets two outcomes of a workload side by side. Applications with the largest difference come first: those of which
// something never happens under one configuration, then by the largest difference of a time.
func Compare(w *Workload, a, b *Outcome) *Report {
	r := &Report{Trace: w.Name, Recorded: w.Length, Notes: w.Notes, A: Configuration{a.Name, a.Scheduler, a.Length}, B: Configuration{b.Name, b.Scheduler, b.Length}}
	for _, o := range []*Outcome{a, b} {
		if o.Name == Recorded && r.Check == nil {
			r.Check = check(w, o)
		}
	}
	for i, app := range w.Apps {
		p := Pair{Name: app.Name, User: app.Sub.User, Submitted: app.At, A: a.Apps[i], B: b.Apps[i]}
		p.weigh()
		if !p.Differs {
			r.Equal++
		}
		r.Apps = append(r.Apps, p)
	}
	slices.SortStableFunc(r.Apps, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(y.only, x.only), cmp.Compare(y.most, x.most), compareBool(y.Differs, x.Differs))
	})
	r.Queues = queues(a, b)
	return r
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// times are the four times of an application.
func (r *Result) times() [4]int64 { return [4]int64{r.Master, r.First, r.Last, r.End} }

// weigh finds out how much the two differ.
func (p *Pair) weigh() {
	if (p.A.Refused == "") != (p.B.Refused == "") {
		p.only += 5
	}
	a, b := p.A.times(), p.B.times()
	for i := range a {
		switch {
		case a[i] == b[i]:
		case a[i] == Never, b[i] == Never:
			p.only++
		default:
			p.most = max(p.most, b[i]-a[i], a[i]-b[i])
		}
	}
	p.Differs = p.only > 0 || p.most > 0 || p.A.State != p.B.State || p.A.Waited != p.B.Waited || p.A.Pending != p.B.Pending ||
		p.A.Granted != p.B.Granted || p.A.Preempted != p.B.Preempted
}

// queues sums up by queue, in the order of their paths.
func queues(a, b *Outcome) []QueuePair {
	one, two := sums(a), sums(b)
	names := slices.Sorted(maps.Keys(one))
	names = append(names, slices.Sorted(maps.Keys(two))...)
	slices.Sort(names)
	var out []QueuePair
	for _, name := range slices.Compact(names) {
		out = append(out, QueuePair{name, sumOf(one[name]), sumOf(two[name])})
	}
	return out
}

func sums(o *Outcome) map[string][]*Result {
	out := map[string][]*Result{}
	for _, r := range o.Apps {
		out[r.Queue] = append(out[r.Queue], r)
	}
	return out
}

func sumOf(list []*Result) QueueSum {
	s := QueueSum{Apps: len(list)}
	var masters, ends []int64
	for _, r := range list {
		if r.Refused != "" {
			s.Refused++
		}
		if r.Master != Never {
			s.Started++
			masters = append(masters, r.Master)
		}
		if r.End != Never {
			s.Ended++
			if r.Refused == "" {
				ends = append(ends, r.End)
			}
		}
		s.Waited += r.Waited
		s.Preempted += r.Preempted
		s.Pending += r.Pending
	}
	slices.Sort(masters)
	slices.Sort(ends)
	s.MasterMedian, s.MasterP95 = percentile(masters, 50), percentile(masters, 95)
	s.EndMedian, s.EndP95 = percentile(ends, 50), percentile(ends, 95)
	return s
}

// percentile is the nearest rank of a sorted list.
func percentile(sorted []int64, percent int) int64 {
	if len(sorted) == 0 {
		return Never
	}
	return sorted[max((len(sorted)*percent+99)/100-1, 0)]
}
