package shell

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// How the master works.
const (
	maxStarting = 16               // containers that are being started at once
	finishTime  = 60 * time.Second // to unregister
)

// pace is how often the master does what it repeats.
type pace struct {
	beat     time.Duration // heartbeats
	linger   time.Duration // heartbeats when all work is done
	look     time.Duration // at a running container's logs, and at a log that could not be read
	hold     time.Duration
	patience time.Duration
}

var usual = pace{beat: 250 * time.Millisecond, linger: time.Second, look: time.Second, hold: HoldTime, patience: Patience}

// Master is what a job's master starts with.
type Master struct {
	Credentials token.Credentials
	Host        string // by which the cluster knows this node (NM_HOST)
	Log         *slog.Logger
}

// master runs a job. Its tasks belong to the goroutine of run; what happens
// elsewhere comes in through happened.
type master struct {
	Master
	pace     pace
	job      *Job
	props    *conf.Properties
	rm       *client.Master
	nodes    *client.Nodes
	feed     *feed
	tasks    *tasks
	logs     *http.Client
	scheme   string // of nodes' web servers
	happened chan func()
	room     chan struct{} // for starts
	readers  chan struct{} // for requests to nodes' web servers
	readings map[yarn.ContainerID]*reading
	crew     sync.WaitGroup // of starts and readings

	mu      sync.Mutex
	summary string
}

// Run is the life of a job's master, from registration to the end of the
// application. It returns when ctx ends or nothing is left to do.
func Run(ctx context.Context, m Master) error { return runAt(ctx, m, usual) }

func runAt(ctx context.Context, m Master, p pace) error {
	job, err := jobOf(m.Credentials)
	if err != nil {
		return err
	}
	props, err := job.properties()
	if err != nil {
		return fmt.Errorf("reading the job's properties: %w", err)
	}
	rm, err := client.NewMaster(props, m.Credentials, client.Options{Retrying: func(r client.Retry) { m.Log.Warn(r.String()) }})
	if err != nil {
		return err
	}
	defer rm.Close()
	nodes, err := client.NewNodes(props, rm.Attempt(), client.NodesOptions{Token: rm.NodeToken,
		Retrying: func(r client.NodeRetry) {
			m.Log.Warn("cannot reach a node; trying again", "node", r.Node, "try", r.Tries, "error", r.Err)
		}})
	if err != nil {
		return err
	}
	defer nodes.Close()
	r := &master{Master: m, pace: p, job: job, props: props, rm: rm, nodes: nodes, feed: newFeed(time.Now, p.patience), tasks: newTasks(job.Containers, job.Tries),
		logs: newLogClient(), scheme: "http", happened: make(chan func()), room: make(chan struct{}, maxStarting), readers: make(chan struct{}, maxReaders),
		readings: map[yarn.ContainerID]*reading{}}
	defer r.logs.CloseIdleConnections()
	if props.Get("yarn.http.policy") == "HTTPS_ONLY" {
		r.scheme = "https"
	}
	return r.serve(ctx)
}

// serve is everything while the master's page is there.
func (m *master) serve(ctx context.Context) error {
	l, err := listen(m.Host)
	if err != nil {
		return err
	}
	m.sum()
	s := server(newSite(m.feed, m.job.Secret, m.pace.hold, m.summed))
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(l) }()
	defer func() { s.Close(); <-served }()
	port := l.Addr().(*net.TCPAddr).Port
	if _, err := m.rm.Register(ctx, m.Host, -1, fmt.Sprintf("http://%s/", net.JoinHostPort(m.Host, fmt.Sprint(port)))); err != nil {
		return fmt.Errorf("registering with the ResourceManager: %w", err)
	}
	m.Log.Info("registered", "attempt", m.rm.Attempt(), "port", port)
	err = m.run(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return m.finish(ctx, s, err)
}

