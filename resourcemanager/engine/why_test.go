package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// mb is memory with a vcore.
func mb(n int64) yarn.Resource { return yarn.NewResource(n, 1) }

// whyCases have each reason for which an application waits, as the scheduler gives it, and what is said: the sum with units,
// and the settings that govern it.
var whyCases = []struct {
	why  yarn.Reason
	want string
}{
	{yarn.Reason{Code: fit.NothingAsked}, "nothing is asked for"},
	{yarn.Reason{Code: fit.AMLimit, Subject: "root.default", Needed: mb(1536), Limit: mb(768), Key: "yarn.scheduler.capacity.root.default.maximum-am-resource-percent"},
		"the queue allows 768 MB for ApplicationMasters: 768 MB used, 768 MB more asked; yarn.scheduler.capacity.root.default.maximum-am-resource-percent"},
	{yarn.Reason{Code: fit.UserAMLimit, Subject: "root.default", Detail: "ann", Needed: mb(1024), Limit: mb(512), Key: "a.key, b.key and c.key"},
		"the queue allows user ann 512 MB for ApplicationMasters: 256 MB used, 768 MB more asked; a.key, b.key and c.key"},
	{yarn.Reason{Code: fit.ParallelApps, Subject: "root.default", Count: 2, Max: 1, Key: "yarn.scheduler.capacity.root.default.max-parallel-apps"},
		"the queue root.default may run 1 application at a time: 1 running; yarn.scheduler.capacity.root.default.max-parallel-apps"},
	{yarn.Reason{Code: fit.ParallelApps, Subject: "root", Count: 4, Max: 3, Key: "yarn.scheduler.capacity.user.root.max-parallel-apps"},
		"user root may run 3 applications at a time: 3 running; yarn.scheduler.capacity.user.root.max-parallel-apps"},
	{yarn.Reason{Code: fit.QueueLimit, Subject: "root.default", Needed: mb(4096), Limit: mb(4000), Key: "a.key"},
		"the queue root.default may use 4000 MB at most: 4096 MB used or asked; a.key"},
	{yarn.Reason{Code: fit.ParentLimit, Subject: "root.prod", Needed: mb(4096), Limit: mb(4000), Key: "a.key"},
		"the queue root.prod may use 4000 MB at most: 4096 MB used or asked; a.key"},
	{yarn.Reason{Code: fit.ParentLimit, Subject: "root", Needed: mb(4096), Limit: mb(4096), Key: "yarn.scheduler.capacity.root.maximum-capacity"},
		"the queue root may use 4096 MB at most: 4096 MB used or asked"},
	{yarn.Reason{Code: fit.UserLimit, Subject: "ann", Needed: mb(2048), Limit: mb(1024), Key: "a.key and b.key"},
		"the queue root.default allows user ann 1024 MB: 2048 MB used; a.key and b.key"},
	{yarn.Reason{Code: fit.Headroom, Subject: "root.default", Needed: mb(768), Limit: mb(256), Key: "a.key"},
		"the queue root.default has room for 256 MB: 768 MB asked; a.key"},
	{yarn.Reason{Code: fit.PartitionDenied, Subject: "root.default", Detail: "gpu", Key: "a.key"},
		"the queue root.default may not use nodes of the partition gpu; a.key"},
	{yarn.Reason{Code: fit.NodeFull, Subject: "h:1", Needed: mb(768), Limit: mb(256)},
		"the node h:1 has 256 MB left: 768 MB needed; yarn.nodemanager.resource.memory-mb and yarn.nodemanager.resource.cpu-vcores"},
	{yarn.Reason{Code: fit.NodeReserved, Subject: "h:1", Detail: "application_1_0002", Needed: mb(1024)},
		"the node h:1 is reserved for application_1_0002, which waits there for 1024 MB"},
	{yarn.Reason{Code: fit.NodeTooSmall, Subject: "h:1", Needed: mb(768), Limit: mb(512)},
		"the node h:1 has 512 MB in all: 768 MB asked; yarn.nodemanager.resource.memory-mb and yarn.nodemanager.resource.cpu-vcores"},
	{yarn.Reason{Code: fit.NodeUnavailable, Subject: "h:1"}, "the node h:1 takes no containers"},
	{yarn.Reason{Code: fit.Blacklisted, Subject: "h:1"}, "the application avoids the node h:1"},
	{yarn.Reason{Code: fit.OtherPartition, Subject: "", Detail: "gpu"},
		"it asks for nodes of the partition gpu, and all nodes are in others, such as the default partition; " +
			"yarn.scheduler.capacity.root.default.default-node-label-expression, unless the application names the label"},
	{yarn.Reason{Code: fit.LocalityDelay, Subject: "h:1", Count: 3},
		"it waits for the hosts or racks that it asks for, and has let 3 nodes pass before h:1; " +
			"yarn.scheduler.capacity.node-locality-delay and yarn.scheduler.capacity.rack-locality-additional-delay"},
	{yarn.Reason{Code: fit.StrictLocality, Subject: "*"}, "it takes only the hosts or racks that it asks for"},
	{yarn.Reason{Code: fit.StrictLocality, Subject: "/r"}, "it takes only the hosts that it asks for, not even others on the rack /r"},
	{yarn.Reason{Code: fit.ShareDelay, Subject: "gpu", Count: 3, Max: 10},
		"the partition gpu lends its room once an application has been offered as many nodes as there are, 10: 3 so far"},
	{yarn.Reason{Code: fit.EarlierAsk, Subject: "root.default", Count: 5}, "its own requests of priority 5 come first"},
	{yarn.Reason{Code: fit.ReservationsEnough, Subject: "root.default", Count: 2, Max: 1}, "enough is reserved for it already: 2 nodes for 1 container"},
	{yarn.Reason{Code: fit.ReservationsEnough, Subject: "h:1", Needed: mb(256)},
		"none of its reservations on other nodes frees the 256 MB that it would have to give up to use the node h:1"},
	{yarn.Reason{Code: fit.NoNodes}, "there are no nodes"},
	{yarn.Reason{Code: fit.QueueRemoved, Subject: "root.default", Key: "a.key"}, "the queue root.default is not in the configuration any more; a.key"},
	{yarn.Reason{Code: fit.OtherList, Subject: "gpu", Detail: ""},
		"nodes of the partition gpu serve the applications of that partition first; this one is of the default partition; yarn.scheduler.capacity.root.default.ordering-policy"},
	{yarn.Reason{Code: fit.UserUnknown, Subject: "ann", Detail: "root.default"},
		"the queue root.default did not count user ann when it considered the application: another one of the user's, which max-parallel-apps held back, has ended or moved"},
	{yarn.Reason{Code: fit.RoomKept, Subject: "root.prod", Detail: "root.prod.a", Needed: mb(768), Limit: mb(512), Key: "a.key"},
		"room is kept for the queue root.prod.a, which is served first: of 512 MB in the queue root.prod 768 MB used or asked; a.key"},
	{yarn.Reason{Code: fit.OthersFirst, Subject: "root.default", Detail: "application_1_0002"},
		"application_1_0002 in the queue root.default comes first; yarn.scheduler.capacity.root.default.ordering-policy"},
	{yarn.Reason{Code: fit.OthersFirst, Subject: "root.b", Detail: "application_1_0002", Needed: mb(768), Limit: mb(512)},
		"application_1_0002 in the queue root.b comes first and waits itself: of 512 MB 768 MB used or asked"},
	{yarn.Reason{Code: fit.OthersFirst, Subject: "root.default", Detail: "application_1_0002", Key: "schedulingPolicy"},
		"application_1_0002 in the queue root.default comes first; schedulingPolicy"},
	{yarn.Reason{Code: fit.RunningApps, Subject: "root.default", Count: 3, Max: 3, Key: "maxRunningApps"},
		"the queue root.default may run 3 applications at a time: 3 running; maxRunningApps"},
	{yarn.Reason{Code: fit.UserRunningApps, Subject: "ann", Count: 1, Max: 1, Key: "user/maxRunningApps"},
		"user ann may run 1 application at a time: 1 running; user/maxRunningApps"},
	{yarn.Reason{Code: fit.NextUpdate, Subject: "root.default", Key: "a.key"},
		"what it asks for counts from the next update of shares on, which a timer makes; a.key"},
	{yarn.Reason{Code: fit.NoNodeQueue, Needed: mb(1024), Count: 1, Detail: "a queue for them", Key: "a.key"},
		"1 opportunistic container of 1024 MB asked for: no node reports a queue for them; a.key"},
	{yarn.Reason{Code: fit.NodeQueuesFull, Needed: mb(1024), Count: 3, Max: 12, Detail: "10 full, 2 smaller than one", Subject: "h:1, where 5 of at most 5 wait", Key: "a.key"},
		"3 opportunistic containers of 1024 MB asked for: of 12 nodes with a queue for them none takes one: 10 full, 2 smaller than one; " +
			"the shortest is that of h:1, where 5 of at most 5 wait; a.key"},
	{yarn.Reason{Code: fit.NextCall, Needed: mb(1024), Count: 3, Max: 2, Key: "a.key"},
		"nothing is in the way of 3 opportunistic containers of 1024 MB: its master is granted them with its next calls, at most 2 with each; a.key"},
	{yarn.Reason{Code: fit.GangGathers, Subject: "gang of priority 20", Count: 5, Max: 8, Detail: "12", Key: "the tag heddle.gang=8"},
		"its gang of priority 20 has 5 of 8 containers; they are kept for the rest to come, at most 12 s more, and then given back; the tag heddle.gang=8"},
	{yarn.Reason{Code: fit.GangGathers, Subject: "gang of priority 20", Max: 8}, "its gang of priority 20 has 0 of 8 containers"},
	{yarn.Reason{Code: fit.GangSmall, Subject: "gang of priority 20", Count: 5, Max: 8, Detail: "12"},
		"it asks for 5 of the 8 containers of its gang of priority 20, and gets them in 12 s if it asks for no more"},
	{yarn.Reason{Code: fit.GangRests, Subject: "gang of priority 20", Count: 5, Max: 8, Detail: "12"},
		"its gang of priority 20 had 5 of 8 containers when its time was over, and gave them back; it tries again in 12 s at the earliest"},
	{yarn.Reason{Code: fit.GangInLine, Subject: "gang of priority 20", Detail: "application_1_0002"},
		"its gang of priority 20 gave back what it had and tries again when its turn comes; now that of application_1_0002 tries"},
	{yarn.Reason{Code: fit.GangNever, Subject: "gang of priority 20", Count: 5, Max: 8, Needed: mb(768)},
		"its gang of priority 20 can never come together: of its 8 containers of 768 MB not more than 5 would fit, even if nobody else had anything"},
	{yarn.Reason{Code: fit.NothingFree, Subject: "gpu", Needed: mb(768), Limit: mb(256)}, "no node of the partition gpu has 768 MB left; the most that one has is 256 MB"},
	{yarn.Reason{Code: fit.PreemptionWaits, Subject: "root.default", Count: 2, Needed: mb(1024)},
		"2 containers, 1024 MB in all, have had notice for it or for its queue, and have not ended yet"},
	{yarn.Reason{Code: fit.ComesNext, Subject: "h:1"}, "nothing is in its way: it is placed at the next heartbeat of the node h:1"},
}

