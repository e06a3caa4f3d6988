package rest_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// What recorded queues look like, as far as a snapshot can hold it.
type amount struct {
	ResourceInformations struct {
		ResourceInformation []struct{ Value int64 }
	}
}

func (a amount) resource() (r yarn.Resource) {
	for i, row := range a.ResourceInformations.ResourceInformation {
		r[i] = row.Value
	}
	return r
}

type recordedShare struct {
	PartitionName                                string
	Capacity, UsedCapacity, MaxCapacity          float64
	AbsoluteCapacity, AbsoluteUsedCapacity       float64
	AbsoluteMaxCapacity, MaxAMLimitPercentage    float64
	Weight, NormalizedWeight                     float32
	EffectiveMinResource, EffectiveMaxResource   amount
	ConfiguredMinResource, ConfiguredMaxResource amount
	QueueCapacityVectorInfo                      struct {
		CapacityVectorEntries []struct{ ResourceName, ResourceValue string }
	}
}

// vector is the configured capacity of the recorded entries.
func (c *recordedShare) vector(types yarn.ResourceTypes) (v queue.Vector) {
	for _, e := range c.QueueCapacityVectorInfo.CapacityVectorEntries {
		i, amount := types.Index(e.ResourceName), strings.TrimRight(e.ResourceValue, "%w")
		v.Value[i], _ = strconv.ParseFloat(amount, 64)
		v.Unit[i] = map[string]queue.Unit{"": queue.Absolute, "%": queue.Percent, "w": queue.Weight}[e.ResourceValue[len(amount):]]
	}
	return v
}

func (c *recordedShare) share() (queue.Share, queue.CapacityShare) {
	return queue.Share{EffectiveMin: c.EffectiveMinResource.resource(), EffectiveMax: c.EffectiveMaxResource.resource()}, queue.CapacityShare{Capacity: of1(c.Capacity), UsedCapacity: of1(c.UsedCapacity), MaxCapacity: of1(c.MaxCapacity),
		AbsoluteCapacity: of1(c.AbsoluteCapacity), AbsoluteMax: of1(c.AbsoluteMaxCapacity), AbsoluteUsed: of1(c.AbsoluteUsedCapacity),
		Weight: c.Weight, NormalizedWeight: c.NormalizedWeight, MaxAMShare: of1(c.MaxAMLimitPercentage), Known: true}
}

type recordedQueue struct {
	Type                        string
	QueuePath, QueueName, State string
	Capacity, UsedCapacity      float64
	MaxCapacity                 float64
	AbsoluteCapacity            float64
	AbsoluteMaxCapacity         float64
	AbsoluteUsedCapacity        float64
	Weight, NormalizedWeight    float32
	MaxParallelApps             int32
	ResourcesUsed               amount
	NodeLabels                  []string
	AllocatedContainers         int32
	ReservedContainers          int32
	PendingContainers           int32
	Queues                      struct{ Queue []recordedQueue }
	Capacities                  struct {
		QueueCapacitiesByPartition []recordedShare
	}
	Resources struct {
		ResourceUsagesByPartition []struct {
			PartitionName                            string
			Used, Reserved, Pending, AMUsed, AMLimit amount
		}
	}
	MaximumAllocation            amount
	HideReservationQueues        bool
	ConfiguredMaxAMResourceLimit float32
	QueuePriority                int32
	OrderingPolicyInfo           string
	Mode                         string
	NumActiveApplications        int32
	NumContainers                int32
	NumPendingApplications       int32
	MaxApplications              int32
	MaxApplicationsPerUser       int32
	UserLimit, UserLimitFactor   float32
	PreemptionDisabled           bool
	IntraQueuePreemptionDisabled bool
	MaxApplicationLifetime       int64
	DefaultApplicationLifetime   int64
	Users                        struct {
		User []struct {
			Username                      string
			ResourcesUsed, AMResourceUsed amount
			UserResourceLimit             amount
			NumActiveApplications         int32
			NumPendingApplications        int32
			UserWeight                    float32
			IsActive                      bool
			Resources                     struct {
				ResourceUsagesByPartition []struct {
					PartitionName         string
					Used, AMUsed, AMLimit amount
				}
			}
		}
	}
}

// of1 is a share of 1 that prints as the percentage.
func of1(percent float64) float32 {
	f := float32(percent / 100)
	for _, near := range []float32{math.Nextafter32(f, 0), math.Nextafter32(f, 1)} {
		if f*100 != float32(percent) && near*100 == float32(percent) {
			return near
		}
	}
	return f
}

