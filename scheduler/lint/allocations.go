package lint

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// Repeated is an element of an allocation file that is there twice, though one counts. Further codes of allocation
// files are those of package allocation, and mean there what they mean here.
const Repeated Code = allocation.Repeated

// AllocationFile tells whether a text is an allocation file of the FairScheduler, whatever is wrong in it: if it has neither root element, or breaks
// before it, by the first tag of either kind of file.
func AllocationFile(data []byte) bool {
	root := allocation.RootElement(data)
	if root != allocation.Root && root != "configuration" {
		for _, m := range tags.FindAllSubmatch(data, 1) {
			root = string(m[1])
		}
	}
	return root == allocation.Root
}

// tags are those of root elements, at their beginning or end: the first one may be broken itself.
var tags = regexp.MustCompile(`</?\s*(allocations|configuration)\b`)

// CheckFair lists all findings about what the FairScheduler reads: its properties, and the allocation file if Cluster has one, whose lines
// have origins that begin with File.
func CheckFair(in Input) []Finding {
	l := newLinter(in)
	l.fairProperties()
	if in.Cluster.Allocations != nil {
		l.allocations([]byte(in.Cluster.Allocations.Text))
	}
	return l.sorted()
}

// CheckAllocations lists all findings about an allocation file, in the order of its lines. Of in it looks at File, the
// types of Cluster, Size and Notes.
func CheckAllocations(in Input, data []byte) []Finding {
	l := &linter{in: in, out: in.Notes}
	l.allocations(data)
	return l.sorted()
}

// fairProperties reads the properties as the scheduler does. What it refuses is set aside, so that the next error comes to light.
func (l *linter) fairProperties() {
	values, cluster := maps.Clone(l.values), l.in.Cluster
	cluster.Policy, cluster.Allocations = config.FairPolicy, nil
	for range maxRefusals {
		_, notes, err := config.Parse(properties(values), cluster)
		var refused *config.Error
		if !errors.As(err, &refused) {
			for _, f := range notes {
				l.say(Warning, Refused, f.Key, f.Rule, "remove it, or correct it")
			}
			return
		}
		f := refused.Finding
		if l.setAside[f.Key] {
			return
		}
		l.setAside[f.Key] = true
		l.say(Error, Refused, f.Key, "the configuration is refused: "+f.Rule, "correct it")
		delete(values, f.Key)
	}
}

// allocations looks at an allocation file.
func (l *linter) allocations(data []byte) {
	a, findings, err := allocation.Parse(data, l.in.Cluster.Types)
	var refused allocation.Errors
	if errors.As(err, &refused) {
		for _, f := range refused {
			if f.Code == allocation.Broken {
				f.What = "the allocation file of the FairScheduler is refused: " + f.What
			} else {
				f.What = "the file is refused: " + f.What
			}
			l.ofAllocations(f)
		}
	}
	for _, f := range findings {
		l.ofAllocations(f)
	}
	if a != nil && !l.in.Size.IsZero() {
		l.minimums(a)
	}
}

// ofAllocations takes over what package allocation says.
func (l *linter) ofAllocations(f allocation.Finding) {
	origin := l.in.File
	if f.Line > 0 {
		origin += ":" + strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column)
	}
	severity := map[allocation.Severity]Severity{allocation.Hint: Hint, allocation.Warning: Warning, allocation.Error: Error}[f.Severity]
	l.out = append(l.out, Finding{severity, Code(f.Code), origin, f.Key, f.Value, f.Set, f.What, f.Fix})
}

// minimums compares what the queues below root are to have at least with what there is.
func (l *linter) minimums(a *allocation.Allocation) {
	var sum yarn.Resource
	for _, q := range a.Root.Children {
		for i := range sum {
			if sum[i] += q.Min[i]; sum[i] < 0 {
				sum[i] = 1<<63 - 1
			}
		}
	}
	for i, name := range []string{"memory-mb", "vcores"} {
		if l.in.Size[i] > 0 && sum[i] > l.in.Size[i] {
			l.out = append(l.out, Finding{Severity: Warning, Code: Sum, Origin: l.in.File, Key: "root/queue",
				What: fmt.Sprintf("the queues below root are to have at least %d %s together, and the cluster has %d", sum[i], name, l.in.Size[i]),
				Fix:  "lower minResources of some"})
		}
	}
}
