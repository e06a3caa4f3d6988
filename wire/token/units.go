package token

import (
	"fmt"
	"math/big"
)

// units are the prefixes that amounts of resources may have, as fractions of
// one: n/d.
var units = map[string]struct{ n, d int64 }{
	"p": {1, 1e12}, "n": {1, 1e9}, "u": {1, 1e6}, "m": {1, 1e3},
	"": {1, 1}, "k": {1e3, 1}, "M": {1e6, 1}, "G": {1e9, 1}, "T": {1e12, 1}, "P": {1e15, 1},
	"Ki": {1 << 10, 1}, "Mi": {1 << 20, 1}, "Gi": {1 << 30, 1}, "Ti": {1 << 40, 1}, "Pi": {1 << 50, 1},
}

// convert expresses an amount in another unit, rounded towards zero.
func convert(v int64, from, to string) (int64, error) {
	f, known := units[from]
	t, alsoKnown := units[to]
	if !known || !alsoKnown {
		return 0, fmt.Errorf("cannot convert from unit %q to %q: unknown unit", from, to)
	}
	x := big.NewInt(v)
	x.Mul(x, big.NewInt(f.n)).Mul(x, big.NewInt(t.d))
	x.Quo(x, big.NewInt(f.d)).Quo(x, big.NewInt(t.n))
	if !x.IsInt64() {
		return 0, fmt.Errorf("%d in unit %q is too large for unit %q", v, from, to)
	}
	return x.Int64(), nil
}