// finish ends the application, as failed if err says why.
func (m *master) finish(ctx context.Context, s *http.Server, err error) error {
	status, text := yarn.FinalSucceeded, ""
	if err != nil {
		status, text = yarn.FinalFailed, err.Error()
	} else {
		m.feed.end()
		m.linger(ctx)
		var ok bool
		if ok, text = m.tasks.verdict(); !ok {
			status = yarn.FinalFailed
		}
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	if failure := Unstage(ctx, m.props, m.job.User, m.job.Staging); failure != nil {
		m.Log.Warn("cannot remove the staging directory", "error", failure)
	}
	if failure := m.rm.Finish(ctx, status, text, ""); failure != nil {
		return fmt.Errorf("ending the application: %w", failure)
	}
	m.Log.Info("finished", "status", status, "diagnostics", text)
	_ = s.Shutdown(ctx) // the submitter is still being told that this was all
	return err
}

// linger keeps the application alive until the submitter has fetched everything
// or is gone: at its end nodes may delete the logs.
func (m *master) linger(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	fetched := make(chan bool, 1)
	go func() { fetched <- m.feed.fetched(ctx) }()
	defer func() {
		cancel()
		if !<-fetched {
			m.Log.Warn("the submitter has not fetched everything")
		}
	}()
	tick := time.NewTicker(m.pace.linger)
	defer tick.Stop()
	for {
		select {
		case ok := <-fetched:
			fetched <- ok
			return
		case <-tick.C:
			if _, err := m.rm.Allocate(ctx, 1); err != nil {
				m.Log.Warn("a heartbeat failed", "error", err)
				return
			}
		}
	}
}

// run sends heartbeats until every task is over.
func (m *master) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer m.crew.Wait()
	defer cancel()
	if err := m.rm.Want(m.job.request(m.tasks.missing())); err != nil {
		return err
	}
	tick := time.NewTicker(m.pace.beat)
	defer tick.Stop()
	for !m.tasks.allOver() {
		a, err := m.rm.Allocate(ctx, m.tasks.progress())
		if err != nil {
			return fmt.Errorf("asking for containers: %w", err)
		}
		m.take(ctx, a)
		for beat := false; !beat && !m.tasks.allOver(); {
			select {
			case f := <-m.happened:
				f()
			case <-tick.C:
				beat = true
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		m.sum()
	}
	return nil
}

// tell passes f to the goroutine that owns the tasks.
func (m *master) tell(ctx context.Context, f func()) {
	select {
	case m.happened <- f:
	case <-ctx.Done():
	}
}

// take acts on the answer to a heartbeat.
func (m *master) take(ctx context.Context, a *client.Allocation) {
	byNode := map[yarn.NodeID][]*task{}
	for _, g := range a.Granted {
		if k := m.tasks.granted(g); k != nil {
			byNode[g.Node] = append(byNode[g.Node], k)
		} else {
			m.rm.Release(g.ID)
		}
	}
	for node, list := range byNode {
		var ids []yarn.ContainerID
		var starts []client.Start
		for _, k := range list {
			ids = append(ids, k.grant.ID)
			starts = append(starts, client.Start{Token: k.grant.Token,
				Launch: client.Launch{Commands: []string{m.job.line(k.number, k.try)}, Resources: m.job.Files}})
		}
		m.crew.Add(1)
		go m.start(ctx, node, ids, starts)
	}
	for _, c := range a.Completed {
		m.completed(ctx, c)
	}
}

// start starts containers of one node and tells what became of it.
func (m *master) start(ctx context.Context, node yarn.NodeID, ids []yarn.ContainerID, starts []client.Start) {
	defer m.crew.Done()
	select {
	case m.room <- struct{}{}:
		defer func() { <-m.room }()
	case <-ctx.Done():
		return
	}
	_, failed, err := m.nodes.Start(ctx, node, starts...)
	m.tell(ctx, func() {
		for _, id := range ids {
			why := failed[id]
			if err != nil {
				why = err
			}
			m.startedOrNot(ctx, id, why)
		}
	})
}

func (m *master) startedOrNot(ctx context.Context, id yarn.ContainerID, why error) {
	if why == nil {
		if k := m.tasks.started(id); k != nil {
			m.begin(ctx, k)
		}
		return
	}
	k, again := m.tasks.failed(id, why.Error())
	if k == nil {
		return
	}
	m.rm.Release(id)
	m.left(k, id, again)
}

// begin announces a container and follows its output.
func (m *master) begin(ctx context.Context, k *task) *reading {
	e := m.event(k, Started)
	m.feed.put(e)
	r := &reading{ended: make(chan struct{}), id: k.grant.ID, event: e}
	for _, stream := range streams {
		r.logs = append(r.logs, logOf(m.logs, m.job.User, m.scheme, k.grant.NodeHTTPAddress, k.grant.ID.String(), stream))
	}
	var mine context.Context
	mine, r.stop = context.WithCancel(ctx)
	m.readings[r.id] = r
	m.crew.Add(1)
	go func() {
		defer m.crew.Done()
		defer r.stop()
		note, ok := m.follow(mine, r)
		if ok {
			m.tell(ctx, func() { m.drained(r.id, note) })
		}
	}()
	return r
}

func (m *master) completed(ctx context.Context, c client.Completion) {
	k, again := m.tasks.completed(c)
	if k == nil {
		return
	}
	r := m.readings[c.ID]
	if k.state == draining {
		if r == nil { // over before its start was answered
			r = m.begin(ctx, k)
		}
		close(r.ended)
		return
	}
	if r != nil {
		r.stop()
		delete(m.readings, c.ID)
	}
	m.left(k, c.ID, again)
}

// left says that a container is gone and, if there is to be another, asks for it.
func (m *master) left(k *task, id yarn.ContainerID, again bool) {
	kind := Ended
	if again {
		kind = Lost
		if err := m.rm.Want(m.job.request(m.tasks.missing())); err != nil {
			m.Log.Error("cannot ask again", "error", err)
		}
	}
	m.Log.Info("a container is gone", "container", id, "exit", k.exit, "again", again, "why", k.why)
	m.feed.put(m.event(k, kind))
}

func (m *master) drained(id yarn.ContainerID, note string) {
	delete(m.readings, id)
	if k := m.tasks.drained(id, note); k != nil {
		m.feed.put(m.event(k, Ended))
	}
}

func (m *master) event(k *task, kind Kind) Event {
	e := Event{Kind: kind, Number: k.number, Try: k.try, Container: k.grant.ID.String(), Node: k.grant.Node.String()}
	if kind != Started {
		e.Exit, e.Detail = k.exit, k.why
	}
	return e
}

// sum updates what the page shows, for the goroutines that serve it.
func (m *master) sum() {
	c := m.tasks.counts
	text := fmt.Sprintf("yarn shell: of %d containers %d wait, %d start, %d run, %d have ended",
		len(m.tasks.list), c[waiting], c[starting], c[running]+c[draining], c[over])
	m.mu.Lock()
	defer m.mu.Unlock()
	m.summary = text
}

func (m *master) summed() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.summary
}
