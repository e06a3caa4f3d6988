package engine

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// fairRig is a rig of the FairScheduler with that allocation file.
func fairRig(t *testing.T, file string) *rig {
	t.Helper()
	set := settings()
	set.Fair = true
	r := rigOf(t, set, fairQueues(t, file))
	r.do(RegisterNode{Ticket: r.next(), Node: nodeID("h1"), HTTPPort: 1, Total: yarn.NewResource(8192, 8), Health: Health{Healthy: true}})
	return r
}

// immediately carries a command out that is answered at once.
func (r *rig) immediately(c func(Ticket) Command) (value any, text string) {
	k := r.next()
	r.do(c(k))
	reply, _ := r.reply(k)
	if reply.Err != nil {
		text = reply.Err.Text
	}
	return reply.Value, text
}

// to submits an application of a user to a queue.
func (r *rig) to(n int32, user, queue string, mb int64) {
	r.do(Submit{Ticket: r.next(), Application: Submission{ID: appID(n), User: user, Queue: queue,
		AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(mb, 1), Count: 1, RelaxLocality: true}}}})
}

// TestFairTexts: what holds an application back, and why it is refused, is told in Apache's words.
func TestFairTexts(t *testing.T) {
	r := fairRig(t, `<queue name="dev"><maxRunningApps>1</maxRunningApps></queue><queue name="small"><maxResources>1024 mb, 1 vcores</maxResources></queue>
		<queue name="am"><maxAMShare>0.1</maxAMShare></queue><queue name="top" type="parent"/>
		<user name="bob"><maxRunningApps>0</maxRunningApps></user>
		<queuePlacementPolicy><rule name="specified" create="false"/><rule name="reject"/></queuePlacementPolicy>`)
	for i, c := range []struct {
		user, queue string
		mb          int64
		want        string
	}{
		{"ann", "root.dev", 256, ""},
		{"ann", "dev", 256, `Application is added to the scheduler and is not yet activated. The queue "root.dev" has reached the maximum limit of runnable applications.`},
		{"bob", "small", 256, `Application is added to the scheduler and is not yet activated. The user "bob" has reached the maximum limit of runnable applications.`},
		{"ann", "am", 2048, "Application is added to the scheduler and is not yet activated.  (Resource request: <memory:2048, vCores:1> exceeds maximum AM resource allowed)."},
		{"ann", "small", 2048, "Application is added to the scheduler and is not yet activated.  (Resource request: <memory:2048, vCores:1> exceeds maximum AM resource allowed)."},
		{"ann", "root.nowhere", 256, "Reject application " + appID(6).String() + " submitted by user ann application rejected by placement rules."},
		{"ann", "top", 256, "root.top is not a leaf queue"},
	} {
		n := int32(i + 1)
		r.to(n, c.user, c.queue, c.mb)
		r.do(UpdateShares{})
		a := r.e.apps[appID(n)]
		got := r.e.appView(a).Diagnostics
		if _, after, stamped := strings.Cut(got, "] "); stamped {
			got = after
		}
		if got != c.want {
			t.Errorf("%s in %s: %s\nwant %s", c.user, c.queue, got, c.want)
		}
	}
	for _, c := range []struct {
		do   Command
		want string
	}{
		{SetPriority{Application: appID(1), Priority: 2}, "Update application priority is not supported in Fair Scheduler"},
		{Move{Application: appID(1), Queue: "root.none", User: "ann"}, "Target queue root.none not found or is not a leaf queue."},
	} {
		if _, got := r.immediately(func(k Ticket) Command {
			switch x := c.do.(type) {
			case SetPriority:
				x.Ticket = k
				return x
			case Move:
				x.Ticket = k
				return x
			}
			return nil
		}); got != c.want {
			t.Errorf("%T: %s", c.do, got)
		}
	}
}

