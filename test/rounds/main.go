// Command rounds kills the active ResourceManager -9 again and again while users submit, kill, move and end applications, and holds what
// is there after each round against everything that was acknowledged. test/compat/kill-rounds starts what it needs beside it.
//
//	rounds -conf DIR -yarn BINARY [-ids rm1,rm2] [-rounds N] [-seed N] [-rate N] [-ready FILE] [-from FILE] [-over FILE] [-until FILE]
//	rounds -conf DIR -yarn BINARY [-ids rm1,rm2] -changes N [-seed N]
//
// It starts the ResourceManagers itself, one run of each to a log of its own in DIR/../logs. A round is a kill -9 of the active one after a
// random time, the start of it again, and an active one that grants containers; then all applications are listed. An acknowledged
// application must be there, once; one whose end was acknowledged or seen must have ended so; queue and priority must be those that were
// acknowledged last. At the end the logs' audit lines of grants are read: no two runs may have granted in the same epoch, or one after a
// later epoch has begun.
//
// With -changes it makes random changes of queues instead, and kills between and in the middle of them (queues.go); test/compat/queue-rounds
// starts what that needs.
//
// It prints PASS and FAIL lines as test/compat does, and ends with 1 if something failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/conf"
)

// How long things may take.
const (
	patience    = 120 * time.Second      // until somebody is active, grants, and has acknowledged something
	jobPatience = 10 * time.Minute       // until a stock job has begun, or ended
	pollPause   = 20 * time.Millisecond  // between two looks at that
	leastLoad   = 300 * time.Millisecond // of a round before the kill, beyond its first grant
	mostLoad    = 2500 * time.Millisecond
	users       = 8 // that submit at the same time
	masters     = 2 // that ask for containers at the same time
)

type run struct {
	ctx    context.Context
	props  *conf.Properties
	fleet  *fleet
	ledger *ledger
	began  time.Time
	failed int
}

func main() {
	if err := drive(); err != nil {
		fmt.Fprintln(os.Stderr, "rounds:", err)
		os.Exit(1)
	}
}

func drive() error {
	dir := flag.String("conf", "", "`directory` with yarn-site.xml and so on")
	binary := flag.String("yarn", "bin/yarn", "`binary` that is killed")
	ids := flag.String("ids", "", "ids of the ResourceManagers, if there are several")
	rounds := flag.Int("rounds", 5, "kills")
	changes := flag.Int("changes", 0, "of queues, which are made instead")
	seed := flag.Uint64("seed", 1, "`number` that the times of the kills come from")
	rate := flag.Float64("rate", 100, "submissions a second at most")
	ready := flag.String("ready", "", "`file` that is made as soon as somebody is active")
	from := flag.String("from", "", "`file` that the first kill waits for")
	over := flag.String("over", "", "`file` that is made after the last kill")
	until := flag.String("until", "", "`file` before which the load does not end, even if the rounds are over")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	props, err := conf.Load(conf.Options{Dir: *dir, Env: os.LookupEnv})
	if err != nil {
		return err
	}
	r := &run{ctx: ctx, props: props, began: time.Now()}
	r.fleet = newFleet(*dir, *binary, strings.Split(*ids, ","), props)
	defer r.fleet.stop()
	if *changes > 0 {
		return r.changes(*changes, rand.New(rand.NewPCG(*seed, 0)))
	}
	if r.ledger, err = newLedger(filepath.Join(filepath.Dir(filepath.Clean(*dir)), "ledger")); err != nil {
		return err
	}
	return r.play(*rounds, rand.New(rand.NewPCG(*seed, 0)), *rate, [4]string{*ready, *from, *over, *until})
}

