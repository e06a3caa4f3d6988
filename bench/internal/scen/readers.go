package scen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/bench/internal/hist"
	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/sim"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// Readers measures what readers of the web services cost: the closed loop of
// Alloc without readers, with them, with them, and without. Many more applications
// wait in the last queue, where the server must be configured to let none start;
// readers ask for the list of all, for the queues, and for why one waits.
func Readers(args []string) error {
	o := flags("readers")
	waiting := o.fs.Int("waiting", 10_000, "applications that wait in the last queue")
	n := o.fs.Int("readers", 20, "readers")
	every := o.fs.Float64("every", 1, "seconds between two questions of a reader; 0 asks again at once")
	web := o.fs.Int("web-port", 8088, "port of the web services")
	paths := o.fs.String("paths", "apps,scheduler,why", "what readers ask for, in turn; latest: the latest hundred applications")
	o.parse(args)
	if o.cfg.Queues < 2 {
		return errors.New("at least 2 queues are needed")
	}
	if *o.base > 0 {
		*web = *o.base + 58
	}
	o.clampWorkers(min(o.nodes, o.apps))
	c := sim.New(o.cfg)
	defer c.Close()
	if err := c.Await(2 * time.Minute); err != nil {
		return err
	}
	if err := c.AddNodes(o.nodes, o.nodeSize(o.slots)); err != nil {
		return err
	}
	if err := c.AddApps(o.apps, o.cfg.Queues-1); err != nil {
		return err
	}
	ids, err := wait(c, *waiting)
	if err != nil {
		return err
	}
	r := &readers{base: fmt.Sprintf("http://%s/ws/v1/cluster/", c.Addr(*web)), every: secs(*every), paths: strings.Split(*paths, ","), ids: ids}
	var without, with []out
	for i, readers := range []int{0, *n, *n, 0} {
		warm := o.warm
		if i > 0 {
			warm = min(warm, 3)
		}
		stop := r.start(readers)
		before := r.publishing()
		f := o.closed(c, warm, 1)
		f["publishing_ms_per_s"] = round((r.publishing() - before) / (warm + o.secs))
		if err := stop(); err != nil {
			c.Fail(err)
		}
		if readers == 0 {
			without = append(without, f)
		} else {
			with = append(with, f)
		}
		if c.Errors.Load() > 0 {
			break
		}
	}
	c.Drain(3 * time.Minute)
	rate := func(fs []out) (sum float64) {
		for _, f := range fs {
			sum += f["containers_per_s"].(float64)
		}
		return round(sum / max(1, float64(len(fs))))
	}
	return o.emit("readers", c, out{"nodes": o.nodes, "apps": o.apps, "queues": o.cfg.Queues, "waiting": len(ids), "readers": *n, "every_s": *every,
		"containers_per_s": rate(without), "containers_per_s_with_readers": rate(with), "kept": round(rate(with) / max(1, rate(without))),
		"publishing_ms_per_s": with[len(with)-1]["publishing_ms_per_s"], "answers": r.summaries(), "without": without, "with": with})
}

// wait submits applications to the last queue.
func wait(c *sim.Cluster, n int) ([]yarn.AppID, error) {
	all := make([][]yarn.AppID, c.Workers)
	err := c.Each(func(w int) error {
		cl, err := rpc.Dial(c.Addr(c.ClientPort), yarn.ClientProtocol, c.User, nil)
		if err != nil {
			return err
		}
		defer cl.Close()
		for i := w; i < n; i += c.Workers {
			msg, err := cl.Reply(cl.End(cl.Begin(yarn.GetNewApplication)))
			if err != nil {
				return err
			}
			id, err := yarn.ScanNewApp(msg)
			if err != nil {
				return err
			}
			s := yarn.Submission{App: id, Name: "waits", Queue: fmt.Sprintf(c.QueueFmt, c.Queues-1), AM: yarn.Resource{Mem: 1024, VC: 1}, Context: c.Context}
			if _, err := cl.Reply(cl.End(s.Append(cl.Begin(yarn.SubmitApplication)))); err != nil {
				return err
			}
			all[w] = append(all[w], id)
		}
		if len(all[w]) > 0 {
			_, err = settled(c, cl, all[w][len(all[w])-1], 5*time.Millisecond)
		}
		return err
	})
	return slices.Concat(all...), err
}

