package convert

import (
	"fmt"
	"math/big"

	"github.com/heddle-project/heddle/scheduler/allocation"
)

// Shares are counted in thousandths of a percent.
const (
	wholeShare    = 100_000
	shareDecimals = 5 // of a weight's fraction of the sum
)

// shares are what the queues below one get of it, in thousandths of a percent.
type shares []int64

func (s shares) none() bool {
	for _, n := range s {
		if n != 0 {
			return false
		}
	}
	return true
}

// text is a share as "33.334".
func (s shares) text(i int) string {
	sign, n := "", s[i]
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%03d", sign, n/1000, n%1000)
}

// percentages are the shares that the weights of queues come to; nil for no queues. They are 100% together, or all 0. uneven
// tells that they are not in proportion to the weights.
//
// compat: the sum of the weights is cut to a whole number, so that shares are larger than they should be, and the largest
// gives what is too much: 75% and 25% for 0.75 and 0.75, nothing for 0.5 and 0.25. Where Apache's command breaks, with weights
// of more than five decimals as single precision has them, the sum is the exact one.
func percentages(queues []*allocation.Queue) (out shares, uneven bool) {
	if len(queues) == 0 {
		return nil, false
	}
	out = make(shares, len(queues))
	if len(queues) == 1 {
		out[0] = wholeShare
		return out, false
	}
	sum, countable := new(big.Rat), true
	for _, q := range queues {
		w := weight(q)
		sum.Add(sum, w)
		countable = countable && hasDecimals(w, shareDecimals)
	}
	total := new(big.Rat).SetInt(new(big.Int).Quo(sum.Num(), sum.Denom()))
	uneven = total.Cmp(sum) != 0
	if total.Sign() == 0 {
		return out, uneven
	}
	if !countable {
		total, uneven = sum, false
	}
	left, largest := int64(wholeShare), 0
	for i, q := range queues {
		out[i] = halfUp(new(big.Rat).Mul(new(big.Rat).Quo(weight(q), total), big.NewRat(wholeShare, 1)))
		left -= out[i]
		if out[i] > out[largest] {
			largest = i
		}
	}
	out[largest] += left
	return out, uneven
}

func weight(q *allocation.Queue) *big.Rat { return new(big.Rat).SetFloat64(float64(q.Weight)) }

// hasDecimals tells whether n decimals write the number exactly.
func hasDecimals(r *big.Rat, n int64) bool {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil)
	return new(big.Rat).Mul(r, new(big.Rat).SetInt(scale)).IsInt()
}

// halfUp is the nearest whole number; of two, the one further from zero. More than there are is the most that there is.
func halfUp(r *big.Rat) int64 {
	half := big.NewRat(1, 2)
	if r.Sign() < 0 {
		half.Neg(half)
	}
	r.Add(r, half)
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() {
		return int64(n.Sign()) << 53
	}
	return n.Int64()
}
