package capacity

import (
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/seeded"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// TestRemediesHelp makes, on random clusters, the change that is named for the reason of somebody who waits. Then that reason must be gone.
func TestRemediesHelp(t *testing.T) {
	helped := map[yarn.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t)
		p.begin()
		for range rapid.IntRange(10, 40).Draw(t, "steps") {
			p.step([]func(){p.ask, p.submit, p.offer, p.ask, p.offer, p.submit, p.finish, p.offer, p.vacate})
		}
		from := rapid.IntRange(0, max(0, len(p.apps)-1)).Draw(t, "first app")
		for i := range p.apps {
			if ref := p.apps[(from+i)%len(p.apps)]; p.remedied(ref, helped) {
				return
			}
		}
	})
	t.Log(helped)
	for _, code := range []yarn.Code{fit.Headroom} {
		if helped[code] == 0 && !t.Failed() && seeded.Full() {
			t.Errorf("the plays were too tame: nobody waited because of %s", code)
		}
	}
}

// remedied makes the change for one of the reasons for which an application waits, if one is known.
func (p *play) remedied(ref AppRef, helped map[yarn.Code]int) bool {
	a := p.quick.app(ref)
	for _, why := range p.quick.Explain(ref, len(p.nodes)) {
		remedy := p.quick.Remedy(ref, why)
		if len(remedy.Settings) == 0 {
			continue
		}
		changed := *p.sc.drawn
		changed.set = maps.Clone(changed.set)
		for _, x := range remedy.Settings {
			changed.set[strings.TrimPrefix(x.Name, config.Prefix)] = x.Value
		}
		cfg, _, err := config.Parse(changed.properties(), changed.cluster())
		if err == nil {
			err = same(p, func(s *Scheduler) error { return s.Refresh(cfg, nil) })
		}
		if err != nil {
			p.t.Fatalf("%v: %v", remedy.Settings, err)
		}
		for _, still := range p.quick.Explain(ref, len(p.nodes)) {
			if still.Code == why.Code && still.Subject == why.Subject && still.Key == why.Key {
				p.t.Fatalf("%v waits because of %+v; with %v it still does, because of %+v", a.ID, why, remedy.Settings, still)
			}
		}
		helped[why.Code]++
		return true
	}
	return false
}

// remedies are the reasons why the application waits, and what is said to help.
func (x *small) remedies() (codes []yarn.Code, settings map[string]string, never bool) {
	settings = map[string]string{}
	for _, why := range x.Explain(x.app, 10) {
		r := x.Remedy(x.app, why)
		codes = append(codes, why.Code)
		never = never || r.Never
		for _, s := range r.Settings {
			settings[strings.TrimPrefix(s.Name, config.Prefix)] = s.Value
		}
	}
	return codes, settings, never
}

// TestRemedyByRemedy has an application wait at one gate after the other. Each time the change is made that is named, and it starts.
func TestRemedyByRemedy(t *testing.T) {
	for _, c := range []struct {
		name string
		set  map[string]string
		want map[string]string
	}{
		{"maximum of the leaf", map[string]string{"root.a.maximum-capacity": "50"}, map[string]string{"root.a.maximum-capacity": "75"}},
		{"maximum of a parent and of the leaf", map[string]string{"root.a.queues": "x", "root.a.x.capacity": "100", "root.a.x.user-limit-factor": "10", "root.a.maximum-capacity": "60",
			"root.a.accessible-node-labels.x.capacity": "50", "root.a.x.accessible-node-labels.x.capacity": "100", "root.a.x.maximum-capacity": "90"},
			map[string]string{"root.a.maximum-capacity": "75", "root.a.x.maximum-capacity": "100"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := func(set map[string]string) (*small, NodeRef, resource) {
				x := newSmallIn(t, set, leafIn(set))
				n := x.node("h", 1, 4096, 8, "")
				x.ask(4, yarn.NewResource(1024, 1))
				for range 4 {
					x.offer(n)
				}
				return x, n, x.AppUsage(x.app).Used
			}
			x, _, used := start(c.set)
			if used.MemoryMB() != 2048 {
				t.Fatalf("it has %v", used)
			}
			codes, settings, _ := x.remedies()
			if !maps.Equal(settings, c.want) {
				t.Fatalf("%v: %v, want %v", codes, settings, c.want)
			}
			set := maps.Clone(c.set)
			maps.Copy(set, settings)
			if _, _, used := start(set); used.MemoryMB() != 3072 {
				t.Errorf("with %v it has %v", settings, used)
			}
		})
	}
}

func leafIn(set map[string]string) string {
	if set["root.a.queues"] != "" {
		return "root.a.x"
	}
	return "root.a"
}

// TestNeverIsSaidAtOnce: no node is as large as what is asked for.
func TestNeverIsSaidAtOnce(t *testing.T) {
	x := newSmall(t, map[string]string{"root.a.maximum-capacity": "100"})
	x.node("h", 1, 2048, 8, "")
	x.node("i", 1, 2048, 8, "")
	x.ask(1, yarn.NewResource(3072, 1))
	if codes, settings, never := x.remedies(); !never || len(settings) > 0 || codes[0] != fit.NodeTooSmall {
		t.Errorf("%v %v %v", codes, settings, never)
	}
	x.AddNode(cluster.Node{ID: yarn.NodeID{Host: "j", Port: 1}, Total: yarn.NewResource(4096, 4)})
	if _, _, never := x.remedies(); never {
		t.Error("there is a node that is large enough")
	}
}
