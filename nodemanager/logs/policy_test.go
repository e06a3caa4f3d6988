package logs

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

func TestPolicies(t *testing.T) {
	containers := []Container{{Exit: 0}, {Exit: 0, Master: true}, {Exit: 1}, {Exit: 137}, {Exit: 143}, {Exit: -109}, {Exit: -104, Master: true}}
	for name, want := range map[string]string{
		"all": "1111111", "am": "0100001", "am-or-failed": "0110011", "failed": "0010011", "failed-or-killed": "0011111", "limit-size": "1111101", "none": "0000000",
		policyPackage + "AMOnlyLogAggregationPolicy": "0100001", policyPackage + "AllContainerLogAggregationPolicy": "1111111",
	} {
		p, err := findPolicy(name, "")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range containers {
			got += digit(p(c))
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"", "x", "AMOnlyLogAggregationPolicy", "com.example.AMOnlyLogAggregationPolicy"} {
		if _, err := findPolicy(name, ""); err == nil {
			t.Errorf("%q was found", name)
		}
	}
}

func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// Which workers are sampled, as Hadoop's own class says: those with the numbers
// 1 to 64, and 32 of a ResourceManager that was restarted three times.
func TestSample(t *testing.T) {
	for _, x := range [][2]string{
		{"", "1111111111111111111110000000001111000000000000000001111000000000 01100000010100101000011110101011"},
		{"SR:0.5,MIN:1", "1111111111111111111111111111111111111111111111111111111111111111 11111111111111111111111111111111"},
		{"SR:0.3,MIN:0", "1000000000000000000000000000000000000000000000000000000000000000 00000000000000000000000000000000"},
		{"SR:0.1", "1111111111111111111110000000001111000000000000000001111000000000 01100000010100101000011110101011"},
		{"SR:0,MIN:3", "1111000000000000000000000000000000000000000000000000000000000000 00000000000000000000000000000000"},
		{"SR:1,MIN:0", "1111111111111111111111111111111111111111111111111111111111111111 11111111111111111111111111111111"},
		{"SR:2,MIN:-1", "1111111111111111111110000000001111000000000000000001111000000000 01100000010100101000011110101011"},
		{"SR:x,MIN:y,Z:1,SR", "1111111111111111111110000000001111000000000000000001111000000000 01100000010100101000011110101011"},
		{"SR:0.05,MIN:0", "1000000000111100000000000000001111000000000000000001111000000000 01100000010100101000011110101011"},
	} {
		p, err := findPolicy("sample", x[0])
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for n := int64(1); n <= 64; n++ {
			got += digit(p(Container{ID: containerID(n)}))
		}
		got += " "
		for n := int64(1); n <= 32; n++ {
			got += digit(p(Container{ID: containerID(3<<yarn.EpochShift + n*1000003)}))
		}
		if got != x[1] {
			t.Errorf("%q:\n%s, want\n%s", x[0], got, x[1])
		}
		if !p(Container{ID: containerID(50), Master: true}) || !p(Container{ID: containerID(50), Exit: 1}) {
			t.Errorf("%q: a master or a failure is not kept", x[0])
		}
	}
}

func TestAnApplicationsOwnPolicy(t *testing.T) {
	for _, x := range []struct {
		class, parameters *string
		worker, odd       bool
	}{
		{nil, nil, false, false}, {proto.String(policyPackage + "AllContainerLogAggregationPolicy"), nil, true, false},
		{proto.String("com.example.Mine"), nil, false, true}, {proto.String(policyPackage + "SampleContainerLogAggregationPolicy"), proto.String("SR:1"), true, false},
	} {
		b, err := proto.Marshal(&pb.LogAggregationContext{LogAggregationPolicyClassName: x.class, LogAggregationPolicyParameters: x.parameters})
		if err != nil {
			t.Fatal(err)
		}
		w, odd, err := readWishes(b, "am", "SR:0,MIN:0")
		if err != nil || w.keep(Container{ID: containerID(60)}) != x.worker || (odd != nil) != x.odd {
			t.Errorf("%v: %v, %v", x.class, odd, err)
		}
	}
	if _, _, err := readWishes([]byte{0xff}, "all", ""); err == nil {
		t.Error("garbage was read")
	}
}