func (r *run) play(rounds int, random *rand.Rand, rate float64, files [4]string) error {
	ready, from, over, until := files[0], files[1], files[2], files[3]
	if err := r.fleet.start(); err != nil {
		return err
	}
	if _, err := r.fleet.active(r.ctx, ""); err != nil {
		return err
	}
	if err := makeFile(ready); err != nil {
		return err
	}
	if err := r.await(from); err != nil {
		return err
	}
	load, err := startLoad(r.ctx, r.props, r.ledger, rate)
	if err != nil {
		return err
	}
	took, err := r.kills(rounds, random)
	if err == nil {
		err = makeFile(over)
	}
	if err == nil {
		err = r.await(until)
	}
	r.verdict("rounds", err, "%d kills -9 under load; %s", rounds, took)
	load.end()
	if err == nil {
		r.verdict("acknowledged", r.check(), "%s; all is there as it was acknowledged", r.ledger)
	}
	r.fleet.stop()
	text, err := r.fleet.grants(r.ledger.containers())
	r.verdict("grants", err, "%s", text)
	if r.failed > 0 {
		return fmt.Errorf("%d failed", r.failed)
	}
	return nil
}

// makeFile makes a file, if one is named.
func makeFile(name string) error {
	if name == "" {
		return nil
	}
	return os.WriteFile(name, nil, 0o644)
}

// await waits for a file, if one is named.
func (r *run) await(name string) error {
	if name == "" {
		return nil
	}
	return waitFor(r.ctx, jobPatience, name, func() bool { _, err := os.Stat(name); return err == nil })
}

// kills is the rounds, and how long the next active one was waited for.
func (r *run) kills(rounds int, random *rand.Rand) (took spread, err error) {
	for n := range rounds {
		if err := r.works(); err != nil {
			return took, fmt.Errorf("before kill %d: %w", n+1, err)
		}
		select {
		case <-time.After(leastLoad + time.Duration(random.Int64N(int64(mostLoad-leastLoad)))):
		case <-r.ctx.Done():
			return took, r.ctx.Err()
		}
		id, err := r.fleet.active(r.ctx, "")
		if err != nil {
			return took, err
		}
		killed := time.Now()
		if err := r.fleet.kill(id); err != nil {
			return took, err
		}
		next, err := r.fleet.after(r.ctx, id)
		if err != nil {
			return took, fmt.Errorf("after kill %d: %w", n+1, err)
		}
		took.add(time.Since(killed))
		if err := r.check(); err != nil {
			return took, fmt.Errorf("after kill %d, of %s, with %s active: %w", n+1, id, next, err)
		}
	}
	return took, r.works()
}

// works waits until something was acknowledged and a container granted since now.
func (r *run) works() error {
	acknowledged, granted := r.ledger.progress()
	return waitFor(r.ctx, patience, "applications acknowledged and containers granted", func() bool {
		a, g := r.ledger.progress()
		return a > acknowledged && g > granted
	})
}

// check lists all applications and holds them against the ledger.
func (r *run) check() error {
	c, err := client.New(r.props, checker, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	must := r.ledger.snapshot()
	var found []*client.Application
	var last error
	if err := waitFor(r.ctx, patience, "a list of applications", func() bool {
		found, last = c.Applications(r.ctx, client.ApplicationFilter{})
		return last == nil
	}); err != nil {
		return errors.Join(err, last)
	}
	return r.ledger.compare(must, found)
}

func (r *run) verdict(name string, err error, format string, values ...any) {
	word, text := "PASS", fmt.Sprintf(format, values...)
	if err != nil {
		word, text = "FAIL", err.Error()
		r.failed++
	}
	fmt.Printf("%s %s %.3fs %s\n", word, name, time.Since(r.began).Seconds(), text)
	r.began = time.Now()
}

// waitFor waits until something is so.
func waitFor(ctx context.Context, limit time.Duration, what string, so func() bool) error {
	for end := time.Now().Add(limit); !so(); time.Sleep(pollPause) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(end) {
			return fmt.Errorf("waited %v for %s", limit, what)
		}
	}
	return nil
}

// spread is the least, the mean and the most of some times.
type spread struct {
	least, most, sum time.Duration
	count            int
}

func (s *spread) add(d time.Duration) {
	if s.count == 0 || d < s.least {
		s.least = d
	}
	s.most, s.sum, s.count = max(s.most, d), s.sum+d, s.count+1
}

func (s spread) String() string {
	if s.count == 0 {
		return "none was waited for"
	}
	short := func(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
	return fmt.Sprintf("the next one was active after %v at least, %v on average, %v at most", short(s.least), short(s.sum/time.Duration(s.count)), short(s.most))
}

var errNotRunning = errors.New("it does not run")
