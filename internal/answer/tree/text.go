package tree

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Append appends a number or a bool as JSON has it, printed as Java does.
func Append(b []byte, v Value) []byte { return scalar(b, v, `"`) }

// scalar appends a value that is neither text nor object nor list. quote goes
// around NaN and the infinities, which JSON numbers cannot be.
func scalar(b []byte, v Value, quote string) []byte {
	switch x := v.(type) {
	case bool:
		return strconv.AppendBool(b, x)
	case int:
		return strconv.AppendInt(b, int64(x), 10)
	case int32:
		return strconv.AppendInt(b, int64(x), 10)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case float32:
		return appendFloat(b, float64(x), 32, quote)
	case float64:
		return appendFloat(b, x, 64, quote)
	}
	panic(fmt.Sprintf("tree: cannot write a %T", v))
}

// appendFloat prints as Java does: plain with at least one decimal from 0.001 to
// ten million, with an exponent elsewhere.
func appendFloat(b []byte, f float64, bits int, quote string) []byte {
	switch a := math.Abs(f); {
	case math.IsNaN(f):
		return append(append(append(b, quote...), "NaN"...), quote...)
	case math.IsInf(f, 1):
		return append(append(append(b, quote...), "Infinity"...), quote...)
	case math.IsInf(f, -1):
		return append(append(append(b, quote...), "-Infinity"...), quote...)
	case a == 0 || a >= 1e-3 && a < 1e7:
		start := len(b)
		b = strconv.AppendFloat(b, f, 'f', -1, bits)
		if !bytes.Contains(b[start:], []byte(".")) {
			b = append(b, ".0"...)
		}
		return b
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, bits), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return fmt.Appendf(b, "%sE%d", mantissa, n)
}