// snapshot is what must have been in the scheduler for this to be recorded.
func (r *recordedQueue) snapshot(parent string, types yarn.ResourceTypes) []queue.Info {
	q := queue.Info{Path: r.QueuePath, Name: r.QueueName, Parent: parent, Leaf: r.Type == "capacitySchedulerLeafQueueInfo",
		Labels: r.NodeLabels, ActiveApps: r.NumActiveApplications, PendingApps: r.NumPendingApplications, MaxAllocation: r.MaximumAllocation.resource(),
		MaxLifetime: r.MaxApplicationLifetime, DefaultLifetime: r.DefaultApplicationLifetime,
		Capacity: &queue.Capacity{
			Priority: r.QueuePriority, OrderingPolicy: r.OrderingPolicyInfo, Mode: r.Mode, MaxParallelApps: r.MaxParallelApps,
			MaxApps: r.MaxApplications, MaxAppsPerUser: r.MaxApplicationsPerUser, UserLimitPercent: r.UserLimit, UserLimitFactor: r.UserLimitFactor,
			Plan: r.HideReservationQueues, HidesQueues: r.HideReservationQueues, ConfiguredMaxAM: r.ConfiguredMaxAMResourceLimit,
			PreemptionDisabled: r.PreemptionDisabled, IntraQueuePreemptionDisabled: r.IntraQueuePreemptionDisabled}}
	if r.State == "STOPPED" {
		q.State = queue.Stopped
	}
	for _, c := range r.Capacities.QueueCapacitiesByPartition {
		share, own := c.share()
		own.Vector = c.vector(types)
		for _, u := range r.Resources.ResourceUsagesByPartition {
			if u.PartitionName == c.PartitionName {
				share.Used, share.Pending, own.AMUsed, own.AMLimit = u.Used.resource(), u.Pending.resource(), u.AMUsed.resource(), u.AMLimit.resource()
			}
		}
		if c.PartitionName != "" {
			if q.Partitions == nil {
				q.Partitions, q.Capacity.Partitions = map[string]queue.Share{}, map[string]queue.CapacityShare{}
			}
			q.Partitions[c.PartitionName], q.Capacity.Partitions[c.PartitionName] = share, own
			continue
		}
		share.AllocatedContainers, share.ReservedContainers, share.PendingContainers = r.AllocatedContainers, r.ReservedContainers, r.PendingContainers
		q.Default, q.Capacity.Default = share, own
	}
	for _, u := range r.Users.User {
		user := queue.UserUsage{Name: u.Username, Limit: u.UserResourceLimit.resource(), AMUsed: u.AMResourceUsed.resource(),
			ActiveApps: u.NumActiveApplications, PendingApps: u.NumPendingApplications, Active: u.IsActive, Weight: u.UserWeight, Partitions: map[string]queue.UserShare{}}
		for _, p := range u.Resources.ResourceUsagesByPartition {
			if p.PartitionName == "" {
				user.Used, user.AMLimit = p.Used.resource(), p.AMLimit.resource()
				continue
			}
			user.Partitions[p.PartitionName] = queue.UserShare{Used: p.Used.resource(), AMUsed: p.AMUsed.resource(), AMLimit: p.AMLimit.resource()}
		}
		q.Capacity.Users = append(q.Capacity.Users, user)
	}
	for label, p := range q.Partitions {
		p.AllocatedContainers = r.NumContainers - r.AllocatedContainers
		q.Partitions[label] = p
		break
	}
	all := []queue.Info{}
	for i := range r.Queues.Queue {
		if c := &r.Queues.Queue[i]; r.HideReservationQueues { // the name that a plan's default queue has in the scheduler
			c.QueueName = q.Name + "-default"
			c.QueuePath = q.Path + "." + c.QueueName
		}
		q.Children = append(q.Children, r.Queues.Queue[i].QueuePath)
		all = append(all, r.Queues.Queue[i].snapshot(r.QueuePath, types)...)
	}
	return append([]queue.Info{q}, all...)
}

