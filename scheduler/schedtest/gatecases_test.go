package schedtest

import (
	"strings"

	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// gateCase is how somebody comes to wait at a gate.
type gateCase struct {
	name  string
	setup string // commands of a scenario, with a blank line between two
	then  func(r *runner)
	app   string
	code  yarn.Code
	want  string // the settings of the change, or what is done
}

const (
	capacityHead = `queues max=8192x8
root.queues=a,b
root.a.capacity=50
root.b.capacity=50
root.a.user-limit-factor=10
root.b.user-limit-factor=10
maximum-am-resource-percent=1
per-node-heartbeat.maximum-offswitch-assignments=10
`
	fairHead = "queues policy=fair max=8192x8\n"
)

var gateCases = []gateCase{
	{name: "share of masters", app: "z", code: fit.AMLimit, want: "root.a.maximum-am-resource-percent=0.101", setup: capacityHead + `root.a.maximum-am-resource-percent=0.1

node h1 20480x20

app x user=ann queue=a

app y user=ann queue=a

beat h1

app z user=ann queue=a`},
	{name: "share of masters, for the second in line", app: "w", code: fit.AMLimit, want: "root.a.maximum-am-resource-percent=0.151", setup: capacityHead + `root.a.maximum-am-resource-percent=0.1

node h1 20480x20

app x user=ann queue=a

app y user=ann queue=a

beat h1

app z user=ann queue=a

app w user=ann queue=a`},
	{name: "share of one user's masters", app: "y", code: fit.UserAMLimit, want: "root.a.user-limit-factor=0.11", setup: capacityHead + `root.a.user-limit-factor=0.1

node h1 20480x20

app x user=ann queue=a

beat h1

app y user=ann queue=a`},
	{name: "applications of a queue at once", app: "z", code: fit.ParallelApps, want: "root.a.max-parallel-apps=3", setup: capacityHead + `root.a.max-parallel-apps=1

node h1 8192x8

app x user=ann queue=a

app y user=bob queue=a

app z user=cid queue=a

beat h1`},
	{name: "applications of a user at once", app: "y", code: fit.ParallelApps, want: "user.ann.max-parallel-apps=2", setup: capacityHead + `user.ann.max-parallel-apps=1

node h1 8192x8

app x user=ann queue=a

app y user=ann queue=b

beat h1`},
	{name: "maximum of a leaf", app: "x", code: fit.QueueLimit, want: "root.a.maximum-capacity=62.5", setup: capacityHead + `root.a.maximum-capacity=50

node h1 8192x8

app x user=ann queue=a

beat h1

ask x 8 1024x1

beat h1`},
	{name: "maximum of a leaf in amounts", app: "x", code: fit.QueueLimit, want: "root.a.maximum-capacity=[memory=5120,vcores=8]", setup: `queues max=8192x8
root.queues=a,b
root.a.capacity=[memory=4096,vcores=4]
root.b.capacity=[memory=4096,vcores=4]
root.a.maximum-capacity=[memory=4096,vcores=8]
root.a.user-limit-factor=10
maximum-am-resource-percent=1
per-node-heartbeat.maximum-offswitch-assignments=10

node h1 8192x8

app x user=ann queue=a

beat h1

ask x 8 1024x1

beat h1`},
	{name: "maximum of a leaf and a large ask", app: "x", code: fit.Headroom, want: "root.a.maximum-capacity=75", setup: capacityHead + `root.a.maximum-capacity=50

node h1 8192x8

app x user=ann queue=a

beat h1

ask x 1 2048x1

beat h1

ask x 1 3072x1`},
	{name: "maximum of a parent", app: "x", code: fit.ParentLimit, want: "root.a.maximum-capacity=62.5", setup: capacityHead + `root.a.maximum-capacity=50
root.a.queues=a1
root.a.a1.capacity=100
root.a.a1.user-limit-factor=10

node h1 8192x8

app x user=ann queue=a1

beat h1

ask x 8 1024x1

beat h1`},
	{name: "limit of a user", app: "x", code: fit.UserLimit, want: "root.a.user-limit-factor=0.26", setup: capacityHead + `root.a.user-limit-factor=0.25

node h1 8192x8

app x user=ann queue=a

beat h1

ask x 8 1024x1

beat h1`},
	{name: "partition", app: "x", code: fit.OtherPartition, want: "label-node h1:8041", setup: strings.Replace(capacityHead, "max=8192x8", "max=8192x8 labels=p", 1) + `root.accessible-node-labels.p.capacity=100
root.a.accessible-node-labels=p
root.b.accessible-node-labels=p
root.a.accessible-node-labels.p.capacity=50
root.b.accessible-node-labels.p.capacity=50
root.a.accessible-node-labels.p.maximum-capacity=100

node h1 8192x8

node h2 8192x8

app x user=ann queue=a

beat h2

ask x 1 1024x1 label=p`},
	{name: "partition, where the nodes of others are full", app: "x", code: fit.OtherPartition, want: "add-node", setup: strings.Replace(capacityHead, "max=8192x8", "max=8192x8 labels=p", 1) + `root.accessible-node-labels.p.capacity=100
root.a.accessible-node-labels=p
root.b.accessible-node-labels=p
root.a.accessible-node-labels.p.capacity=50
root.b.accessible-node-labels.p.capacity=50
root.a.accessible-node-labels.p.maximum-capacity=100

node h1 2048x8

app x user=ann queue=a

app y user=bob queue=b

beat h1

node h1 4096x8

beat h1

ask x 1 1024x1 label=p

ask y 2 1024x1

beat h1`},
	{name: "partition of others", app: "x", code: fit.PartitionDenied, want: "label-node h2:8041", setup: strings.Replace(capacityHead, "max=8192x8", "max=8192x8 labels=p", 1) + `root.accessible-node-labels.p.capacity=100
root.a.accessible-node-labels= 
root.b.accessible-node-labels=p
root.b.accessible-node-labels.p.capacity=100

node h1 1024x8

node h2 8192x8 label=p

app x user=ann queue=a

beat h1

ask x 1 1024x1`},
	{name: "partition that the queue has lost", app: "x", code: fit.PartitionDenied, want: "root.a.accessible-node-labels=p", setup: strings.Replace(capacityHead, "max=8192x8", "max=8192x8 labels=p", 1) + `root.accessible-node-labels.p.capacity=100
root.a.accessible-node-labels=p
root.a.accessible-node-labels.p.capacity=100

node h1 1024x8

node h2 8192x8 label=p

app x user=ann queue=a

beat h1

ask x 1 1024x1 label=p

` + strings.Replace(capacityHead, "max=8192x8", "max=8192x8 labels=p", 1) + `root.accessible-node-labels.p.capacity=100
root.a.accessible-node-labels= 
root.a.accessible-node-labels.p.capacity=100`},
	{name: "queue that is gone", app: "x", code: fit.QueueRemoved, want: "restore-queue root.a", setup: capacityHead + `root.state=RUNNING
root.a.state=RUNNING

node h1 8192x8

app x user=ann queue=a

beat h1

ask x 1 1024x1

` + capacityHead + `root.state=STOPPED

` + strings.Replace(capacityHead, "root.a.user-limit-factor=10\n", "", 1) + `root.state=STOPPED
root.a.queues=k
root.a.k.capacity=100`},
	{name: "queue that is gone, and a limit above it", app: "y", code: fit.QueueRemoved, want: "move-application root.b", setup: capacityHead + `root.max-parallel-apps=1

node h1 8192x8

app x user=ann queue=b

beat h1

app y user=bob queue=a

end x

` + capacityHead + `root.a.state=STOPPED
root.max-parallel-apps=1

` + capacityHead + `root.a.state=STOPPED
root.a.queues=k
root.a.k.capacity=100
root.max-parallel-apps=1`},
	{name: "user whom the queue has forgotten", app: "x", code: fit.UserUnknown, want: "move-application root.b", setup: capacityHead + `max-parallel-apps=1

node h1 4096x8

app x user=ann queue=b

app y user=ann queue=b

end y`},
	{name: "list of others", app: "x", code: fit.OtherList, want: "root.a.ordering-policy=fifo", setup: strings.Replace(capacityHead, "max=8192x8", "max=8192x8 labels=p?", 1) + `root.accessible-node-labels.p.capacity=100
root.a.accessible-node-labels=p
root.b.accessible-node-labels=p
root.a.accessible-node-labels.p.capacity=50
root.b.accessible-node-labels.p.capacity=50
root.a.ordering-policy=fifo-with-partitions
root.a.ordering-policy.exclusive-enforced-partitions=p

node h2 2048x8

app x user=ann queue=a

beat h2

node h1 8192x8 label=p

ask x 1 1024x1 label=p`},
	{name: "queue that is gone, and another one", app: "x", code: fit.QueueRemoved, want: "move-application root.b", setup: capacityHead + `
node h1 8192x8

app x user=ann queue=a

beat h1

ask x 1 1024x1

` + capacityHead + `root.a.state=STOPPED

` + capacityHead + `root.a.state=STOPPED
root.a.queues=k
root.a.k.capacity=100`},
	{name: "node full", app: "x", code: fit.NodeFull, want: "free 3072", setup: capacityHead + `
node h1 4096x8

node h2 2048x8

app x user=ann queue=a

beat h1

app y user=bob queue=b

beat h1

ask y 2 1024x1

beat h1

ask x 1 3072x1`},
	{name: "node reserved", app: "x", code: fit.NodeReserved, want: "end-application y", setup: capacityHead + `
node h1 4096x8

app x user=ann queue=a

app y user=bob queue=b

beat h1

node h2 4096x8

avoid y h2

ask y 1 3072x1

beat h1

avoid x h2

ask x 1 1024x1`},
	{name: "nodes that have nothing, and a second attempt", app: "x", code: fit.NodeTooSmall, want: "resize-node h1:8041", setup: capacityHead + `
node h1 4096x8

app x user=ann queue=a

node h1 0x0`, then: secondAttempt},
	{name: "node too small", app: "x", code: fit.NodeTooSmall, want: "resize-node h1:8041", setup: capacityHead + `
node h1 2048x8

node h2 4096x8

app x user=ann queue=a

beat h1

ask x 1 3072x1

lose h2

node h3 2048x8`},
	{name: "node that takes nothing", app: "x", code: fit.NodeUnavailable, want: "use-node h1:8041", then: func(r *runner) { r.s.SetNodeAccepting(r.nodes["h1"], false) }, setup: capacityHead + `
node h1 4096x8

app x user=ann queue=a`},
	{name: "blacklist", app: "x", code: fit.Blacklisted, want: "remove-from-blacklist h1:8041", setup: capacityHead + `
node h1 4096x8

app x user=ann queue=a

beat h1

avoid x h1

ask x 1 1024x1`},
	{name: "delay for locality", app: "x", code: fit.LocalityDelay, want: "wait-for-heartbeats", setup: capacityHead + `node-locality-delay=2

node h1 4096x8 rack=/r1

node h2 4096x8 rack=/r2

node h3 4096x8 rack=/r2

app x user=ann queue=a

beat h2

ask x 1 1024x1 at=h1,/r1

lose h1`},
	{name: "strict locality", app: "x", code: fit.StrictLocality, want: "relax-locality *", setup: capacityHead + `
node h1 4096x8 rack=/r1

node h2 4096x8 rack=/r2

app x user=ann queue=a

beat h2

ask x 1 1024x1 at=h1,/r1 strict

lose h1`},
	{name: "partition that lends", app: "x", code: fit.ShareDelay, want: "wait-for-heartbeats", setup: strings.Replace(capacityHead, "max=8192x8", "max=8192x8 labels=p?", 1) + `root.accessible-node-labels.p.capacity=100
root.a.accessible-node-labels=p
root.b.accessible-node-labels=p
root.a.accessible-node-labels.p.capacity=50
root.b.accessible-node-labels.p.capacity=50

node h1 8192x8 label=p

node h2 2048x8

app x user=ann queue=a

beat h2

ask x 1 2048x1`},
	{name: "own earlier asks", app: "x", code: fit.EarlierAsk, want: "wait-for-own-asks", setup: capacityHead + `node-locality-delay=40

node h1 4096x8 rack=/r1

node h2 4096x8 rack=/r2

node h3 4096x8 rack=/r2

app x user=ann queue=a

beat h2

ask x 2 1024x1 at=h1,/r1 priority=1

lose h1

ask x 1 1024x1 priority=2`},
	{name: "enough is reserved", app: "x", code: fit.ReservationsEnough, want: "reservations-continue-look-all-nodes=true", setup: capacityHead + `reservations-continue-look-all-nodes=false

node h1 4096x8

app x user=ann queue=a

app y user=bob queue=b

beat h1

node h2 4096x8

ask x 1 3072x1

beat h1`},
	{name: "no nodes", app: "x", code: fit.NoNodes, want: "add-node", setup: capacityHead + `
app x user=ann queue=a`},
	{name: "others first", app: "y", code: fit.OthersFirst, want: "raise-priority x", setup: capacityHead + `
node h1 3072x8

app x user=ann queue=a

app y user=ann queue=a

beat h1

ask x 2 1024x1

ask y 1 1024x1`},
	{name: "others of another queue first", app: "x", code: fit.OthersFirst, want: "end-application y", setup: capacityHead + `
node h1 4096x8

app x user=ann queue=a

beat h1

ask x 1 1024x1

beat h1

app y user=bob queue=b

beat h1

ask y 1 1024x1

ask x 1 1024x1`},
	{name: "room kept for another queue", app: "x", code: fit.RoomKept, want: "wait-for-queue root.b", setup: capacityHead + `
node h1 8192x8

app x user=ann queue=a

app y user=bob queue=b

beat h1

ask x 1 1024x1

beat h1

ask y 1 7168x1

ask x 1 1024x1`},
	{name: "the node has to be offered", app: "x", code: fit.ComesNext, want: "wait-for-heartbeats h1:8041", setup: capacityHead + `
node h1 8192x8

app x user=ann queue=a`},

	{name: "fair: applications of a queue at once", app: "z", code: fit.RunningApps, want: "maxRunningApps of queue root.a=3", setup: fairHead + `assignmultiple=true
<allocations>
<queue name="a"><maxRunningApps>1</maxRunningApps></queue>
</allocations>

node h1 8192x8

app x user=ann queue=a

app y user=bob queue=a

app z user=cid queue=a

update

beat h1`},
	{name: "fair: applications of a user at once", app: "y", code: fit.UserRunningApps, want: "maxRunningApps of user ann=2", setup: fairHead + `<allocations>
<queue name="a"></queue>
<user name="ann"><maxRunningApps>1</maxRunningApps></user>
</allocations>

node h1 8192x8

app x user=ann queue=a

app y user=ann queue=a

update

beat h1`},
	{name: "fair: share of masters", app: "y", code: fit.AMLimit, want: "maxAMShare of queue root.a=0.25", setup: fairHead + `<allocations>
<queue name="a"><maxAMShare>0.125</maxAMShare></queue>
</allocations>

node h1 8192x8

app x user=ann queue=a

update

beat h1

app y user=ann queue=a

update`},
	{name: "fair: maximum of a leaf", app: "x", code: fit.QueueLimit, want: "maxResources of queue root.a=memory-mb=3072, vcores=3", setup: fairHead + `<allocations>
<queue name="a"><maxResources>2048 mb, 8 vcores</maxResources></queue>
</allocations>

node h1 8192x8

app x user=ann queue=a

update

beat h1

ask x 3 1024x1

update

beat h1

update`},
	{name: "fair: maximum of a parent", app: "x", code: fit.ParentLimit, want: "maxResources of queue root.p=memory-mb=3072, vcores=3", setup: fairHead + `<allocations>
<queue name="p"><maxResources>2048 mb, 8 vcores</maxResources>
<queue name="a"></queue>
</queue>
</allocations>

node h1 8192x8

app x user=ann queue=p.a

update

beat h1

ask x 3 1024x1

update

beat h1

update`},
	{name: "fair: next update", app: "x", code: fit.NextUpdate, want: "wait-for-update", setup: fairHead + `<allocations>
<queue name="a"></queue>
</allocations>

node h1 8192x8

app x user=ann queue=a`},
	{name: "fair: delay for locality", app: "x", code: fit.LocalityDelay, want: "wait-for-heartbeats", setup: fairHead + `locality.threshold.node=0.5
locality.threshold.rack=0.5
<allocations>
<queue name="a"></queue>
</allocations>

node h1 4096x8 rack=/r1

node h2 4096x8 rack=/r2

node h3 4096x8 rack=/r2

app x user=ann queue=a

update

beat h2

ask x 1 1024x1 at=h1,/r1

lose h1

update`},
	{name: "fair: node full", app: "x", code: fit.NodeFull, want: "free 2048", setup: fairHead + `<allocations>
<queue name="a"></queue>
<queue name="b"></queue>
</allocations>

node h1 4096x8

app x user=ann queue=a

app y user=bob queue=b

update

beat h1

beat h1

ask y 2 1024x1

update

beat h1

beat h1

ask x 1 2048x1

update`},
	{name: "fair: others first", app: "y", code: fit.OthersFirst, want: "end-application x", setup: fairHead + `<allocations>
<queue name="a"><schedulingPolicy>fifo</schedulingPolicy><maxAMShare>-1</maxAMShare></queue>
</allocations>

node h1 3072x8

app x user=ann queue=a

app y user=ann queue=a

update

beat h1

beat h1

ask x 2 1024x1

ask y 1 1024x1

update`},

	{name: "fifo: node full", app: "y", code: fit.NodeFull, want: "free 1024", setup: `queues policy=fifo

node h1 2048x8

app x user=ann queue=default

beat h1

ask x 1 1024x1

beat h1

app y user=bob queue=default`},
	{name: "fifo: others first", app: "y", code: fit.OthersFirst, want: "end-application x", setup: `queues policy=fifo

node h1 2048x8

app x user=ann queue=default

app y user=bob queue=default`},
	{name: "fifo: no nodes", app: "x", code: fit.NoNodes, want: "add-node", setup: `queues policy=fifo

app x user=ann queue=default`},
	{name: "fifo: node that takes nothing", app: "x", code: fit.NodeUnavailable, want: "use-node h1:8041", then: func(r *runner) { r.s.SetNodeAccepting(r.nodes["h1"], false) }, setup: `queues policy=fifo

node h1 2048x8

app x user=ann queue=default`},
	{name: "fifo: the node has to be offered", app: "x", code: fit.ComesNext, want: "wait-for-heartbeats h1:8041", setup: `queues policy=fifo

node h1 2048x8

app x user=ann queue=default`},
}