// readers ask the web services.
type readers struct {
	base  string
	every time.Duration
	paths []string
	ids   []yarn.AppID

	mu    sync.Mutex
	took  map[string]*hist.H
	bytes map[string]int64
}

// start has so many readers ask until the result is called, which says what went wrong first.
func (r *readers) start(n int) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, max(n, 1))
	var all sync.WaitGroup
	transport := &http.Transport{MaxIdleConnsPerHost: n}
	var turn atomic.Int64
	for i := range n {
		all.Go(func() {
			time.Sleep(r.every * time.Duration(i) / time.Duration(n))
			for ctx.Err() == nil {
				t := time.Now()
				path := r.paths[int(turn.Add(1))%len(r.paths)]
				if err := r.read(ctx, transport, path); err != nil && ctx.Err() == nil {
					failed <- fmt.Errorf("%s: %w", path, err)
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(r.every - time.Since(t)):
				}
			}
		})
	}
	return func() error {
		cancel()
		all.Wait()
		transport.CloseIdleConnections()
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	}
}

// publishing is how many milliseconds the server says that its scheduler has worked
// for readers; 0 of a server that says nothing.
func (r *readers) publishing() float64 {
	res, err := http.Get(strings.TrimSuffix(r.base, "ws/v1/cluster/") + "jmx?qry=Hadoop:service=ResourceManager,name=LoopMetrics")
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	var beans struct {
		Beans []struct{ PublishingMillis float64 }
	}
	if json.NewDecoder(res.Body).Decode(&beans) != nil || len(beans.Beans) == 0 {
		return 0
	}
	return beans.Beans[0].PublishingMillis
}

// read asks once and checks that the answer has what it must.
func (r *readers) read(ctx context.Context, by http.RoundTripper, path string) error {
	url, want, times := r.base+path, `"queueName":"root`, 1
	switch path {
	case "apps":
		want, times = `"id":"application_`, len(r.ids)
	case "latest":
		url, want, times = r.base+"apps?limit=100", `"id":"application_`, min(100, len(r.ids))
	case "why":
		one := r.ids[rand.IntN(len(r.ids))]
		id := fmt.Sprintf("application_%d_%04d", one.TS, one.ID)
		url, want = r.base+"apps/"+id+"/why", `"id":"`+id
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	t := time.Now()
	res, err := by.RoundTrip(q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	n, size, err := count(res.Body, []byte(want))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || n < times {
		return fmt.Errorf("%s, %d times %s, want %d", res.Status, n, want, times)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.took == nil {
		r.took, r.bytes = map[string]*hist.H{}, map[string]int64{}
	}
	if r.took[path] == nil {
		r.took[path] = new(hist.H)
	}
	r.took[path].Add(time.Since(t))
	r.bytes[path] = size
	return nil
}

// count is how often a text is in what is read, and how much that is.
func count(from io.Reader, text []byte) (n int, size int64, err error) {
	buf, rest := make([]byte, 256<<10), 0
	for {
		got, err := from.Read(buf[rest:])
		size += int64(got)
		all := buf[:rest+got]
		n += bytes.Count(all, text)
		rest = copy(buf, all[max(0, len(all)-len(text)+1):]) // too short to have all of it
		if errors.Is(err, io.EOF) {
			return n, size, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// summaries are how long answers took, and how long the last of each kind was.
func (r *readers) summaries() out {
	o := out{}
	for path, h := range r.took {
		o[path] = out{"took": hists{*h}.sum(), "bytes": r.bytes[path]}
	}
	return o
}