// What a snapshot does not hold: access control lists, the account of the last
// runs, and the masters' limit of users of a queue that has none any more.
var notHeld = []struct {
	re *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`"userAmLimit":\{.*?\]\}\}|<userAmLimit>.*?</userAmLimit>`), `userAmLimit`},
	{regexp.MustCompile(`"health":\{"lastrun".*?"maximumAllocation"`), `"maximumAllocation"`},
	{regexp.MustCompile(`<health>.*?</health>`), ``},
	{regexp.MustCompile(`"queueAcls":\{("queueAcl":\[.*?\])?\}`), `"queueAcls":~`},
	{regexp.MustCompile(`<queueAcls>.*?</queueAcls>|<queueAcls/>`), `<queueAcls>~`},
	{regexp.MustCompile(`("queueAcls":~|<queueAcls>~)`), `acls`},
}

// TestRecordedScheduler rebuilds the snapshot from a recorded answer and expects
// the same answer from it, in both forms.
func TestRecordedScheduler(t *testing.T) {
	basic := yarn.BasicResourceTypes()
	for set, types := range map[string]yarn.ResourceTypes{"capacity": basic, "reservations": basic, "more": append(basic, yarn.ResourceType{Name: "licence"}, yarn.ResourceType{Name: "yarn.io/gpu"})} {
		t.Run(set, func(t *testing.T) { compareScheduler(t, set, types) })
	}
}

