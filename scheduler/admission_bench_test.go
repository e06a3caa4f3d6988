package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// BenchmarkAdmission is what it costs when one application comes to a leaf or
// leaves it while so many wait there for admission: by the queue's limit on
// masters, by those of their users, or because every master is larger than a user
// may have. "comes" is a submission that has to wait, and its removal; "ends" the
// end of one that runs, which lets another one in, and a submission.
func BenchmarkAdmission(b *testing.B) {
	for _, limit := range []struct {
		by    string
		users int // 0: each application has its own
		set   map[string]string
	}{
		{"queue", 10, map[string]string{"user-limit-factor": "100"}},
		{"queue-of-strangers", 0, map[string]string{"user-limit-factor": "100"}},
		{"user", 10, map[string]string{"user-limit-factor": "0.05"}},
		{"user-of-strangers", 0, map[string]string{"user-limit-factor": "0.001"}},
	} {
		for _, waiting := range []int{10, 1000, 100_000} {
			c := &throng{b: b, users: limit.users}
			b.Run(fmt.Sprintf("%s/%d/comes", limit.by, waiting), func(b *testing.B) {
				c.start(b, limit.set, waiting)
				b.ReportAllocs()
				b.ResetTimer()
				from := processorTime()
				for range b.N {
					c.remove(c.submit())
				}
				b.ReportMetric(float64(processorTime()-from)/float64(b.N), "cpu-ns/op")
			})
			b.Run(fmt.Sprintf("%s/%d/ends", limit.by, waiting), func(b *testing.B) {
				c.start(b, limit.set, waiting)
				b.ReportAllocs()
				b.ResetTimer()
				from := processorTime()
				for i := range b.N {
					c.remove(c.all[i])
					c.submit()
				}
				b.ReportMetric(float64(processorTime()-from)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// throng is the applications of one leaf.
type throng struct {
	b     *testing.B
	s     *scheduler.Scheduler
	users int
	seq   int32
	all   []scheduler.AppRef // in the order in which they are admitted, which is that of the submissions
}

func (c *throng) start(b *testing.B, set map[string]string, waiting int) {
	c.b, c.seq, c.all = b, 0, nil
	props := []config.Property{{Name: config.Prefix + "root.queues", Value: "a"}, {Name: config.Prefix + "root.a.capacity", Value: "100"},
		{Name: config.Prefix + "maximum-applications", Value: "1000000"}, {Name: config.Prefix + "root.a.maximum-applications", Value: "1000000"},
		{Name: config.Prefix + "maximum-am-resource-percent", Value: "0.1"}}
	for k, v := range set {
		props = append(props, config.Property{Name: config.Prefix + "root.a." + k, Value: v})
	}
	cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8)})
	if err != nil {
		b.Fatal(err)
	}
	if c.s, err = scheduler.New(cfg); err != nil {
		b.Fatal(err)
	}
	c.s.AddNode(scheduler.Node{ID: yarn.NodeID{Host: "one", Port: 1}, Rack: "/r", Total: yarn.NewResource(2000*1024, 2000)})
	for n := 0; n < waiting; {
		if !c.s.Admission(c.submit()).Active {
			n++
		}
	}
}

func (c *throng) submit() scheduler.AppRef {
	c.seq++
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: c.seq}
	user := c.seq
	if c.users > 0 {
		user %= int32(c.users)
	}
	a, why := c.s.AddApplication(scheduler.Application{ID: id, User: fmt.Sprint("user", user)}, "root.a")
	if !why.OK() {
		c.b.Fatal(why)
	}
	c.s.AddAttempt(a, scheduler.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, AM: yarn.NewResource(2048, 1)})
	c.all = append(c.all, a)
	return a
}

func (c *throng) remove(a scheduler.AppRef) {
	c.s.EndAttempt(a, false)
	c.s.RemoveApplication(a)
}