func TestWhy(t *testing.T) {
	e := &Engine{}
	told := map[yarn.Code]bool{}
	for _, c := range whyCases {
		w := waiting{Reason: c.why, amount: e.amount, queue: "root.default", label: "gpu", master: mb(768)}
		if got := w.text(); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.why.Code, got, c.want)
		}
		told[c.why.Code] = true
	}
	for _, code := range waitingCodes(t) {
		if whys[code] == nil || !told[code] {
			t.Errorf("%s has no sentence of its own, or none that is tried here", code)
		}
	}
}

// TestWhyHasUnits: every amount that a reason bears is told, with its unit, and with all resources where they count.
func TestWhyHasUnits(t *testing.T) {
	e := &Engine{}
	e.set.Dominant = true
	e.set.ResourceTypes = yarn.ResourceTypes{{Name: "memory-mb", Units: "Mi"}, {Name: "vcores"}, {Name: "gpu"}, {Name: "disk", Units: "Gi"}}
	unit := regexp.MustCompile(`[0-9]+ MB, (1 vcore|[0-9]+ vcores)`)
	for _, c := range whyCases {
		amounts := 0
		for _, r := range []yarn.Resource{c.why.Needed, c.why.Limit} {
			if !r.IsZero() {
				amounts++
			}
		}
		w := waiting{Reason: c.why, amount: e.amount, queue: "root.default", master: mb(768)}
		if got := unit.FindAllString(w.text(), -1); len(got) < amounts {
			t.Errorf("%s tells %q of %d amounts", c.why.Code, got, amounts)
		}
	}
	if got := e.amount(yarn.Resource{1024, 2, 1, 5}); got != "1024 MB, 2 vcores, 1 gpu, 5Gi disk" {
		t.Error(got)
	}
}

