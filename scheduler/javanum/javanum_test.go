package javanum

import (
	"math"
	"slices"
	"testing"
)

func TestCastsTruncateAndSaturate(t *testing.T) {
	for in, want := range map[float64]int64{1.9: 1, -1.9: -1, 1e30: math.MaxInt64, -1e30: math.MinInt64} {
		if got := Long(in); got != want {
			t.Errorf("Long(%v) = %d, want %d", in, got, want)
		}
	}
	if got := Long(math.NaN()); got != 0 {
		t.Errorf("Long(NaN) = %d", got)
	}
	for _, d := range []float64{1.2, -1.2, 0.5, -0.5, 3, 1e30, -1e30, 1 << 53, math.NaN(), math.MaxInt64, math.MinInt64} {
		if got, want := Ceil(d), Long(math.Ceil(d)); got != want {
			t.Errorf("Ceil(%v) = %d, want %d", d, got, want)
		}
	}
	if got := DivCeilFloat(1025, 0); got != 0 {
		t.Errorf("division by nobody: %d", got)
	}
	if got := Int(float32(math.Inf(1))); got != math.MaxInt32 {
		t.Errorf("Int(∞) = %d", got)
	}
}

// 70 % of 10240 MiB is 7167 and not 7168: 0.7 in single precision is less than 0.7.
func TestScaleBySinglePrecision(t *testing.T) {
	if got := Scale(10240, float64(Div(70, 100))); got != 7167 {
		t.Errorf("70%% of 10240 = %d", got)
	}
	if got := Scale(10240, float64(Div(30, 100))); got != 3072 {
		t.Errorf("30%% of 10240 = %d", got)
	}
}

func TestRounding(t *testing.T) {
	for _, c := range [][4]int64{{1500, 1024, 2048, 1024}, {2048, 1024, 2048, 2048}, {-1500, 1024, 0, -1024}, {5, 0, 0, 0}, {1<<33 + 5, 1 << 32, 3 << 32, 2 << 32}, {1<<40 + 5, 1024, 1<<40 + 1024, 1 << 40}} {
		if up, down := RoundUp(c[0], c[1]), RoundDown(c[0], c[1]); up != c[2] || down != c[3] {
			t.Errorf("%d to %d: up %d down %d", c[0], c[1], up, down)
		}
	}
}

// The order was seen in a ResourceManager that refreshed these five queues.
func TestHashOrder(t *testing.T) {
	keys := []string{"root.zeta", "root.alpha", "root.mid", "root.beta", "root.q9"}
	var got []string
	for _, i := range HashOrder(keys) {
		got = append(got, keys[i])
	}
	if want := []string{"root.mid", "root.beta", "root.q9", "root.zeta", "root.alpha"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestHashOrderKeepsEveryKeyOnce(t *testing.T) {
	var keys []string
	for i := range 100 {
		keys = append(keys, string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	order := HashOrder(keys)
	slices.Sort(order)
	for i, k := range order {
		if i != k {
			t.Fatalf("index %d is %d", i, k)
		}
	}
}

func TestCompareOrdersZeroesAndNaN(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		a, b float64
		want int
	}{{1, 2, -1}, {2, 1, 1}, {0, math.Copysign(0, -1), 1}, {nan, 1, 1}, {1, nan, -1}, {nan, nan, 0}} {
		if got := Compare(c.a, c.b); got != c.want {
			t.Errorf("Compare(%v, %v) = %d", c.a, c.b, got)
		}
	}
}

// What Java 17 printed.
func TestText(t *testing.T) {
	for want, x := range map[string]float32{"0.0": 0, "1.0": 1, "0.1": 0.1, "12.345678": 12.345678, "9999999.0": 9999999, "1.0E7": 1e7, "9.9E-4": 0.00099, "0.001": 0.001,
		"1.6777216E7": 16777217, "3.3554432E7": 33554434, "1.23456792E8": 123456789.5, "1.23456791E11": 123456789012, "3.4028235E38": math.MaxFloat32,
		"-0.5": -0.5, "NaN": float32(math.NaN()), "-Infinity": float32(math.Inf(-1))} {
		if got := Text(x); got != want {
			t.Errorf("Text(%v) = %s, want %s", x, got, want)
		}
	}
}
