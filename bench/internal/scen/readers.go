package scen

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/bench/internal/hist"
	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/sim"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// Readers measures what readers of the web services cost: stretches of the closed loop of
// Alloc, of which some have readers. Many more applications
// wait in the last queue, where the server must be configured to let none start;
// readers ask for the list of all, for the queues, and for why one waits.
func Readers(args []string) error {
	o := flags("readers")
	waiting := o.fs.Int("waiting", 10_000, "applications that wait in the last queue")
	n := o.fs.Int("readers", 20, "readers")
	every := o.fs.Float64("every", 1, "seconds between two questions of a reader; 0 asks again at once")
	web := o.fs.Int("web-port", 8088, "port of the web services")
	rounds := o.fs.Int("rounds", 1, "rounds; each has every kind of stretch twice")
	paths := o.fs.String("paths", "apps,scheduler,why", "what readers ask for, in turn: apps, scheduler, metrics, info, why, or latest: the latest -latest applications")
	latest := o.fs.Int("latest", 100, "applications that latest asks for")
	copies := o.fs.Bool("copies", false, "a third kind of stretch, in which the readers fetch copies of the server's answer from the driver; needs one path, not why")
	o.parse(args)
	if *every >= mostEvery {
		return fmt.Errorf("-every must be below %d: a server may close a connection that is idle for that long", mostEvery)
	}
	if *rounds < 1 || *latest < 1 || *waiting < 1 {
		return errors.New("-rounds, -latest and -waiting must be at least 1")
	}
	if *copies && (strings.Contains(*paths, ",") || *paths == "why") {
		return errors.New("with -copies, -paths must be one path whose answers are all alike, so not why")
	}
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
	r := &readers{base: fmt.Sprintf("http://%s/ws/v1/cluster/", c.Addr(*web)), every: secs(*every), paths: strings.Split(*paths, ","), latest: *latest, ids: ids}
	kinds := []string{without, with}
	if *copies {
		stop, err := r.serve()
		if err != nil {
			return err
		}
		defer stop()
		kinds = append(kinds, withCopies)
	}
	o.closed(c, o.warm, 1) // does not count: the server has just worked through the submissions

	// After a signal no further round begins; a second signal ends the driver.
	interrupted, done := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer done()
	defer context.AfterFunc(interrupted, done)()
	var all []stretches
	for i := 0; i < *rounds && c.Errors.Load() == 0 && interrupted.Err() == nil; i++ {
		x := stretches{}
		for _, kind := range order(kinds, i) {
			readers := *n
			if kind == without {
				readers = 0
			}
			r.copies = kind == withCopies
			if x[kind] = append(x[kind], r.stretch(o, c, readers)); c.Errors.Load() > 0 {
				break
			}
		}
		all = append(all, x)
	}
	c.Drain(3 * time.Minute)
	f := summary(kinds, all)
	f["nodes"], f["apps"], f["queues"], f["waiting"], f["readers"], f["every_s"], f["answers"] = o.nodes, o.apps, o.cfg.Queues, len(ids), *n, *every, r.summaries()
	return o.emit("readers", c, f)
}

// stretch is the closed loop with so many readers.
func (r *readers) stretch(o *opts, c *sim.Cluster, readers int) out {
	warm := max(min(o.warm, 2), r.every.Seconds()) // by then each reader has its connection and has asked once
	answers, size, publishing, began := r.answers.Load(), r.size.Load(), r.publishing(), time.Now()
	stop := r.start(readers)
	f := o.closed(c, warm, 1)
	if err := stop(); err != nil {
		c.Fail(err)
	}
	took := time.Since(began).Seconds()
	f["publishing_ms_per_s"] = round((r.publishing() - publishing) / took)
	f["answers_per_s"], f["answers_mb_per_s"] = round(float64(r.answers.Load()-answers)/took), round(float64(r.size.Load()-size)/1e6/took)
	return f
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
	base   string
	every  time.Duration
	paths  []string
	latest int
	ids    []yarn.AppID

	copies        bool         // the readers fetch copies
	copied        string       // URL of the driver's copies
	answers, size atomic.Int64 // what readers have had, also of copies; bytes

	mu    sync.Mutex
	took  map[string]*hist.H
	bytes map[string]int64
}

