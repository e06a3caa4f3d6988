package allocation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// written is a queue as a line, in which what nobody wrote is left out.
func written(a *Allocation, types yarn.ResourceTypes, q *Queue) string {
	words := []string{q.Path, q.Kind.String()}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if q.Weight != 1 {
		add("weight %g", q.Weight)
	}
	if !q.Min.IsZero() {
		add("min %s", types.Format(q.Min))
	}
	if q.Max != a.Defaults.QueueMax {
		add("max %s", limit(types, q.Max))
	}
	if q.MaxChild != nil {
		add("child max %s", limit(types, *q.MaxChild))
	}
	if q.MaxContainer != Unbounded(types) {
		add("container %s", types.Format(q.MaxContainer))
	}
	if q.MaxApps != a.Defaults.QueueMaxApps {
		add("apps %d", q.MaxApps)
	}
	if q.MaxAMShare != a.Defaults.QueueMaxAMShare {
		add("masters %g", q.MaxAMShare)
	}
	if q.Policy != a.Defaults.Policy {
		add("%s", q.Policy)
	}
	if q.MinShareTimeout != Never {
		add("min after %d ms", q.MinShareTimeout)
	}
	if q.FairShareTimeout != Never {
		add("fair after %d ms", q.FairShareTimeout)
	}
	if q.FairShareThreshold != 0.5 {
		add("below %g", q.FairShareThreshold)
	}
	if !q.Preemptable {
		add("spared")
	}
	if !q.Submit.Nobody() {
		add("submit %q", q.Submit)
	}
	if !q.Administer.Nobody() {
		add("administer %q", q.Administer)
	}
	for i, l := range []*yarn.ACL{q.Reservations.Administer, q.Reservations.List, q.Reservations.Submit} {
		if l != nil {
			add("reservations %d %q", i, *l)
		}
	}
	return strings.Join(words, ", ")
}

func limit(types yarn.ResourceTypes, l Limit) string {
	if !l.OfCluster {
		return types.Format(l.Amount)
	}
	return fmt.Sprint(l.Fractions[:len(types)])
}

func ruleText(r *PlacementRule) string {
	text := r.Kind.String()
	if !r.Create {
		text += " no create"
	}
	if r.Queue != "" {
		text += " " + r.Queue
	}
	if r.Parent != nil {
		text += " below (" + ruleText(r.Parent) + ")"
	}
	return text
}

// picture is all of an allocation, a line each.
func picture(a *Allocation, types yarn.ResourceTypes) string {
	var lines []string
	for _, q := range a.All() {
		lines = append(lines, written(a, types, q))
	}
	usual := Defaults{QueueMaxApps: math.MaxInt32, QueueMaxAMShare: 0.5, QueueMax: Limit{Amount: Unbounded(types)}, UserMaxApps: math.MaxInt32}
	if d := a.Defaults; d != usual {
		lines = append(lines, fmt.Sprintf("defaults: apps %d, masters %g, max %s, user %d, %s",
			d.QueueMaxApps, d.QueueMaxAMShare, limit(types, d.QueueMax), d.UserMaxApps, d.Policy))
	}
	if len(a.Users) > 0 {
		lines = append(lines, fmt.Sprint("users: ", a.Users))
	}
	if a.Reservation != (Reservation{}) {
		lines = append(lines, fmt.Sprint("reservation: ", a.Reservation))
	}
	for i := range a.Rules {
		lines = append(lines, "rule "+ruleText(&a.Rules[i]))
	}
	return strings.Join(lines, "\n")
}

const openRoot = `root, parent, submit "*", administer "*"`