// TestDeleteQueue: a queue goes on request that the next sweep would remove; any other stays, and the refusal says why.
func TestDeleteQueue(t *testing.T) {
	r := fairRig(t, `<queue name="dev"/>`)
	r.to(1, "ann", "root.made.for.ann", 256)
	r.to(2, "bob", "root.made.for.bob", 256)
	ask := func(queue, want string) {
		t.Helper()
		value, refused := r.immediately(func(k Ticket) Command { return DeleteQueue{Ticket: k, Queue: queue} })
		if refused == "" {
			refused = value.(string)
		}
		if refused != want {
			t.Errorf("%s: %s\nwant %s", queue, refused, want)
		}
	}
	ask("root", "the queue root is not deleted: it is the root queue")
	ask("dev", "the queue root.dev is not deleted: the allocation file names it")
	ask("root.made.for.ann", "the queue root.made.for.ann is not deleted: it has 1 application")
	ask("made", "the queue root.made is not deleted: the queue root.made.for below it is not deleted either")
	ask("nowhere", "there is no queue nowhere")
	r.do(Kill{Ticket: r.next(), Application: appID(1)})
	ask("made.for.ann", "root.made.for.ann")
	ask("made.for.ann", "there is no queue made.for.ann")
	ask("made", "the queue root.made is not deleted: the queue root.made.for below it is not deleted either")
	r.do(Kill{Ticket: r.next(), Application: appID(2)})
	ask("made", "root.made")
	ask("root.made.for.bob", "there is no queue root.made.for.bob")
	if bad := r.check(); bad != "" {
		t.Error(bad)
	}
	r.to(3, "ann", "root.made.for.ann", 256)
	if r.e.apps[appID(3)].state != yarn.AppAccepted {
		t.Error("the queue cannot be made again")
	}
	other := newRig(t, settings())
	if _, refused := other.immediately(func(k Ticket) Command { return DeleteQueue{Ticket: k, Queue: "default"} }); refused !=
		"the queue root.default is not deleted: only the FairScheduler deletes queues on request" {
		t.Error(refused)
	}
}

// TestSteadySharesOfLiveQueues: a queue that is gone counts no longer, however it went.
func TestSteadySharesOfLiveQueues(t *testing.T) {
	r := fairRig(t, `<queue name="dev"/>`)
	share := func() int64 {
		q, _ := r.sched.Queue("root.dev")
		return q.Fair.SteadyShare.MemoryMB()
	}
	for i, remove := range []Command{TendQueues{Deleting: true}, DeleteQueue{Queue: "ann"}} {
		n := int32(i + 1)
		r.to(n, "ann", "root.ann", 256)
		if got := share(); got != 4096 {
			t.Errorf("of 8192 MB one of two queues has %d", got)
		}
		r.do(Kill{Ticket: r.next(), Application: appID(n)})
		r.do(remove)
		if got := share(); got != 8192 {
			t.Errorf("after %T the only queue has %d", remove, got)
		}
	}
}

// TestShareShown: what readers see of an application's part of its queue's share follows the share, and why its master waits follows the reason.
func TestShareShown(t *testing.T) {
	r := fairRig(t, `<queue name="dev"><maxRunningApps>1</maxRunningApps></queue><queue name="am"/>`)
	seen := func(n int32) *view.Application {
		t.Helper()
		r.e.Publish(r.now, &r.reader)
		return r.reader.apps[appID(n)]
	}
	r.to(1, "ann", "root.dev", 1024)
	r.do(UpdateShares{})
	r.do(&Heartbeat{Ticket: r.next(), Node: nodeID("h1"), Health: Health{Healthy: true}})
	if v := seen(1); v.Usage.QueuePercent != 12.5 || v.Usage.ClusterPercent != 12.5 {
		t.Errorf("alone it has %v%% of its queue's share", v.Usage.QueuePercent)
	}
	r.to(2, "bob", "root.am", 2048)
	r.do(UpdateShares{})
	if v := seen(1); v.Usage.QueuePercent != 25 {
		t.Errorf("beside another queue it has %v%% of its queue's share", v.Usage.QueuePercent)
	}
	r.to(3, "ann", "root.dev", 1024)
	r.do(UpdateShares{})
	if v := seen(3); !strings.HasSuffix(v.Diagnostics, "maximum limit of runnable applications.") {
		t.Errorf("the third waits because %q", v.Diagnostics)
	}
	r.do(Kill{Ticket: r.next(), Application: appID(1)})
	r.do(UpdateShares{})
	if v := seen(3); v.Diagnostics != "" {
		t.Errorf("nothing holds it back any more, and yet: %s", v.Diagnostics)
	}
}