// start has so many readers ask until the result is called, which says what went wrong first.
func (r *readers) start(n int) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, max(n, 1))
	var all sync.WaitGroup
	var turn atomic.Int64
	for i := range n {
		all.Go(func() {
			time.Sleep(r.every * time.Duration(i) / time.Duration(n))
			k := asker{ctx: ctx, buf: make([]byte, 32<<10)} // as much as io.Copy reads at once
			defer k.close()
			defer context.AfterFunc(ctx, k.close)()
			for ctx.Err() == nil {
				t := time.Now()
				path := r.paths[int(turn.Add(1))%len(r.paths)]
				if err := r.read(&k, path); err != nil && ctx.Err() == nil {
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
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	}
}

// serve starts a server in the driver that answers every request with a copy of the ResourceManager's answer to the first path, as it is now.
func (r *readers) serve() (stop func(), err error) {
	url, want, times := r.question(r.paths[0])
	res, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if n := ends(text, []byte(want)); res.StatusCode != http.StatusOK || n < times {
		return nil, fmt.Errorf("%s: %s, %d times %s, want %d", url, res.Status, n, want, times)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.Write(text)
	})}
	go s.Serve(l)
	r.copied = "http://" + l.Addr().String() + "/"
	return func() { s.Close() }, nil
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

// question is the URL that stands behind a path's name, and which text must be in the answer at least how often.
func (r *readers) question(path string) (url, want string, times int) {
	url, want, times = r.base+path, `"queueName":"root`, 1
	switch path {
	case "apps":
		want, times = `"id":"application_`, len(r.ids)
	case "latest":
		url, want, times = fmt.Sprintf("%sapps?limit=%d", r.base, r.latest), `"id":"application_`, min(r.latest, len(r.ids))
	case "metrics":
		want = `"appsSubmitted":`
	case "info":
		want = `"haState":"ACTIVE"`
	case "why":
		one := r.ids[rand.IntN(len(r.ids))]
		id := fmt.Sprintf("application_%d_%04d", one.TS, one.ID)
		url, want = r.base+"apps/"+id+"/why", `"id":"`+id
	}
	return url, want, times
}

// mostEvery bounds -every, in seconds: a server may close a connection that is idle for longer.
const mostEvery = 30

// asker is a reader with its one connection. http.Client would take more of the driver's time: it has two goroutines for each connection.
type asker struct {
	ctx context.Context
	buf []byte

	mu     sync.Mutex
	conn   net.Conn // nil: none
	closed bool
	from   *bufio.Reader
}

// get sends a request, over a new connection if there is none.
func (k *asker) get(at *neturl.URL) (*http.Response, error) {
	conn, err := k.dial(at.Host)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", at.RequestURI(), at.Host); err != nil {
		return nil, err
	}
	return http.ReadResponse(k.from, nil)
}

// dial returns the connection, which it makes at the first call: an asker asks one server only.
func (k *asker) dial(host string) (net.Conn, error) {
	if k.conn != nil { // only this goroutine sets it
		return k.conn, nil
	}
	var d net.Dialer
	conn, err := d.DialContext(k.ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	k.conn, k.from = conn, bufio.NewReader(conn)
	return conn, nil
}

// close ends the request under way, and allows no more.
func (k *asker) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.conn != nil {
		k.conn.Close()
	}
}

// read asks once and checks that the answer has what it must.
func (r *readers) read(k *asker, path string) error {
	url, want, times := r.question(path)
	if r.copies {
		url = r.copied
	}
	at, err := neturl.Parse(url)
	if err != nil {
		return err
	}
	t := time.Now()
	res, err := k.get(at)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	n, size, err := count(res.Body, []byte(want), k.buf)
	if err != nil {
		return err
	}
	if res.Close {
		return fmt.Errorf("%s: the server closes the connection", res.Status)
	}
	if res.StatusCode != http.StatusOK || n < times {
		return fmt.Errorf("%s, %d times %s, want %d", res.Status, n, want, times)
	}
	r.answers.Add(1)
	r.size.Add(size)
	if r.copies {
		return nil
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

// count is how often a text is in what is read, and how much that is. It reads into buf.
func count(from io.Reader, text, buf []byte) (n int, size int64, err error) {
	rest := 0
	for {
		got, err := from.Read(buf[rest:])
		size += int64(got)
		all := buf[:rest+got]
		n += ends(all, text)
		rest = copy(buf, all[max(0, len(all)-len(text)+1):]) // too short to have all of it
		if errors.Is(err, io.EOF) {
			return n, size, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// ends is how often a text is in another one. It looks for the last byte of the text: the first one is a quotation mark, as every tenth byte of JSON is, so
// that bytes.Count takes longer than everything else here.
func ends(all, text []byte) (n int) {
	last := text[len(text)-1]
	for at := 0; ; {
		i := bytes.IndexByte(all[at:], last)
		if i < 0 {
			return n
		}
		if at += i + 1; bytes.HasSuffix(all[:at], text) {
			n++
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