var good = []struct{ name, text, want string }{
	{"nothing", `<allocations/>`, openRoot},
	{"encoded", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<allocations><queue name=\"\xe9t\xe9\"/></allocations>", openRoot + "\nroot.été, leaf"},
	{"a mark at the start", "\ufeff<?xml version=\"1.0\"?><!-- queues --><allocations/>", openRoot},
	{"nested", `<allocations>
  <queue name=" a "><queue name="b"><pool name="c"/></queue></queue>
  <pool name="d" type="parent"/><queue name="e&#xa0;"/>
</allocations>`, openRoot + "\nroot.a, parent\nroot.d, parent\nroot.e, leaf\nroot.a.b, parent\nroot.a.b.c, leaf"},
	{"root is written", `<allocations><queue name="root">
  <schedulingPolicy>drf</schedulingPolicy><aclSubmitApps> </aclSubmitApps><aclAdministerApps>ann dev</aclAdministerApps>
  <queue name="a"><aclSubmitApps>bob</aclSubmitApps></queue></queue></allocations>`,
		`root, parent, drf, administer "ann dev"` + "\n" + `root.a, leaf, submit "bob "`},
	{"every setting", `<allocations><queue name="root"><aclSubmitApps> </aclSubmitApps><aclAdministerApps> </aclAdministerApps><queue name="a">
  <minResources>1024 mb, 1 vcores</minResources><maxResources>memory-mb=8192, vcores=8, yarn.io/gpu=2,</maxResources>
  <maxContainerAllocation>memory-mb=4096</maxContainerAllocation>
  <maxRunningApps> +5 </maxRunningApps><maxAMShare>0.25f</maxAMShare><weight>2.5</weight>
  <schedulingPolicy>FIFO</schedulingPolicy>
  <minSharePreemptionTimeout>10</minSharePreemptionTimeout><fairSharePreemptionTimeout>20</fairSharePreemptionTimeout>
  <fairSharePreemptionThreshold>0.75</fairSharePreemptionThreshold><allowPreemptionFrom>False</allowPreemptionFrom>
  <aclSubmitApps>ann,bob dev</aclSubmitApps><aclAdministerApps>*</aclAdministerApps>
  <aclAdministerReservations>ann</aclAdministerReservations><aclListReservations>*</aclListReservations><aclSubmitReservations> dev</aclSubmitReservations>
</queue></queue></allocations>`, "root, parent\n" +
		"root.a, leaf, weight 2.5, min <memory:1024, vCores:1, yarn.io/gpu: 0>, max <memory:8192, vCores:8, yarn.io/gpu: 2>, " +
		"container <memory:4096, vCores:2147483647, yarn.io/gpu: 9223372036854775807>, apps 5, masters 0.25, fifo, min after 10000 ms, fair after 20000 ms, " +
		`below 0.75, spared, submit "ann,bob dev", administer "*", reservations 0 "ann ", reservations 1 "*", reservations 2 " dev"`},
	{"taken from above", `<allocations>
  <defaultMinSharePreemptionTimeout>1</defaultMinSharePreemptionTimeout><fairSharePreemptionTimeout>2</fairSharePreemptionTimeout>
  <defaultFairSharePreemptionThreshold>0.25</defaultFairSharePreemptionThreshold>
  <queue name="a"><allowPreemptionFrom>false</allowPreemptionFrom><maxContainerAllocation>100 mb, 1 vcores</maxContainerAllocation>
    <fairSharePreemptionTimeout>3</fairSharePreemptionTimeout>
    <queue name="b"><fairSharePreemptionThreshold>1</fairSharePreemptionThreshold></queue></queue></allocations>`,
		strings.Replace(openRoot, ", submit", ", min after 1000 ms, fair after 2000 ms, below 0.25, submit", 1) + "\n" +
			"root.a, parent, container <memory:100, vCores:1>, min after 1000 ms, fair after 3000 ms, below 0.25, spared\n" +
			"root.a.b, leaf, container <memory:100, vCores:1>, min after 1000 ms, fair after 3000 ms, below 1, spared"},
	{"defaults", `<allocations>
  <userMaxAppsDefault>3</userMaxAppsDefault><queueMaxAppsDefault>7</queueMaxAppsDefault><queueMaxAMShareDefault>-1</queueMaxAMShareDefault>
  <queueMaxResourcesDefault>50%</queueMaxResourcesDefault><defaultQueueSchedulingMode>DRF</defaultQueueSchedulingMode>
  <user name="ann"><maxRunningApps>9</maxRunningApps></user><user name="bob"><maxRunningApps>8</maxRunningApps></user>
  <reservation-planner>P</reservation-planner><reservation-agent>A</reservation-agent><reservation-policy>S</reservation-policy>
  <queue name="a"><schedulingPolicy>fair</schedulingPolicy></queue></allocations>`,
		openRoot + "\nroot.a, leaf, fair\ndefaults: apps 7, masters -1, max [0.5 0.5], user 3, drf\nusers: map[ann:9 bob:8]\nreservation: {P A S}"},
	{"policies of Apache's classes", `<allocations>
  <defaultQueueSchedulingPolicy>` + policyPackage + `DominantResourceFairnessPolicy</defaultQueueSchedulingPolicy>
  <queue name="a"><schedulingMode>` + policyPackage + `FifoPolicy</schedulingMode></queue></allocations>`,
		openRoot + "\nroot.a, leaf, fifo\ndefaults: apps 2147483647, masters 0.5, max <memory:9223372036854775807, vCores:2147483647>, user 2147483647, drf"},
	{"plan", `<allocations><queue name="a"><reservation/><maxAMShare>0.1</maxAMShare></queue></allocations>`, openRoot + "\nroot.a, plan, masters 0.1"},
	{"of children", `<allocations><queue name="a" type="parent"><maxChildResources>vcores=4</maxChildResources></queue></allocations>`,
		openRoot + "\nroot.a, parent, child max <memory:9223372036854775807, vCores:4>"},
	{"rules", `<allocations><queuePlacementPolicy>
  <rule name="specified" create="false"/>
  <rule name="primaryGroup" create="False"><rule name="default" queue="groups"/></rule>
  <rule name="nestedUserQueue"><rule name="secondaryGroupExistingQueue"/></rule>
  <rule name="user" create="false"><rule name="specified"/></rule>
  <rule name="default" queue="root.other.rest"/>
</queuePlacementPolicy></allocations>`, openRoot + "\nrule specified no create\nrule primaryGroup no create below (default root.groups)\n" +
		"rule nestedUserQueue below (secondaryGroupExistingQueue)\nrule user no create below (specified)\nrule default root.other.rest"},
	{"rules below root", `<allocations><queuePlacementPolicy><rule name="nestedUserQueue"><rule name="default" queue="root"/></rule></queuePlacementPolicy></allocations>`,
		openRoot + "\nrule nestedUserQueue below (default root)"},
	{"the end is not needed", `<allocations><queuePlacementPolicy><rule name="specified"/><rule name="reject"/></queuePlacementPolicy></allocations>`,
		openRoot + "\nrule specified\nrule reject"},
}

