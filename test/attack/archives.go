package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heddle-project/heddle/client"
)

// What a NodeManager may have in memory, whatever it fetches, and what ends the attack for the sake of this machine.
const mostNodeMB, enoughMB = 250, 3000

// archives has a tenant's containers want archives that claim a million entries each, then such of all kinds at random. Another
// tenant runs small jobs with archives of their own all the while.
func archives(a *arena) {
	c := a.cluster(nil)
	mallory := c.rm.client("mallory")
	defer mallory.Close()
	ann := c.beginNeighbour("ann")
	before := c.nm.resident()

	count, entries := 32, pick(a, 1_000_000, 200_000)
	first := c.path("shared-0.zip")
	a.must(os.WriteFile(first, sharedZip(entries), 0o644))
	var jobs []job
	for i := range count {
		at := c.path(fmt.Sprintf("shared-%d.zip", i))
		if i > 0 {
			a.must(os.Link(first, at))
		}
		jobs = append(jobs, c.submit(mallory, "exit 0", 1, map[string]client.File{"it": c.private(at, client.Archive)}))
	}
	refused := map[string]int{}
	ended := 0
	a.until(pick(a, 2*time.Minute, 30*time.Second), func() bool {
		ended = 0
		for _, j := range jobs {
			if over, _ := c.over(mallory, j); over {
				ended++
			}
		}
		return ended == len(jobs) || !c.nm.running() || c.nm.peak() > enoughMB
	})
	for _, j := range jobs {
		if over, why := c.over(mallory, j); over {
			refused[reason(why)]++
		}
	}
	a.figure("archives that share one header", float64(count), "")
	a.figure("entries of each", float64(entries), "")
	a.figure("resident memory before", before, "MB")
	a.figure("resident memory at the most", c.nm.peak(), "MB")
	a.figure("containers that have ended", float64(ended), "")
	for why, n := range refused {
		fmt.Printf("     %4d: %s\n", n, why)
	}
	a.check(c.nm.running(), "the NodeManager goes on", "running: %v", c.nm.running())
	a.check(c.nm.peak() <= mostNodeMB, fmt.Sprintf("at most %d MB", mostNodeMB), "%.0f MB", c.nm.peak())
	a.check(ended == count && refused["shares its bytes with others"] == count, "each container gets the reason", "%v", refused)
	if c.nm.peak() > enoughMB {
		c.nm.kill()
	} else {
		c.endAll(mallory, jobs)
		c.randomArchives(mallory)
	}
	longest, n, err := ann.leave()
	a.figure("another's jobs meanwhile", float64(n), "")
	a.figure("the longest of them took", longest.Seconds(), "s")
	a.check(err == nil && n > 0 && longest < 30*time.Second, "another tenant's fetches go on", "%d jobs, the longest %v, %v", n, longest, err)
}

// reason is what is the same of all refusals of a kind.
func reason(diagnostics string) string {
	for _, known := range []string{"shares its bytes with others", "directory of entries is too large", "more than 1000000 entries", "times its size", "too many entries",
		"longer than 2097152 bytes", "too large with all its repetitions", "file name too long", "directories deep", "neither a file", "no space left", "the attack is over"} {
		if strings.Contains(diagnostics, known) {
			return known
		}
	}
	for line := range strings.Lines(diagnostics) {
		if at := strings.LastIndex(line, ": "); at >= 0 && strings.Contains(line, "localize ") {
			return strings.TrimSpace(line[at+2:])
		}
	}
	return diagnostics[:min(len(diagnostics), 150)]
}

// randomArchives is an attack of every kind at once, from the seed. What does not end by itself is killed.
func (c *cluster) randomArchives(mallory *client.Client) {
	trudy := c.rm.client("trudy")
	defer trudy.Close()
	tenants := []*client.Client{mallory, trudy}
	c.nm.forgetPeak()
	kinds := map[string]int{}
	jobs := [2][]job{}
	for i := range pick(c.arena, 60, 20) {
		kind := bombs[c.random.IntN(len(bombs))]
		size := 1 << (4 + c.random.IntN(pick(c.arena, 17, 12)))
		at := c.path(fmt.Sprintf("random-%d%s", i, kind.ends))
		var file client.File
		if kind.directory {
			c.must(os.Mkdir(at, 0o755))
			for n := range min(size, 100_000) {
				c.must(os.WriteFile(fmt.Sprintf("%s/%d", at, n), nil, 0o644))
			}
			file = c.private(at, client.PlainFile)
		} else {
			c.must(os.WriteFile(at, kind.make(size), 0o644))
			file = c.private(at, client.Archive)
		}
		kinds[kind.name]++
		who := c.random.IntN(2)
		jobs[who] = append(jobs[who], c.submit(tenants[who], "exit 0", 1, map[string]client.File{"it": file}))
	}
	outcomes := map[string]int{}
	c.until(pick(c.arena, time.Minute, 5*time.Second), func() bool {
		return !slices.ContainsFunc(jobs[0], func(j job) bool { over, _ := c.over(mallory, j); return !over }) &&
			!slices.ContainsFunc(jobs[1], func(j job) bool { over, _ := c.over(trudy, j); return !over })
	})
	for who, list := range jobs {
		c.endAll(tenants[who], list)
		for _, j := range list {
			if _, why := c.over(tenants[who], j); j.begun() {
				outcomes["fetched"]++
			} else {
				outcomes[reason(why)]++
			}
		}
	}
	fmt.Printf("     random archives: %v\n     what became of them: %v\n", kinds, outcomes)
	c.figure("random: resident memory at the most", c.nm.peak(), "MB")
	c.check(c.nm.running() && c.nm.peak() <= mostNodeMB, fmt.Sprintf("random: at most %d MB", mostNodeMB), "%.0f MB, running: %v", c.nm.peak(), c.nm.running())
}

// neighbour runs small jobs one after the other, each with an archive of its own.
type neighbour struct {
	stop    chan struct{}
	done    sync.WaitGroup
	longest time.Duration
	jobs    int
	err     error
}

func (c *cluster) beginNeighbour(user string) *neighbour {
	n := &neighbour{stop: make(chan struct{})}
	n.done.Go(func() {
		x := c.rm.client(user)
		defer x.Close()
		for ; ; n.jobs++ {
			select {
			case <-n.stop:
				return
			default:
			}
			name := fmt.Sprintf("small-%d.tar.gz", n.jobs)
			n.err = os.WriteFile(c.path(name), manyFiles(3), 0o644)
			var file client.File
			if n.err == nil {
				file, n.err = private(c.path(name), client.Archive)
			}
			var j job
			if n.err == nil {
				j, n.err = c.try(x, name, "test -e it/f2", 1, map[string]client.File{"it": file})
			}
			if n.err == nil && !c.until(time.Minute, func() bool { return j.begun() || !c.nm.running() }) {
				n.err = fmt.Errorf("job %d has not begun for a minute", n.jobs)
			}
			if n.err != nil || !c.nm.running() {
				return
			}
			n.longest = max(n.longest, time.Since(j.at))
		}
	})
	return n
}

func (n *neighbour) leave() (longest time.Duration, jobs int, err error) {
	close(n.stop)
	n.done.Wait()
	return n.longest, n.jobs, n.err
}
