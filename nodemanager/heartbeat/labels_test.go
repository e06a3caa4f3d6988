package heartbeat

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
)

// names is what a message says of the node's label.
func names(m *pb.NodeLabels) string {
	if m == nil {
		return "-"
	}
	var out []string
	for _, l := range m.NodeLabels {
		out = append(out, fmt.Sprintf("%s:%t", l.GetName(), l.GetIsExclusive()))
	}
	return "[" + strings.Join(out, " ") + "]"
}

// The label is told at the registration, with the first heartbeat, when it has
// changed, and now and then; what may be lost is told again.
func TestLabels(t *testing.T) {
	play(t, func(w *world) {
		label := "gpu"
		w.cfg.Label = func() string { w.mu.Lock(); defer w.mu.Unlock(); return label }
		w.cfg.LabelResync = 2500 * time.Millisecond
		set := func(s string) {
			w.mu.Lock()
			label = s
			w.mu.Unlock()
		}
		w.run()
		if got := names(w.registrations[0].NodeLabels); got != "[gpu:true]" {
			t.Errorf("registered with %s", got)
		}
		w.pass(4500 * time.Millisecond)
		set("")
		w.pass(time.Second)
		set("b@d")
		w.pass(time.Second)
		set("ssd")
		w.mu.Lock()
		fails := true
		w.beat = func(_ string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
			if fails {
				fails = false
				return nil, errors.New("not now")
			}
			out := next(m)
			out.AreNodeLabelsAcceptedByRM = proto.Bool(true)
			return out, nil
		}
		w.mu.Unlock()
		w.pass(3 * time.Second)
		var got []string
		w.mu.Lock()
		for _, m := range w.beats {
			got = append(got, names(m.NodeLabels))
		}
		w.mu.Unlock()
		want := "[gpu:true] - - [gpu:true] - [] - [ssd:true] [ssd:true] -"
		if s := strings.Join(got, " "); s != want {
			t.Errorf("heartbeats told %s, want %s", s, want)
		}
	})
}

// Where somebody else says which label the node has, it says nothing.
func TestNoLabels(t *testing.T) {
	play(t, func(w *world) {
		w.run()
		if w.registrations[0].NodeLabels != nil || w.last().NodeLabels != nil {
			t.Errorf("told %v and %v", w.registrations[0].NodeLabels, w.last().NodeLabels)
		}
	})
}