func TestParse(t *testing.T) {
	for _, x := range good {
		types := basic
		if strings.Contains(x.text, "gpu") {
			types = withGPU
		}
		a, findings, err := Parse([]byte(x.text), types)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		findings = slices.DeleteFunc(findings, func(f Finding) bool { return f.Code == Maximum && strings.Contains(f.What, "gpu") })
		if len(findings) > 0 {
			t.Errorf("%s: %v", x.name, findings)
		}
		if got := picture(a, types); got != x.want {
			t.Errorf("%s: got\n%s\nwant\n%s", x.name, got, x.want)
		}
	}
}

// TestAmounts has what Apache reads of each text, in a cluster of 100,000 MB, 1,000 vcores and 100 GPUs.
func TestAmounts(t *testing.T) {
	cluster := yarn.Resource{100_000, 1000, 100}
	const most = math.MaxInt64
	for _, x := range []struct {
		text string
		want yarn.Resource
	}{
		{"1024 mb, 2 vcores", yarn.Resource{1024, 2}},
		{"2 vcores, 1024mb", yarn.Resource{1024, 2}},
		{"1024mb 2vcores", yarn.Resource{1024, 2}},
		{"1024mb2vcores", yarn.Resource{1024, 2}},
		{"1024MB , 2 VCORES", yarn.Resource{1024, 2}},
		{"1024mbx, 2vcoresy", yarn.Resource{1024, 2}},
		{"1024 mb,, 2 vcores", yarn.Resource{1024, 2}},
		{"1024mb;2vcores", yarn.Resource{1024, 2}},
		{"5 1024mb 2vcores", yarn.Resource{1024, 2}},
		{"memory 1024mb cpu 2vcores", yarn.Resource{1024, 2}},
		{"1024.9mb,2.7vcores", yarn.Resource{1024, 2}},
		{"1024.mb, 2.vcores", yarn.Resource{1024, 2}},
		{"50%", yarn.Resource{50_000, 500, 50}},
		{" 50.5 % ,", yarn.Resource{50_500, 505, 50}},
		{"50% memory, 30% cpu", yarn.Resource{50_000, 300}},
		{"50 % CPU , 30 % Memory", yarn.Resource{30_000, 500}},
		{"50% memory, 30% cpu, 20% memory", yarn.Resource{50_000, 300}},
		{"memory-mb=1024, vcores=2,", yarn.Resource{1024, 2, most}},
		{"vcores = 3", yarn.Resource{most, 3, most}},
		{"yarn.io/gpu=5", yarn.Resource{most, MaxVCores, 5}},
		{"vcores=+5", yarn.Resource{most, 5, most}},
		{"vcores=4294967296", yarn.Resource{most, MaxVCores, most}},
		{"vcores=1,vcores=2", yarn.Resource{most, 2, most}},
		{"vcores=10.5 %", yarn.Resource{100_000, 105, 100}},
		{"yarn.io/gpu=50%, memory-mb=25%", yarn.Resource{25_000, 1000, 50}},
		{"150%", yarn.Resource{150_000, 1500, 150}},
	} {
		a := amount{types: withGPU, missing: Unbounded(withGPU)}
		l, err := a.parse(x.text)
		if got := l.Of(cluster); err != nil || got != x.want {
			t.Errorf("%q: %v, %v, want %v", x.text, got, err, x.want)
		}
	}
}

