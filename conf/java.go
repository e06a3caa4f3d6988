package conf

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// trim is java.lang.String.trim: it cuts control characters and spaces up to
// U+0020 and leaves Unicode spaces alone.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// listSeparator is the pattern that separates items of a comma list. A line
// feed separates too, but swallows blanks and commas next to it.
var listSeparator = regexp.MustCompile(`[\s\x0b]*[,\n][\s\x0b]*`)

// splitList is StringUtils.getTrimmedStrings. compat: empty items at the end
// are dropped, those in front and in between are kept.
func splitList(s string) []string {
	if s = trim(s); s == "" {
		return nil
	}
	items := listSeparator.Split(s, -1)
	for len(items) > 0 && items[len(items)-1] == "" {
		items = items[:len(items)-1]
	}
	return items
}

// parseLong reads a Java long: decimal with an optional sign, or hexadecimal
// after 0x as Configuration.getInt and getLong allow.
func parseLong(s string) (int64, bool) {
	neg := strings.HasPrefix(s, "-")
	digits := strings.TrimPrefix(s, "-")
	if hex, ok := cutHex(digits); ok {
		if neg {
			hex = "-" + hex
		}
		n, err := strconv.ParseInt(hex, 16, 64)
		return n, err == nil
	}
	return parseDecimal(s)
}

// parseDecimal reads what Long.parseLong reads.
func parseDecimal(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func cutHex(s string) (string, bool) {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		return s[2:], true
	}
	return "", false
}

// parseFloat reads what Float.parseFloat and Double.parseDouble read, minus
// NaN, the infinities and hexadecimal, which make no sense for any setting.
func parseFloat(s string) (float64, bool) {
	if n := len(s); n > 1 && strings.ContainsRune("fFdD", rune(s[n-1])) {
		s = s[:n-1]
	}
	if strings.ContainsAny(s, "_xXiInN") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, false
	}
	return f, true
}

// saturatingMul multiplies like TimeUnit.convert: it sticks at the ends of the
// range instead of wrapping. b is positive.
func saturatingMul(a, b int64) int64 {
	switch {
	case a > math.MaxInt64/b:
		return math.MaxInt64
	case a < math.MinInt64/b:
		return math.MinInt64
	}
	return a * b
}
