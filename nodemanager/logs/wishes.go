package logs

import (
	"fmt"
	"regexp"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/javaregexp"
	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/wire/pb"
)

// wishes are what an application says about its logs (LogAggregationContext).
type wishes struct {
	whole  filter // of the files of an ended container
	rolled filter // of those of a running one, where logs are rolled
	keep   policy
}

// filter selects files by name; nil patterns select all and none.
type filter struct{ include, exclude *regexp.Regexp }

func (f filter) selects(name string) bool {
	return (f.include == nil || f.include.MatchString(name)) && (f.exclude == nil || !f.exclude.MatchString(name))
}

// rolls tells whether the application wants its logs collected while it runs.
func (w *wishes) rolls() bool { return w.rolled.include != nil }

// selects tells whether a file of a container is collected now. In the middle
// of an application an ended container gives what either filter selects.
func (w *wishes) selects(name string, ended, final bool) bool {
	switch {
	case final:
		return w.whole.selects(name)
	case ended:
		return w.rolled.selects(name) || w.whole.selects(name)
	}
	return w.rolled.selects(name)
}

// readWishes reads a LogAggregationContextProto, which may be empty. A policy
// that is not known is the node's instead, as with Hadoop; odd says so.
func readWishes(context []byte, class, parameters string) (w *wishes, odd, err error) {
	p := &pb.LogAggregationContext{}
	if err := proto.Unmarshal(context, p); err != nil {
		return nil, nil, fmt.Errorf("its LogAggregationContext: %w", err)
	}
	w = &wishes{}
	for _, x := range []struct {
		to      **regexp.Regexp
		what    string
		pattern *string
	}{
		{&w.whole.include, "include", p.IncludePattern}, {&w.whole.exclude, "exclude", p.ExcludePattern},
		{&w.rolled.include, "rolled logs' include", p.RolledLogsIncludePattern}, {&w.rolled.exclude, "rolled logs' exclude", p.RolledLogsExcludePattern},
	} {
		if x.pattern == nil || *x.pattern == "" {
			continue
		}
		if *x.to, err = javaregexp.Parse(*x.pattern); err != nil {
			return nil, nil, fmt.Errorf("its LogAggregationContext, %s pattern: %w", x.what, err)
		}
	}
	if p.LogAggregationPolicyParameters != nil {
		parameters = *p.LogAggregationPolicyParameters
	}
	if own := p.LogAggregationPolicyClassName; own != nil {
		if w.keep, odd = findPolicy(*own, parameters); odd == nil {
			return w, nil, nil
		}
	}
	w.keep, err = findPolicy(class, parameters)
	return w, odd, err
}

// seen remembers which files of a container have been collected, each with its
// time: one that is written to again is collected again.
type seen map[mark]bool

type mark struct {
	name     string
	modified int64
}

func markOf(f view.LogFile) mark { return mark{f.Name, f.Modified} }

// forget drops what is not there any more.
func (s seen) forget(there []view.LogFile) {
	now := map[mark]bool{}
	for _, f := range there {
		now[markOf(f)] = true
	}
	for m := range s {
		if !now[m] {
			delete(s, m)
		}
	}
}

// javaTime is how Hadoop writes times into texts.
func javaTime(t time.Time) string { return t.Format("Mon Jan 02 15:04:05 -0700 2006") }
