package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
)

// restarts kills the NodeManager -9 while it runs and fetches for containers, damages what it keeps or deletes it, and starts it
// again: no container may go on that it does not know of, none may fail for what is left of a fetch, and what was deleted under
// the running daemon is lost to nobody.
func restarts(a *arena) {
	c := a.cluster(properties("yarn.nodemanager.recovery.enabled", "true", "yarn.nodemanager.recovery.supervised", "true",
		"yarn.nodemanager.container-executor.exit-code-file.timeout-ms", "500"))
	x := c.rm.client("ann")
	defer x.Close()
	c.whileFetching(x)
	c.deletedWhileRunning(x)
	for range pick(a, 4, 1) {
		c.damaged(x)
	}
}

func (c *cluster) recovery() string { return filepath.Join(c.nm.dir(), "recovery") }

// run starts containers that stay, and waits until their processes are there.
func (c *cluster) run(x *client.Client, n int) (jobs []job) {
	for range n {
		jobs = append(jobs, c.submit(x, "exec sleep 1000", 1, nil))
	}
	if !c.until(2*time.Minute, func() bool { return !slices.ContainsFunc(jobs, func(j job) bool { return !j.lives() }) }) {
		c.must(errors.New("the containers do not all begin"))
	}
	return jobs
}

// known are the containers that the NodeManager speaks of and that have not ended, as applications.
func (c *cluster) known() map[string]bool {
	var page struct {
		Containers struct {
			Container []struct{ ID, State string }
		}
	}
	c.must(c.node("/containers", &page))
	known := map[string]bool{}
	for _, one := range page.Containers.Container {
		if parts := strings.Split(one.ID, "_"); len(parts) > 3 && one.State != "DONE" {
			known[strings.Join(parts[len(parts)-4:len(parts)-2], "_")] = true
		}
	}
	return known
}

// after counts, once the NodeManager serves again, the containers that go on without an owner and those that have ended.
func (c *cluster) after(jobs []job) (orphans, lost int) {
	known := c.known()
	for _, j := range jobs {
		id := strings.TrimPrefix(j.app.String(), "application_")
		switch {
		case j.lives() && !known[id]:
			orphans++
		case !j.lives():
			lost++
		}
	}
	return orphans, lost
}

// whileFetching kills the NodeManager at random moments of fetches. Whatever was on its way comes in the next life.
func (c *cluster) whileFetching(x *client.Client) {
	count, kills := pick(c.arena, 60, 24), pick(c.arena, 6, 2)
	source := slowly(c.arena)
	defer source.Close()
	host, text, err := net.SplitHostPort(source.Addr().String())
	c.must(err)
	port, err := strconv.Atoi(text)
	c.must(err)
	var jobs []job
	packed := c.path("many.tar.gz")
	c.must(os.WriteFile(packed, manyFiles(pick(c.arena, 20_000, 8000)), 0o644))
	for i := range count {
		file := client.File{Scheme: "http", Host: host, Port: int32(port), Path: fmt.Sprintf("/%d", i), Type: client.PlainFile, Visibility: client.Private}
		if i%4 == 0 { // what is left of these takes a while to delete
			at := c.path(fmt.Sprintf("many-%d.tar.gz", i))
			c.must(os.Link(packed, at))
			file = c.private(at, client.Archive)
		}
		jobs = append(jobs, c.submit(x, "test -e it", 1, map[string]client.File{"it": file}))
	}
	for range kills {
		time.Sleep(time.Duration(200+c.random.IntN(800)) * time.Millisecond)
		c.nm.kill()
		c.nm.start()
	}
	failed, cut, example := 0, 0, ""
	c.until(2*time.Minute, func() bool {
		return !slices.ContainsFunc(jobs, func(j job) bool { over, _ := c.over(x, j); return !over })
	})
	for _, j := range jobs {
		over, why := c.over(x, j)
		switch {
		case over && j.begun():
		case strings.Contains(why, "exitCode: 154"): // written down as started, and killed before it was
			cut++
		default:
			failed, example = failed+1, reason(why)
		}
	}
	c.figure("while fetching: containers", float64(count), "")
	c.figure("while fetching: kills -9", float64(kills), "")
	c.figure("while fetching: containers that failed", float64(failed), "")
	c.figure("while fetching: containers killed at their start", float64(cut), "")
	c.check(failed == 0, "a fetch that was cut short fails nobody", "%d of %d, such as %q", failed, count, example)
	c.endAll(x, jobs)
}

