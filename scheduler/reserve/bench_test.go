package reserve

import (
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

func BenchmarkSubmit(b *testing.B) {
	for _, agent := range []struct {
		name string
		is   Agent
	}{{"aligned", Aligned}, {"greedy", Greedy}} {
		b.Run(agent.name, func(b *testing.B) {
			s := usual()
			s.Agent = agent.is
			p := NewPlan(s, yarn.NewResource(10<<20, 10_000))
			crowd(b, p, 1000)
			d := define(3_600_000, 7*3_600_000, yarn.AllStages, stage(2048, 1, 50, 2, 600_000), stage(1024, 1, 20, 1, 300_000))
			for b.Loop() {
				if err := p.Submit(0, number(5000), "user1", d); err != nil {
					b.Fatal(err)
				}
				if err := p.Delete(number(5000)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFollow is what a plan follower asks at each step.
func BenchmarkFollow(b *testing.B) {
	p := NewPlan(usual(), yarn.NewResource(10<<20, 10_000))
	crowd(b, p, 1000)
	for now := int64(40_000_000); b.Loop(); now += 10 {
		var sum yarn.Resource
		for _, r := range p.Active(now) {
			sum = sum.Add(r.At(now))
		}
		gone, err := p.Replan(now)
		if p.Archive(now) != nil || gone != nil || err != nil || sum.IsZero() {
			b.Fatal("reservations went, or none were active")
		}
	}
}