func TestLookups(t *testing.T) {
	a, _, err := Parse([]byte(`<allocations><queue name="a"><queue name="b"/></queue><userMaxAppsDefault>2</userMaxAppsDefault>
<user name="ann"><maxRunningApps>5</maxRunningApps></user></allocations>`), basic)
	if err != nil {
		t.Fatal(err)
	}
	if q := a.Queue("root.a.b"); q == nil || q.Name != "b" || q.Line != 1 {
		t.Errorf("%+v", q)
	}
	if a.Queue("root.b") != nil || a.Queue("root") != a.Root || a.Root.Line != 0 {
		t.Error("queues that are not there, or root")
	}
	if a.UserMaxApps("ann") != 5 || a.UserMaxApps("bob") != 2 {
		t.Error("limits of users")
	}
}

func TestDefaultRules(t *testing.T) {
	for _, x := range []struct {
		undeclared, user bool
		want             string
	}{
		{true, true, "specified; user"},
		{false, true, "specified no create; user no create; default root.default"},
		{true, false, "specified; default root.default"},
		{false, false, "specified no create; default root.default"},
	} {
		var got []string
		for _, r := range DefaultRules(x.undeclared, x.user) {
			got = append(got, ruleText(&r))
		}
		if strings.Join(got, "; ") != x.want {
			t.Errorf("%v %v: %v, want %s", x.undeclared, x.user, got, x.want)
		}
	}
}

// TestNamesAreRead holds the lists of elements to what reads them.
func TestNamesAreRead(t *testing.T) {
	for _, name := range queueNames {
		_, findings, err := Parse([]byte(`<allocations><queue name="a"><`+name+`>1</`+name+`></queue></allocations>`), basic)
		if strings.Contains(fmt.Sprint(findings, err), "nothing reads") {
			t.Errorf("%s: %v, %v", name, findings, err)
		}
	}
	for _, name := range topNames {
		_, findings, err := Parse([]byte(`<allocations><`+name+`>1</`+name+`></allocations>`), basic)
		if strings.Contains(fmt.Sprint(findings, err), "nothing reads") {
			t.Errorf("%s: %v, %v", name, findings, err)
		}
	}
}

