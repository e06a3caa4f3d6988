package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// score counts checks.
type score struct{ passed, failed int }

// arena is where one driver attacks: its directory, its daemons, its random source and its count. A driver that cannot go on
// calls must, which ends it.
type arena struct {
	ctx    context.Context // ends when the driver has to
	cancel context.CancelFunc
	name   string
	binary string
	dir    string
	short  bool
	random *rand.Rand // from seed and name; for the driver's own goroutine

	mu      sync.Mutex
	daemons []*daemon
	score
}

// gaveUp is what must panics with; fight recovers it.
type gaveUp struct{}

func newArena(ctx context.Context, d driver, binary string, seed uint64, short bool) *arena {
	a := &arena{name: d.name, binary: binary, short: short}
	limit := patience
	if short {
		limit = patienceShort
	}
	a.ctx, a.cancel = context.WithTimeout(ctx, limit)
	salt := uint64(0)
	for _, b := range []byte(d.name) {
		salt = salt*131 + uint64(b)
	}
	a.random = rand.New(rand.NewPCG(seed, salt))
	fmt.Printf("--- %s: %s (seed %d)\n", d.name, d.about, seed)
	return a
}

// fight runs the driver to its end.
func (a *arena) fight(d driver) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil, gaveUp:
		default:
			panic(p)
		}
	}()
	var err error
	if a.dir, err = os.MkdirTemp("", "heddle-attack-"+d.name+"-"); err != nil {
		a.must(err)
	}
	a.must(os.Chmod(a.dir, 0o755)) // containers of other users read below it
	begun := time.Now()
	d.run(a)
	a.figure("took", time.Since(begun).Seconds(), "s")
}

// leave stops what the driver started. Its directory stays when something failed.
func (a *arena) leave(keep bool) {
	a.cancel()
	a.mu.Lock()
	list := a.daemons
	a.mu.Unlock()
	for _, d := range list {
		d.kill()
	}
	if keep || a.failed > 0 {
		fmt.Printf("     configurations and logs are in %s\n", a.dir)
		return
	}
	if err := os.RemoveAll(a.dir); err != nil {
		fmt.Printf("     %v\n", err)
	}
}

// pick is big, or small in a short run.
func pick[T any](a *arena, big, small T) T {
	if a.short {
		return small
	}
	return big
}

// figure prints a measured value.
func (a *arena) figure(what string, value float64, unit string) {
	fmt.Printf("     %-48s %10.1f %s\n", what, value, unit)
}

// check counts one expectation; the text says what was expected and, from format, what was seen.
func (a *arena) check(ok bool, expected, format string, seen ...any) {
	word := "FAIL"
	a.mu.Lock()
	if ok {
		word = "PASS"
		a.passed++
	} else {
		a.failed++
	}
	a.mu.Unlock()
	fmt.Printf("%s %s: %s: %s\n", word, a.name, expected, fmt.Sprintf(format, seen...))
}

// slack is by how much a time may miss its goal before that is a failure: a busy machine is slow, a defect is slower.
const slack = 10

// goal is a check of a time. Whether the goal is met is printed, as a figure is; the check fails when the goal is missed by far.
func (a *arena) goal(took, most time.Duration, what string) {
	word := "met"
	if took > most {
		word = "MISSED"
	}
	fmt.Printf("     goal %s: %s: %.1f of %.1f ms\n", word, what, took.Seconds()*1000, most.Seconds()*1000)
	a.check(took <= slack*most, fmt.Sprintf("%s: at most %d times its goal", what, slack), "%.1f of %.1f ms", took.Seconds()*1000, most.Seconds()*1000)
}

// must ends the driver, which has failed, when there is an error.
func (a *arena) must(err error) {
	if err == nil {
		return
	}
	a.check(false, "the attack itself can be carried out", "%v", err)
	panic(gaveUp{})
}

// until asks every 50 ms whether something holds, for so long at the most.
func (a *arena) until(limit time.Duration, holds func() bool) bool {
	end := time.Now().Add(limit)
	for {
		if holds() {
			return true
		}
		if time.Now().After(end) || a.ctx.Err() != nil {
			return false
		}
		time.Sleep(50 * time.Millisecond)
	}
}
