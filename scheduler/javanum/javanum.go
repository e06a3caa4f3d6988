// Package javanum does arithmetic as Java does where a decision depends on it:
// single precision at a named step, casts that truncate and saturate, integer
// rounding that truncates towards zero. Go may fuse a multiplication with an
// addition on some processors unless a conversion stands between the two; every
// step here ends in one.
package javanum

import (
	"math"
	"strconv"
	"strings"
)

// Long is the cast (long) d: truncated, saturated, NaN is 0.
func Long(d float64) int64 {
	switch {
	case d > math.MinInt64 && d < math.MaxInt64:
		return int64(d)
	case d != d:
		return 0
	case d > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}

// Int is the cast (int) f.
func Int(f float32) int32 {
	switch {
	case f != f:
		return 0
	case f >= math.MaxInt32:
		return math.MaxInt32
	case f <= math.MinInt32:
		return math.MinInt32
	}
	return int32(f)
}

// Mul is a·b in single precision.
func Mul(a, b float32) float32 { return float32(a * b) }

// Div is a/b in single precision; division by zero gives an infinity or NaN.
func Div(a, b float32) float32 { return float32(a / b) }

// Add is a+b in single precision.
func Add(a, b float32) float32 { return float32(a + b) }

// Ratio is (float) a / b for integers, 0 where both are 0.
//
// compat: ResourceCalculator.divideSafelyAsFloat.
func Ratio(a, b int64) float32 {
	if a == 0 && b == 0 {
		return 0
	}
	return float32(float32(a) / float32(b))
}

// Scale is ⌊n·by⌋ with by widened to double.
func Scale(n int64, by float64) int64 { return Long(float64(float64(n) * by)) }

// RoundUp is the least multiple of step that is not below n; step 0 gives 0.
func RoundUp(n, step int64) int64 { return DivCeil(n, step) * step }

// RoundDown is n without its remainder modulo step; step 0 gives 0.
func RoundDown(n, step int64) int64 { return quotient(n, step) * step }

// quotient is a/b, and 0 where b is 0. Most processors divide small numbers
// several times faster than large ones, and most amounts are small.
func quotient(a, b int64) int64 {
	if d := uint32(b); d != 0 && uint64(a|b)>>32 == 0 {
		return int64(uint32(a) / d)
	}
	if b == 0 {
		return 0
	}
	return a / b
}

// DivCeil is (a+b-1)/b, and 0 where b is 0. Negative a moves towards zero.
func DivCeil(a, b int64) int64 { return quotient(a+(b-1), b) }

// DivCeilFloat is ⌈a/b⌉ with a division in single precision, 0 where b is 0.
func DivCeilFloat(a int64, b float32) int64 {
	if b == 0 {
		return 0
	}
	return Ceil(float64(float32(float32(a) / b)))
}

// Ceil is ⌈d⌉ as Long has it.
func Ceil(d float64) int64 {
	n := Long(d)
	if float64(n) < d && n < math.MaxInt64 {
		n++
	}
	return n
}

// Compare orders as Float.compare and Double.compare do: -0 before 0, NaN last.
func Compare(a, b float64) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	x, y := bits(a), bits(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func bits(f float64) int64 {
	if f != f {
		return 0x7ff8000000000000
	}
	return int64(math.Float64bits(f))
}

// StringHash is String.hashCode of an ASCII or UTF-8 text.
func StringHash(s string) uint32 {
	var h uint32
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + uint32(0xd800+(r>>10))
			h = 31*h + uint32(0xdc00+(r&0x3ff))
			continue
		}
		h = 31*h + uint32(r)
	}
	return h
}

// HashOrder lists the indexes of keys in the order in which a java.util.HashMap
// iterates over them that received them one after the other.
//
// compat: children of a queue take this order at a refresh. Buckets of eight and
// more in a large table become trees in Java, which iterate almost the same.
func HashOrder(keys []string) []int {
	hashes := make([]uint32, len(keys))
	for i, k := range keys {
		hashes[i] = StringHash(k)
	}
	return OrderOfHashes(hashes)
}

// OrderOfHashes is HashOrder of keys with these hash codes.
func OrderOfHashes(hashes []uint32) []int {
	buckets := 16
	for float64(len(hashes)) > 0.75*float64(buckets) {
		buckets *= 2
	}
	const none = -1
	first, last, next := make([]int32, buckets), make([]int32, buckets), make([]int32, len(hashes))
	for b := range first {
		first[b] = none
	}
	for i, h := range hashes {
		b := (h ^ h>>16) & uint32(buckets-1)
		if next[i] = none; first[b] == none {
			first[b] = int32(i)
		} else {
			next[last[b]] = int32(i)
		}
		last[b] = int32(i)
	}
	order := make([]int, 0, len(hashes))
	for _, i := range first {
		for ; i != none; i = next[i] {
			order = append(order, int(i))
		}
	}
	return order
}

// Text is Float.toString(x).
func Text(x float32) string {
	abs := math.Abs(float64(x))
	if x == 0 || abs >= 1e-3 && abs < 1e7 {
		s := strconv.FormatFloat(float64(x), 'f', -1, 32)
		if !strings.Contains(s, ".") && !math.IsNaN(float64(x)) {
			s += ".0"
		}
		return s
	}
	switch {
	case math.IsNaN(float64(x)):
		return "NaN"
	case math.IsInf(float64(x), 1):
		return "Infinity"
	case math.IsInf(float64(x), -1):
		return "-Infinity"
	}
	digits, bits := -1, 32
	if abs >= 1e7 && abs < 1<<62 {
		// compat: before Java 19 a whole number has all the digits that its bits tell apart, which may be more than it needs.
		digits, bits = len(strconv.FormatInt(int64(abs), 10))-1, 64
		if spare := math.Ilogb(abs) - 25; spare > 1 {
			digits -= int(float64(spare) * math.Log10(2))
		}
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(float64(x), 'E', digits, bits), "E")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(mantissa, "0")
	} else {
		mantissa += "."
	}
	if strings.HasSuffix(mantissa, ".") {
		mantissa += "0"
	}
	n, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(n)
}