// waitingCodes are the codes that package fit has for what waits.
func waitingCodes(t *testing.T) (out []yarn.Code) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../scheduler/fit/codes.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Doc == nil || !strings.Contains(block.Doc.Text(), "something waits") {
			continue
		}
		for _, s := range block.Specs {
			for _, v := range s.(*ast.ValueSpec).Values {
				text, _ := strconv.Unquote(v.(*ast.BasicLit).Value)
				out = append(out, yarn.Code(text))
			}
		}
	}
	if len(out) < 25 {
		t.Fatalf("only %d codes: %v", len(out), out)
	}
	return out
}

// TestWhyOfOne: the sum is that of the books, and the setting that of the queue by its full path.
func TestWhyOfOne(t *testing.T) {
	r := newRig(t, settings(), config.Property{Name: "root.default.maximum-am-resource-percent", Value: "0.1875"})
	r.do(RegisterNode{Ticket: r.next(), Node: nodeID("h1"), HTTPPort: 1, Total: yarn.NewResource(4096, 4), Health: Health{Healthy: true}})
	for i := range int32(2) {
		r.do(Submit{Ticket: r.next(), Application: Submission{ID: appID(i + 1), User: "ann", Queue: "default",
			AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(768, 1), Count: 1, RelaxLocality: true}}}})
	}
	const want = "the queue allows 768 MB for ApplicationMasters: 768 MB used, 768 MB more asked; yarn.scheduler.capacity.root.default.maximum-am-resource-percent"
	if got := r.e.Why(appID(2)); got != want {
		t.Errorf("the second waits because %s", got)
	}
	const next = "nothing is in its way: it is placed at the next heartbeat of the node h1:"
	if got := r.e.Why(appID(1)); !strings.HasPrefix(got, next) {
		t.Errorf("the first waits because %s", got)
	}
}
