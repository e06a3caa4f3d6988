package measure

import (
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

var (
	byMemory = Calculator{Types: 2}
	byShare  = Calculator{Types: 2, Dominant: true}
	three    = Calculator{Types: 3, Dominant: true}
	cluster  = yarn.NewResource(10240, 10)
)

func TestCompare(t *testing.T) {
	a, b := yarn.NewResource(1024, 5), yarn.NewResource(2048, 1)
	if byMemory.Compare(&cluster, &a, &b) != -1 || byShare.Compare(&cluster, &a, &b) != 1 {
		t.Error("memory says less, the dominant share says more")
	}
	if byShare.Compare(&Resource{}, &a, &b) != 0 {
		t.Error("in an empty cluster mixed amounts are a tie")
	}
	// Equal largest shares: the smaller ones decide.
	if byShare.Compare(&cluster, &Resource{5120, 1}, &Resource{1024, 5}) != 0 {
		t.Error("both shares are equal")
	}
	x, y := Resource{1024, 1, 4}, Resource{1024, 2, 4}
	if three.Compare(&Resource{10240, 10, 8}, &x, &y) != -1 {
		t.Error("a third type is as large, vcores are less")
	}
	if three.Compare(&Resource{10240, 10, 0}, &x, &y) != -1 {
		t.Error("a type that the cluster does not have is left out")
	}
}

func TestRoom(t *testing.T) {
	size := yarn.NewResource(1024, 2)
	for _, c := range []struct {
		room         Resource
		memory, both bool
	}{
		{Resource{1024, 2}, true, true},
		{Resource{4096, 1}, true, false},
		{Resource{1023, 9}, false, false},
		{Resource{-2048, 9}, false, false},
	} {
		if byMemory.HasRoom(&c.room, &size) != c.memory || byShare.HasRoom(&c.room, &size) != c.both {
			t.Errorf("room of %v for %v", c.room, size)
		}
	}
	if !byShare.HasRoom(&Resource{1024, -1}, &Resource{1024, 0}) {
		t.Error("what is not asked for need not be there")
	}
}

func TestNormalize(t *testing.T) {
	lo, hi := yarn.NewResource(1024, 1), yarn.NewResource(3000, 4)
	if got := byShare.Normalize(yarn.NewResource(1500, 0), lo, hi, lo); got != yarn.NewResource(2048, 1) {
		t.Errorf("got %v", got)
	}
	if got := byShare.Normalize(yarn.NewResource(2900, 2), lo, hi, lo); got != yarn.NewResource(3000, 2) {
		t.Errorf("the maximum cuts after rounding: %v", got)
	}
	if got := byMemory.Normalize(yarn.NewResource(100, 3), lo, hi, lo); got != yarn.NewResource(1024, 1) {
		t.Errorf("by memory vcores are lost: %v", got)
	}
}

func TestScale(t *testing.T) {
	step := yarn.NewResource(1024, 1)
	up, down := yarn.NewResource(7168, 7), yarn.NewResource(7168, 7)
	if byMemory.ScaleUp(&up, 0.3, &step); up != yarn.NewResource(3072, 1) {
		t.Errorf("up: %v", up)
	}
	if byShare.ScaleDown(&down, 0.5, &step); down != yarn.NewResource(3072, 3) {
		t.Errorf("down: %v", down)
	}
}

func TestDivide(t *testing.T) {
	if got := byShare.Divide(&cluster, &Resource{1024, 5}, &Resource{5120, 1}); got != 1 {
		t.Errorf("dominant shares are equal: %v", got)
	}
	if got := byShare.Divide(&Resource{}, &Resource{}, &Resource{}); got == got {
		t.Errorf("an empty cluster divides to NaN, not %v", got)
	}
	if got := byMemory.Divide(&cluster, &Resource{}, &Resource{}); got != 0 {
		t.Errorf("by memory 0/0 is 0, not %v", got)
	}
}
