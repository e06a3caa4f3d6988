package convert

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

var types = append(yarn.BasicResourceTypes(), yarn.ResourceType{Name: "yarn.io/gpu"}, yarn.ResourceType{Name: "disk", Units: "Gi"})

// What is missing reads as zero; what was written reads as it was.
func TestIDs(t *testing.T) {
	if !ApplicationID(nil).IsZero() || !AttemptID(nil).IsZero() || !ContainerID(nil).IsZero() || (NodeID(nil) != yarn.NodeID{}) || ContainerIDs(nil) != nil || ToContainerIDs(nil) != nil {
		t.Error("a missing id is not zero")
	}
	app := yarn.ApplicationID{ClusterTimestamp: math.MaxInt64, Sequence: math.MaxInt32}
	attempt := yarn.AttemptID{Application: app, Attempt: 3}
	id := yarn.ContainerID{Attempt: attempt, Number: 5<<yarn.EpochShift | 9}
	node := yarn.NodeID{Host: "h", Port: 8041}
	if ApplicationID(ToApplicationID(app)) != app || AttemptID(ToAttemptID(attempt)) != attempt || ContainerID(ToContainerID(id)) != id || NodeID(ToNodeID(node)) != node {
		t.Error("an id has changed on its way")
	}
	list := []yarn.ContainerID{id, {}}
	if got := ContainerIDs(ToContainerIDs(list)); !reflect.DeepEqual(got, list) {
		t.Errorf("got %v, want %v", got, list)
	}
}

func amount(key string, value int64, units string) *pb.ResourceInformation {
	return &pb.ResourceInformation{Key: &key, Value: &value, Units: &units}
}

// Amounts: named values win over the old fields, units are converted, what the
// cluster does not have is refused by name.
func TestResource(t *testing.T) {
	for name, c := range map[string]struct {
		p    *pb.Resource
		want yarn.Resource
		err  string
	}{
		"nothing":       {nil, yarn.Resource{}, ""},
		"old fields":    {&pb.Resource{Memory: proto.Int64(5), VirtualCores: proto.Int32(2)}, yarn.Resource{5, 2}, ""},
		"names win":     {&pb.Resource{Memory: proto.Int64(5), ResourceValueMap: []*pb.ResourceInformation{amount("memory-mb", 7, "Mi")}}, yarn.Resource{7}, ""},
		"gibibytes":     {&pb.Resource{ResourceValueMap: []*pb.ResourceInformation{amount("memory-mb", 3, "Gi")}}, yarn.Resource{3072}, ""},
		"truncated":     {&pb.Resource{ResourceValueMap: []*pb.ResourceInformation{amount("disk", 1535, "Mi")}}, yarn.Resource{0, 0, 0, 1}, ""},
		"the last wins": {&pb.Resource{ResourceValueMap: []*pb.ResourceInformation{amount("yarn.io/gpu", 1, ""), amount("yarn.io/gpu", 2, "")}}, yarn.Resource{0, 0, 2}, ""},
		"kilo":          {&pb.Resource{ResourceValueMap: []*pb.ResourceInformation{amount("yarn.io/gpu", 2, "k")}}, yarn.Resource{0, 0, 2000}, ""},
		"unknown":       {&pb.Resource{ResourceValueMap: []*pb.ResourceInformation{amount("fpga", 1, "")}}, yarn.Resource{}, `unknown resource "fpga": this cluster has memory-mb, vcores, yarn.io/gpu, disk`},
		"strange units": {&pb.Resource{ResourceValueMap: []*pb.ResourceInformation{amount("disk", 1, "furlong")}}, yarn.Resource{}, "furlong"},
		"too much":      {&pb.Resource{ResourceValueMap: []*pb.ResourceInformation{amount("memory-mb", math.MaxInt64, "Pi")}}, yarn.Resource{}, "cannot express"},
		"too little":    {&pb.Resource{ResourceValueMap: []*pb.ResourceInformation{amount("memory-mb", math.MinInt64, "Pi")}}, yarn.Resource{}, "cannot express"},
	} {
		got, err := Resource(c.p, types)
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%s: %v (%v), want %v", name, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: want an error with %q, got %v", name, c.err, err)
		}
	}
}

