package scheduler

import "strings"

type amount [2]int64

func (a amount) none() bool { return a == amount{} }

func (a *amount) add(n int64) { a[0] += n }

type state struct {
	amount
	list []int
}

var (
	nothing  amount
	held     state
	counts   = map[string]int{"a": 1}
	replacer = strings.NewReplacer("a", "b")
)

func compare(a, b *amount) bool { return *a == *b }

func changes(a amount) {
	compare(&a, &nothing)      // want "nothing could change"
	nothing = a                // want "nothing could change"
	nothing[0]++               // want "nothing could change"
	held.amount[1] += 2        // want "held could change"
	held.add(1)                // want "held could change"
	counts["b"] = 1            // want "counts could change"
	delete(counts, "a")        // want "counts could change"
	_ = nothing[:]             // want "nothing could change"
	for nothing[0] = range 3 { // want "nothing could change"
	}
}

func reads(a amount) string {
	own := nothing
	own[0] = a[0]
	own.add(int64(counts["a"]))
	compare(&own, &a)
	if nothing.none() && len(held.list) == 0 {
		a = own
	}
	return replacer.Replace("a")
}
