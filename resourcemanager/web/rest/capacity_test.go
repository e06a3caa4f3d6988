package rest

import (
	"math"
	"testing"
)

func TestJavaDouble(t *testing.T) {
	for _, c := range []struct {
		of   float64
		want string
	}{{0, "0.0"}, {40, "40.0"}, {-1, "-1.0"}, {0.001, "0.001"}, {float64(float32(0.0005)), "5.000000237487257E-4"}, {1e-5, "1.0E-5"}, {9999999, "9999999.0"}, {1e7, "1.0E7"},
		{123456789, "1.23456789E8"}, {math.Inf(1), "Infinity"}, {math.Inf(-1), "-Infinity"}, {math.NaN(), "NaN"}} {
		if got := javaDouble(c.of); got != c.want {
			t.Errorf("%v is %s, want %s", c.of, got, c.want)
		}
	}
}