func compareScheduler(t *testing.T, set string, types yarn.ResourceTypes) {
	recorded, err := golden.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(recorded, "http/get-scheduler.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Scheduler struct{ SchedulerInfo recordedQueue }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	s := webtest.New()
	s.Picture.ResourceTypes = types
	s.Tree = queue.NewSnapshot(doc.Scheduler.SchedulerInfo.snapshot("", types))
	h := serve(t, s, &webtest.Controller{})
	for file, accept := range map[string]string{"http/get-scheduler.json": "application/json", "http/get-scheduler.xml.xml": "application/xml"} {
		want, err := fs.ReadFile(recorded, file)
		if err != nil {
			t.Fatal(err)
		}
		w, g := string(want), get(h, "/scheduler", accept).Body.String()
		for _, m := range notHeld {
			w, g = m.re.ReplaceAllString(w, m.by), m.re.ReplaceAllString(g, m.by)
		}
		diff(t, file, w, g)
	}
}

func diff(t *testing.T, what, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	from := max(at-120, 0)
	t.Errorf("%s differs at %d:\nrecorded …%s\n     got …%s", what, at, want[from:min(at+300, len(want))], got[from:min(at+300, len(got))])
}

// TestCapacityVectors sees queues whose resources are written in different ways, as Hadoop shows them.
func TestCapacityVectors(t *testing.T) {
	root := queue.Info{Path: "root", Name: "root", Capacity: &queue.Capacity{}, Children: []string{"root.a"}}
	a := queue.Info{Path: "root.a", Name: "a", Parent: "root", Leaf: true, Capacity: &queue.Capacity{Mode: "mixed",
		Default:    queue.CapacityShare{Vector: queue.Vector{Value: [yarn.MaxResourceTypes]float64{16777216, 33.29999923706055}, Unit: [yarn.MaxResourceTypes]queue.Unit{queue.Absolute, queue.Percent}}},
		Partitions: map[string]queue.CapacityShare{"gpu": {Known: true}, "fpga": {}, "tpu": {Known: true, Vector: queue.Vector{Value: [yarn.MaxResourceTypes]float64{0.5, 1e10}, Unit: [yarn.MaxResourceTypes]queue.Unit{queue.Weight, queue.Absolute}}}}},
		Partitions: map[string]queue.Share{"gpu": {}, "fpga": {}, "tpu": {}}}
	s := webtest.New()
	s.Tree = queue.NewSnapshot([]queue.Info{root, a})
	text := get(serve(t, s, &webtest.Controller{}), "/scheduler", "application/json").Body.String()
	for want, times := range map[string]int{
		`"mode":"mixed"`: 1,
		`{"configuredCapacityVector":"[memory-mb=1.6777216E7,vcores=33.29999923706055%]","capacityVectorEntries":[{"resourceName":"memory-mb","resourceValue":"1.6777216E7"},{"resourceName":"vcores","resourceValue":"33.29999923706055%"}]}`: 1,
		`"partitionName":"gpu","queueCapacityVectorInfo":{"configuredCapacityVector":"[]"},`:                            1,
		`"partitionName":"tpu","queueCapacityVectorInfo":{"configuredCapacityVector":"[memory-mb=0.5w,vcores=1.0E10]",`: 1,
		`"partitionName":"gpu","used"`: 1,
		`"fpga"`:                       0, // there is nothing of the queue in it
	} {
		if n := strings.Count(text, want); n != times {
			t.Errorf("%s is there %d times, not %d: %s", want, n, times, text)
		}
	}
}

// TestQueuesCreatedOnDemand sees how queues say who created them.
func TestQueuesCreatedOnDemand(t *testing.T) {
	under := func(parent, name string, dynamic bool, c queue.Capacity) queue.Info {
		return queue.Info{Path: parent + "." + name, Name: name, Parent: parent, Leaf: true, Dynamic: dynamic, Capacity: &c}
	}
	root := queue.Info{Path: "root", Name: "root", Capacity: &queue.Capacity{}, Children: []string{"root.m", "root.f", "root.s"}}
	m, f := under("root", "m", false, queue.Capacity{CreatesLegacyLeaves: true}), under("root", "f", false, queue.Capacity{CreatesQueues: true})
	m.Leaf, m.Children, f.Leaf, f.Children = false, []string{"root.m.x"}, false, []string{"root.f.x"}
	s := webtest.New()
	s.Tree = queue.NewSnapshot([]queue.Info{root, m, under("root.m", "x", false, queue.Capacity{}), f, under("root.f", "x", true, queue.Capacity{}), under("root", "s", false, queue.Capacity{})})
	type row struct {
		QueuePath, CreationMethod, AutoCreationEligibility string
		IsAutoCreatedLeafQueue                             bool
		Queues                                             struct{ Queue []row }
	}
	var doc struct{ Scheduler struct{ SchedulerInfo row } }
	if err := json.Unmarshal(get(serve(t, s, &webtest.Controller{}), "/scheduler", "application/json").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	var all []string
	var walk func(r row)
	walk = func(r row) {
		all = append(all, fmt.Sprintf("%s %s %s %t", r.QueuePath, r.CreationMethod, r.AutoCreationEligibility, r.IsAutoCreatedLeafQueue))
		for _, c := range r.Queues.Queue {
			walk(c)
		}
	}
	walk(doc.Scheduler.SchedulerInfo)
	slices.Sort(all)
	want := []string{"root static off false", "root.f static flexible false", "root.f.x dynamicFlexible off false", "root.m static legacy false", "root.m.x dynamicLegacy off true", "root.s static off false"}
	if !slices.Equal(all, want) {
		t.Errorf("%q instead of %q", all, want)
	}
}

// The names, values and order are those of Hadoop, which tells the legacy template of root.one too, a leaf.
func TestTemplates(t *testing.T) {
	flex := &queue.Templates{Created: []queue.Property{{Name: "capacity", Value: "2w"}, {Name: "maximum-capacity", Value: "50"}},
		Leaves: []queue.Property{{Name: "user-limit-factor", Value: "3"}}, Parents: []queue.Property{{Name: "capacity", Value: "5w"}}}
	one := &queue.Templates{LegacyLeaves: []queue.Property{{Name: "capacity", Value: "10"}}}
	s := webtest.New()
	s.Tree = queue.NewSnapshot([]queue.Info{{Path: "root", Name: "root", Capacity: &queue.Capacity{}, Children: []string{"root.flex", "root.one"}},
		{Path: "root.flex", Name: "flex", Parent: "root", Capacity: &queue.Capacity{Templates: flex}}, {Path: "root.one", Name: "one", Parent: "root", Leaf: true, Capacity: &queue.Capacity{Templates: one}}})
	body := get(serve(t, s, &webtest.Controller{}), "/scheduler", "application/xml").Body.String()
	for _, want := range []string{
		"<autoQueueTemplateProperties><property><name>maximum-capacity</name><value>50</value></property><property><name>capacity</name><value>2w</value></property></autoQueueTemplateProperties>",
		"<autoQueueParentTemplateProperties><property><name>capacity</name><value>5w</value></property></autoQueueParentTemplateProperties>",
		"<autoQueueLeafTemplateProperties><property><name>user-limit-factor</name><value>3</value></property></autoQueueLeafTemplateProperties>",
		"<leafQueueTemplate><property><name>leaf-queue-template.capacity</name><value>10</value></property></leafQueueTemplate>",
		"<autoQueueTemplateProperties/>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing in %s", want, body)
		}
	}
}