// slowly serves files that take up to 2 s each.
func slowly(a *arena) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	a.must(err)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, "begun, ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Duration(n%20) * 100 * time.Millisecond)
		}
		_, _ = io.WriteString(w, "done\n")
	})}
	go func() { _ = server.Serve(l) }()
	return l
}

// deletedWhileRunning takes the recovery store away under the daemon and kills it a while later.
func (c *cluster) deletedWhileRunning(x *client.Client) {
	jobs := c.run(x, pick(c.arena, 60, 20))
	defer c.reap(jobs)
	c.must(os.RemoveAll(c.recovery()))
	noticed := c.until(10*time.Second, func() bool {
		list, _ := filepath.Glob(filepath.Join(c.recovery(), "*.db"))
		return len(list) > 0
	})
	c.nm.kill()
	c.nm.start()
	orphans, lost := c.after(jobs)
	c.figure("deleted under the daemon: containers", float64(len(jobs)), "")
	c.figure("deleted under the daemon: lost", float64(lost), "")
	c.check(noticed && lost == 0 && orphans == 0, "a store that was deleted is noticed, and loses nobody", "noticed: %v; of %d containers %d are lost, %d go on without an owner",
		noticed, len(jobs), lost, orphans)
	c.endAll(x, jobs)
}

// damaged gives the next life an older copy of the store, or none at all, or one that is cut short or garbled, which it may
// refuse; then it gets none.
func (c *cluster) damaged(x *client.Client) {
	count := pick(c.arena, 60, 30)
	kinds := []string{"an older copy", "none", "cut short", "garbled"}
	kind := kinds[c.random.IntN(len(kinds))]
	split := c.random.IntN(count)
	jobs := c.run(x, split)
	files, err := filepath.Glob(filepath.Join(c.recovery(), "*.db"))
	c.must(err)
	if len(files) != 1 {
		c.must(fmt.Errorf("%d stores in %s", len(files), c.recovery()))
	}
	c.nm.kill() // so that the copy is whole
	older, err := os.ReadFile(files[0])
	c.must(err)
	c.nm.start()
	jobs = append(jobs, c.run(x, count-split)...)
	defer func() { c.reap(jobs) }()
	c.nm.kill()
	content, err := os.ReadFile(files[0])
	c.must(err)
	used := len(bytes.TrimRight(content, "\x00")) // behind it there is only room
	switch kind {
	case "an older copy", "none": // without what else is there, which tells that there was another
		content = older
		c.must(os.RemoveAll(c.recovery()))
		c.must(os.Mkdir(c.recovery(), 0o700))
	case "cut short":
		content = content[:c.random.IntN(used)]
	case "garbled":
		for range 1 + c.random.IntN(50) {
			content[c.random.IntN(used)] ^= byte(1 + c.random.IntN(255))
		}
	}
	if kind != "none" {
		c.must(os.WriteFile(files[0], content, 0o600))
	}
	c.nm.launch()
	refused := c.nm.up() != nil
	if refused {
		c.nm.kill()
		c.must(os.RemoveAll(c.recovery()))
		c.nm.start()
	}
	orphans, lost := c.after(jobs)
	fmt.Printf("     %s: refused: %v; of %d containers %d go on, %d were ended\n", kind, refused, count, count-lost, lost)
	c.check(orphans == 0, "no container goes on without an owner", "%d of %d", orphans, count)
	c.endAll(x, jobs)
}
