package sim

import (
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// TestNoticeThatCounts plays notices of one container, and its end.
func TestNoticeThatCounts(t *testing.T) {
	id, on := yarn.ContainerID{Number: 1}, yarn.NodeID{Host: "h1", Port: 1}
	for name, play := range map[string]struct {
		noticed []int64
		end     int64
		smaller bool // and the node has got smaller since the first notice
		wrong   bool
	}{
		"none":                           {nil, noticeTime, false, true},
		"in time":                        {[]int64{0}, noticeTime, false, false},
		"too late":                       {[]int64{1}, noticeTime, false, true},
		"withdrawn and given anew":       {[]int64{0, noticeTime}, noticeTime + 1, false, true},
		"given anew in time":             {[]int64{0, noticeTime}, 2 * noticeTime, false, false},
		"another one for a smaller node": {[]int64{0, 1}, noticeTime, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{Done: map[string]int{}}
			x := &term{c: c, d: &daemon{}, known: newKnown()}
			x.live[id] = on
			for _, at := range play.noticed {
				c.now.Mono = at
				x.notices(&engine.Effects{Notices: []yarn.ContainerID{id}})
				x.sizes[on] = sized{ends: play.smaller, due: 10 * noticeTime}
			}
			c.now.Mono = play.end
			fx := &engine.Effects{}
			if x.preempted(engine.ContainerEvent{Container: id, Node: on, Exit: yarn.ExitPreempted}, fx); (c.wrong != "") != play.wrong {
				t.Errorf("found: %q", c.wrong)
			}
		})
	}
}
