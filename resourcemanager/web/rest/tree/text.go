package tree

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// scalar appends a value that is not an object or list, and tells whether JSON
// puts it in quotes.
func scalar(b []byte, v Value) (out []byte, quoted bool) {
	switch x := v.(type) {
	case string:
		return append(b, x...), true
	case bool:
		return strconv.AppendBool(b, x), false
	case int:
		return strconv.AppendInt(b, int64(x), 10), false
	case int32:
		return strconv.AppendInt(b, int64(x), 10), false
	case int64:
		return strconv.AppendInt(b, x, 10), false
	case float32:
		return appendFloat(b, float64(x), 32)
	case float64:
		return appendFloat(b, x, 64)
	}
	panic(fmt.Sprintf("tree: cannot write a %T", v))
}

// appendFloat prints as Java does: plain with at least one decimal from 0.001 to
// ten million, with an exponent elsewhere. What is not a number is quoted in
// JSON, which has no word for it.
func appendFloat(b []byte, f float64, bits int) (out []byte, quoted bool) {
	switch a := math.Abs(f); {
	case math.IsNaN(f):
		return append(b, "NaN"...), true
	case math.IsInf(f, 1):
		return append(b, "Infinity"...), true
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...), true
	case a == 0 || a >= 1e-3 && a < 1e7:
		s := strconv.FormatFloat(f, 'f', -1, bits)
		b = append(b, s...)
		if !strings.Contains(s, ".") {
			b = append(b, ".0"...)
		}
		return b, false
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, bits), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return fmt.Appendf(b, "%sE%d", mantissa, n), false
}