// An amount that is written reads as it was; vcores that the old field cannot
// hold are cut there alone.
func TestToResource(t *testing.T) {
	for _, r := range []yarn.Resource{{}, {1024, 2, 3, 4}, {math.MaxInt64, math.MaxInt64, -1, math.MinInt64}} {
		p := ToResource(r, types)
		if got, err := Resource(p, types); err != nil || got != r {
			t.Errorf("%v became %v (%v)", r, got, err)
		}
	}
	if p := ToResource(yarn.NewResource(0, 1<<40), types); p.GetVirtualCores() != math.MaxInt32 {
		t.Errorf("old field of 2^40 vcores: %d", p.GetVirtualCores())
	}
}

// States and statuses have the numbers of the protocol.
func TestStates(t *testing.T) {
	for _, s := range yarn.PublicStates() {
		if got := pb.YarnApplicationState(s).String(); got != s.String() {
			t.Errorf("%s became %s", s, got)
		}
	}
	for _, s := range yarn.NodeStates() {
		if got := pb.NodeState(s).String(); got != "NS_"+s.String() {
			t.Errorf("%s became %s", s, got)
		}
	}
	for s := yarn.AttemptNew; s <= yarn.AttemptKilled; s++ {
		want := "APP_ATTEMPT_" + s.String()
		switch s {
		case yarn.AttemptLaunchedUnmanagedSaving:
			want = "APP_ATTEMPT_SUBMITTED"
		case yarn.AttemptFinalSaving:
			want = "APP_ATTEMPT_FINISHING"
		}
		if got := ToAttemptState(s).String(); got != want {
			t.Errorf("%s became %s", s, got)
		}
	}
	for s := yarn.FinalUndefined; s <= yarn.FinalEnded; s++ {
		if got := FinalStatus(pb.FinalApplicationStatus(s)); got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
	for _, p := range []pb.FinalApplicationStatus{-1, 5, 1 << 30} {
		if got := FinalStatus(p); got != yarn.FinalUndefined {
			t.Errorf("status %d became %s", p, got)
		}
	}
	if ExecutionType(99) != yarn.Guaranteed || *ToExecutionType(yarn.Opportunistic) != pb.ExecutionType_OPPORTUNISTIC || *ToExecutionType(yarn.Guaranteed) != pb.ExecutionType_GUARANTEED {
		t.Error("execution types")
	}
}

// FuzzResource reads hostile amounts; what passes survives being written and read again.
func FuzzResource(f *testing.F) {
	for _, p := range []*pb.Resource{
		{Memory: proto.Int64(1), VirtualCores: proto.Int32(2), ResourceValueMap: []*pb.ResourceInformation{amount("disk", 5, "Ti")}},
		{ResourceValueMap: []*pb.ResourceInformation{amount("memory-mb", math.MinInt64, "p")}},
	} {
		b, err := proto.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := &pb.Resource{}
		if proto.Unmarshal(b, p) != nil {
			return
		}
		r, err := Resource(p, types)
		if err != nil {
			return
		}
		if again, err := Resource(ToResource(r, types), types); err != nil || again != r {
			t.Errorf("%v became %v (%v)", r, again, err)
		}
		for _, amount := range r[len(types):] {
			if amount != 0 {
				t.Errorf("an amount of what the cluster does not have: %v", r)
			}
		}
	})
}

// FuzzIDs reads every kind of id from hostile messages and writes it again.
func FuzzIDs(f *testing.F) {
	b, err := proto.Marshal(ToContainerID(yarn.ContainerID{Attempt: yarn.AttemptID{Attempt: 1}, Number: 1 << 60}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		p := &pb.ContainerId{}
		if proto.Unmarshal(b, p) != nil {
			return
		}
		id := ContainerID(p)
		if again := ContainerID(ToContainerID(id)); again != id {
			t.Errorf("%v became %v", id, again)
		}
		if text := id.String(); len(text) > 200 || !strings.HasPrefix(text, "container_") {
			t.Errorf("text of %+v: %q", id, text)
		}
	})
}
