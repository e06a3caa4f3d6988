package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/opportunistic"
	"github.com/heddle-project/heddle/yarn"
)

// play runs commands with semicolons between them, and gives what they show.
func (s *script) play(lines string) (shown []string) {
	s.t.Helper()
	for line := range strings.SplitSeq(lines, ";") {
		if words := strings.Fields(line); len(words) > 0 {
			shown = append(shown, s.run(words)...)
			if s.rig == nil {
				continue
			}
			if bad := s.rig.check(); bad != "" {
				s.t.Fatalf("%s: %s: %s", lines, line, bad)
			}
		}
	}
	return shown
}

func newScript(t *testing.T) *script {
	return &script{t: t, set: settings(), ids: map[string]int32{}, node: map[string]int32{}, subs: map[yarn.ApplicationID]Submission{}, sizes: map[yarn.ContainerID]yarn.Resource{}, priorities: map[yarn.ContainerID]int32{}}
}

// learn keeps the response ids, so that a scenario need not name them.
func (s *script) learn(word string, args []string) {
	switch word {
	case "register":
		s.ids[args[0]] = 0
	case "node":
		s.node[args[0]] = 0
	}
	for _, x := range s.rig.fx.Replies {
		switch v := x.Value.(type) {
		case *AllocateReply:
			if !v.Duplicate {
				s.ids[args[0]] = v.ResponseID
			}
		case *HeartbeatReply:
			if !v.Duplicate && v.Action == NodeNormal {
				s.node[args[0]] = v.ResponseID
			}
		}
	}
}

// httpPort is the node's web port.
func (s *script) httpPort() (port int32) {
	if _, err := fmt.Sscan(s.opts["http"], &port); err != nil {
		return 8042
	}
	return port
}

// setQueues takes over the queues of a command.
func (s *script) setQueues(words, args []string) bool {
	switch words[0] {
	case "fair": // fair [queue[:element[:value]…] …] [element=value …]: the FairScheduler's allocation file
		words[0], s.set.Fair = "queues", true
		s.props = []config.Property{{Name: fairFile, Value: s.allocations(args)}}
	case "queues": // queues [property=value …]
		s.props = nil
		for _, k := range slices.Sorted(keys(s.opts)) {
			s.props = append(s.props, config.Property{Name: k, Value: s.opts[k]})
		}
	default:
		return false
	}
	return true
}

func (s *script) settings() {
	for _, k := range slices.Sorted(keys(s.opts)) {
		if k == "removed" {
			s.set.RemovedStates = states(s.opts[k])
			continue
		}
		n := s.number(s.opts[k])
		switch k {
		case "reserve":
			s.set.Reservations = reserving()
		case "slice":
			s.set.Slice = int(n)
		case "untracked":
			s.set.UntrackedTimeout = n
		case "max-attempts":
			s.set.MaxAttempts = int32(n)
		case "max-completed":
			s.set.MaxCompleted = int(n)
		case "correct":
			s.set.Correct = n == 1
		case "labels":
			s.set.Labels = n >= 1
			s.set.LabelsByNodes = n == 2
		case "sweeps":
			s.set.Sweeps = n == 1
		case "auto-update":
			s.set.AutoUpdate = n == 1
		case "opportunistic": // 1 and more: the comparators
			s.set.Opportunistic = opportunistic.Settings{Enabled: true, Nodes: 10, Interval: 1000, Comparator: opportunistic.Comparator(n - 1),
				Deviations: 1, Lowest: 5, Highest: 15}
		case "per-call": // after opportunistic, as in the alphabet
			s.set.Opportunistic.PerCall = int32(n)
		case "used-nodes":
			s.set.Opportunistic.Nodes = int32(n)
		default:
			s.fail("no setting %s", k)
		}
	}
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// words are those of a list with commas.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// states are those of a list with commas.
func states(list string) (out []yarn.NodeState) {
	for _, word := range words(list) {
		s, ok := yarn.ParseNodeState(word)
		if !ok {
			panic("no state " + word)
		}
		out = append(out, s)
	}
	return out
}