// TestBounds meets what a file may have at most.
func TestBounds(t *testing.T) {
	repeat := func(n int, s string) string { return "<allocations>" + strings.Repeat(s, n) + "</allocations>" }
	for _, x := range []struct{ name, text, want string }{
		{"bytes", repeat(MaxFileBytes/8, "        "), fmt.Sprintf("the file has %d bytes, more than %d; write fewer queues", MaxFileBytes+27, MaxFileBytes)},
		{"depth", "<allocations>" + strings.Repeat(`<queue name="a">`, MaxDepth),
			fmt.Sprintf("1:%d: elements are nested more than 64 deep; use fewer levels of queues", 14+16*(MaxDepth-1))},
		{"elements", repeat(MaxElements, "<a/>"), fmt.Sprintf("1:%d: more than 2097152 elements; write fewer queues", 14+4*(MaxElements-1))},
		{"queues", repeat(MaxQueues+2, `<queue name="a"/>`), fmt.Sprintf("1:%d: there are more than 100000 queues; write fewer queues", 14+17*MaxQueues)},
	} {
		_, _, err := Parse([]byte(x.text), basic)
		if err == nil || err.Error() != x.want {
			t.Errorf("%s: %v, want %s", x.name, err, x.want)
		}
	}
	var attrs strings.Builder
	for i := range maxAttrs + 1 {
		fmt.Fprintf(&attrs, ` a%d=""`, i)
	}
	for text, want := range map[string]string{
		"<allocations" + attrs.String() + "/>": "1:1: an element has more than 64 attributes; remove those that nothing reads",
		"<allocations><queueMaxResourcesDefault>" + strings.Repeat("1", maxResource+1) + "%</queueMaxResourcesDefault></allocations>": "the text has more than 1000 bytes",
	} {
		if _, _, err := Parse([]byte(text), basic); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, findings, err := Parse([]byte(repeat(maxFindings+1, "<a/>")), basic)
	if err != nil || len(findings) != maxFindings {
		t.Errorf("%d findings, %v", len(findings), err)
	}
	_, _, err = Parse([]byte(repeat(maxErrors+5, "<queue/>")), basic)
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != maxErrors+1 || errs[maxErrors].Code != TooMany || !strings.HasSuffix(err.Error(), "\n... and 51 more") {
		t.Errorf("%d errors", len(errs))
	}
	_, _, err = Parse([]byte("<"+strings.Repeat("x", 1<<20)+"/>"), basic)
	if len(err.Error()) > 2*maxSentence {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestRootElement(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"nonsense":                     "",
		"<!-- queues --><allocations>": "allocations",
		"<?xml version=\"1.0\"?>\n<configuration/>": "configuration",
	} {
		if got := RootElement([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzParse wants no panic, the same answer twice, and either a whole allocation or errors.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"bad.txt", "odd.txt"} {
		for _, s := range samples(f, file) {
			f.Add([]byte(s.text))
		}
	}
	for _, x := range good {
		f.Add([]byte(x.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, refused := said("fuzz gpu", string(data))
		if again, _ := said("fuzz gpu", string(data)); again != got {
			t.Errorf("two answers:\n%s\n%s", got, again)
		}
		if refused != strings.Contains("\n"+got, "\nerror [") {
			t.Errorf("refused: %v\n%s", refused, got)
		}
		a, _, err := Parse(data, withGPU)
		if err != nil {
			return
		}
		paths := map[string]bool{}
		for _, q := range a.All() {
			if paths[q.Path] || len(q.Path) > MaxPathBytes || q.Kind == Leaf && len(q.Children) > 0 || q.MaxAMShare > 1 || q.Min[yarn.Memory] < 0 {
				t.Errorf("%+v", q)
			}
			paths[q.Path] = true
		}
		if n := len(a.Rules); n > 0 && !a.Rules[n-1].terminal() {
			t.Errorf("rules %v", a.Rules)
		}
	})
}
