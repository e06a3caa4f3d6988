package web

import (
	"cmp"
	"maps"
	"slices"

	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// userUse is what a user's applications in a queue have now.
type userUse struct {
	apps                    appCounts
	containers, reserved    int64
	used, held, outstanding yarn.Resource
}

// userBeans have what users have in queues, if that is told: of all that have been counted, and of their queues' ancestors.
func userBeans(c *view.Cluster, t *access.Tallies) []introspect.Bean {
	if t.Users == nil {
		return nil
	}
	uses := map[access.UserInQueue]*userUse{}
	for _, a := range c.Applications {
		one, counts := countApplication(c, a)
		if !counts {
			continue
		}
		for path := a.Queue; path != ""; path = queue.ParentPath(path) {
			key := access.UserInQueue{Queue: path, User: a.User}
			if _, told := t.Users[key]; !told {
				continue
			}
			u := uses[key]
			if u == nil {
				u = &userUse{}
				uses[key] = u
			}
			u.add(&one, a.Usage)
		}
	}
	keys := slices.SortedFunc(maps.Keys(t.Users), func(a, b access.UserInQueue) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.User, b.User))
	})
	var out []introspect.Bean
	for _, key := range keys {
		tally, use := t.Users[key], uses[key]
		if use == nil {
			use = &userUse{}
		}
		out = append(out, userBean(key, &tally, use))
	}
	return out
}

func (u *userUse) add(one *appCounts, usage *view.Usage) {
	u.apps.add(one)
	u.containers += int64(usage.Containers)
	u.reserved += int64(usage.ReservedContainers)
	u.used = u.used.Add(usage.Used)
	u.held = u.held.Add(usage.Reserved)
	u.outstanding = u.outstanding.Add(usage.Pending)
}

func userBean(key access.UserInQueue, t *access.UserTally, u *userUse) introspect.Bean {
	b := introspect.Metrics(service, "QueueMetrics"+queueKeys(&queue.Info{Path: key.Queue})+",user="+introspect.KeyValue(key.User), "yarn",
		introspect.Gauge("AppsPending", u.apps.pending, "applications whose master has no container yet"),
		introspect.Gauge("AppsRunning", u.apps.running, "applications whose master has a container"),
		introspect.Counter("AppsSubmitted", t.Submitted, "applications that the queue accepted"),
		introspect.Counter("AppsCompleted", t.Completed, "of those: that FINISHED"),
		introspect.Counter("AppsFailed", t.Failed, "of those: that FAILED"),
		introspect.Counter("AppsKilled", t.Killed, "of those: that were KILLED"),
		introspect.Gauge("AllocatedContainers", u.containers, "containers"),
		introspect.Gauge("AllocatedMB", u.used.MemoryMB(), "memory of containers, MiB"),
		introspect.Gauge("AllocatedVCores", u.used.VCoreCount(), "vcores of containers"),
		introspect.Gauge("PendingMB", u.outstanding.MemoryMB(), "memory asked for, MiB"),
		introspect.Gauge("PendingVCores", u.outstanding.VCoreCount(), "vcores asked for"),
		introspect.Gauge("ReservedContainers", u.reserved, "reservations"),
		introspect.Gauge("ReservedMB", u.held.MemoryMB(), "reserved memory, MiB"),
		introspect.Gauge("ReservedVCores", u.held.VCoreCount(), "reserved vcores"),
		introspect.Counter("AggregateContainersAllocated", t.Allocated, "containers that were allocated"))
	b.Attributes = append(b.Attributes, containerCounts(&t.QueueTally)...)
	b.Attributes = append(b.Attributes, appGauges(&u.apps)...)
	b.Attributes = append([]introspect.Attribute{{Name: "tag.Queue", Value: key.Queue}, {Name: "tag.User", Value: key.User}}, b.Attributes...)
	return b
}
