package rack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Default is the rack of hosts of which nothing is known.
const Default = "/default-rack"

// Defaults and limits.
const (
	DefaultScriptArgs = 100
	DefaultTimeout    = 30 * time.Second // of one run of the script; Hadoop's own is none
	DefaultWait       = 2 * time.Second
	DefaultMaxHosts   = 100_000
	MaxHostName       = 255             // bytes
	MaxRack           = 255             // bytes
	resolveTimeout    = 5 * time.Second // for the addresses of one batch
	retryAfter        = 30 * time.Second
)

// Options say how racks are found, as conf.Topology has it.
type Options struct {
	Mapping    string        // "script" or "": by Script, if there is one; "table": by Table
	Script     string        // net.topology.script.file.name
	ScriptArgs int           // hosts of one run; 0: DefaultScriptArgs
	Table      string        // net.topology.table.file.name
	Timeout    time.Duration // of one run of the script; 0: DefaultTimeout
	Wait       time.Duration // how long a caller waits at most; 0: DefaultWait
	MaxHosts   int           // answers kept, and hosts waiting for one; 0: DefaultMaxHosts
	Log        *slog.Logger  // nil: slog.Default()

	// Address resolves a host's name to the text of its address. nil: by the
	// system's resolver, IPv4 first, as Java does.
	Address func(ctx context.Context, host string) (string, error)
}

// Resolver finds racks. It is safe for concurrent use.
type Resolver struct {
	options Options
	find    func(ctx context.Context, asked []question) // sets rack or err of each
	ctx     context.Context
	stop    context.CancelFunc
	idle    sync.WaitGroup

	mu      sync.Mutex
	hosts   map[string]*entry
	order   []string // of hosts, oldest first
	queue   []string // to be asked for
	working bool
	version int // counts reloads
	table   map[string]string
}

// entry is what is known about a host.
type entry struct {
	rack   string // "": nothing yet
	err    error  // why the last try found nothing
	retry  time.Time
	logged bool
	done   chan struct{} // not nil: the host is being asked for
}

// question is a host in a batch, and what came of it.
type question struct {
	host, address string
	rack          string
	err           error
}

// New checks the options and reads the table, if that is how racks are found.
func New(o Options) (*Resolver, error) {
	r := &Resolver{options: o.withDefaults(), hosts: map[string]*entry{}}
	switch {
	case (o.Mapping == "" || o.Mapping == "script") && o.Script == "":
	case o.Mapping == "" || o.Mapping == "script":
		r.find = r.byScript
	case o.Mapping == "table":
		table, err := readTable(o.Table)
		if err != nil {
			return nil, fmt.Errorf("net.topology.table.file.name: %w", err)
		}
		r.table, r.find = table, r.byTable
	default:
		return nil, fmt.Errorf("net.topology.node.switch.mapping.impl: the mapping %q is not built; use ScriptBasedMapping or TableMapping", o.Mapping)
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r, nil
}

func (o Options) withDefaults() Options {
	if o.ScriptArgs <= 0 {
		o.ScriptArgs = DefaultScriptArgs
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Wait <= 0 {
		o.Wait = DefaultWait
	}
	if o.MaxHosts <= 0 {
		o.MaxHosts = DefaultMaxHosts
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Address == nil {
		o.Address = address
	}
	return o
}

// Rack is the host's rack. It waits at most Options.Wait, and for ctx.
func (r *Resolver) Rack(ctx context.Context, host string) string {
	return r.Racks(ctx, []string{host})[0]
}

// Racks are the racks of the hosts, in their order, after one wait for all.
func (r *Resolver) Racks(ctx context.Context, hosts []string) []string {
	racks := make([]string, len(hosts))
	waits := make([]<-chan struct{}, len(hosts))
	r.mu.Lock()
	for i, h := range hosts {
		racks[i], waits[i] = r.ask(h)
	}
	r.mu.Unlock()
	deadline := time.NewTimer(r.options.Wait)
	defer deadline.Stop()
	for i := range hosts {
		if waits[i] == nil {
			continue
		}
		select {
		case <-waits[i]:
		case <-deadline.C:
			return r.now(hosts, racks)
		case <-ctx.Done():
			return r.now(hosts, racks)
		}
	}
	return r.now(hosts, racks)
}

// now fills in the answers that have come.
func (r *Resolver) now(hosts, racks []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, h := range hosts {
		if e := r.hosts[h]; e != nil && e.rack != "" {
			racks[i] = e.rack
		}
	}
	return racks
}

// Reload forgets all answers and reads the table anew. If it cannot be read the
// old one stays in force.
func (r *Resolver) Reload() error {
	var table map[string]string
	if r.options.Mapping == "table" {
		var err error
		if table, err = readTable(r.options.Table); err != nil {
			return fmt.Errorf("net.topology.table.file.name: %w; the table read before stays in force", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for host, e := range r.hosts {
		if e.done == nil {
			delete(r.hosts, host)
		}
	}
	r.order = r.order[:0]
	for host := range r.hosts {
		r.order = append(r.order, host)
	}
	r.table = table
	r.version++
	return nil
}

// Close ends a script that runs. Hosts not known by then are in the default rack.
func (r *Resolver) Close() {
	r.mu.Lock()
	r.stop()
	r.mu.Unlock()
	r.idle.Wait()
}

// ask answers from memory, or queues the host and returns what to wait for.
func (r *Resolver) ask(host string) (string, <-chan struct{}) {
	if r.find == nil {
		return Default, nil
	}
	e := r.hosts[host]
	switch {
	case e == nil && len(r.queue) >= r.options.MaxHosts, r.ctx.Err() != nil:
		return Default, nil
	case e == nil:
		e = r.add(host)
	case e.rack != "":
		return e.rack, nil
	case e.done != nil:
		return Default, e.done
	case time.Now().Before(e.retry):
		return Default, nil
	}
	if err := checkName(host); err != nil {
		r.settle(e, question{host: host, err: err})
		return Default, nil
	}
	e.done = make(chan struct{})
	r.queue = append(r.queue, host)
	if !r.working {
		r.working = true
		r.idle.Go(r.work)
	}
	return Default, e.done
}

func (r *Resolver) add(host string) *entry {
	for len(r.order) >= r.options.MaxHosts {
		oldest := r.order[0]
		r.order = r.order[1:]
		if e := r.hosts[oldest]; e.done != nil {
			r.order = append(r.order, oldest) // at most the queue's length of them
			break
		}
		delete(r.hosts, oldest)
	}
	e := &entry{}
	r.hosts[host] = e
	r.order = append(r.order, host)
	return e
}

// work asks for what is queued, batch by batch, until nothing is.
func (r *Resolver) work() {
	for {
		r.mu.Lock()
		n := min(len(r.queue), r.options.ScriptArgs)
		batch := make([]question, n)
		for i, h := range r.queue[:n] {
			batch[i].host = h
		}
		r.queue = r.queue[n:]
		version := r.version
		if n == 0 {
			r.queue, r.working = nil, false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		r.find(r.ctx, batch)
		r.finish(batch, version)
	}
}

func (r *Resolver) finish(batch []question, version int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range batch {
		if version != r.version && r.ctx.Err() == nil {
			r.queue = append(r.queue, q.host) // what was found may be out of date
			continue
		}
		e := r.hosts[q.host]
		close(e.done)
		e.done = nil
		r.settle(e, q)
	}
}

// settle keeps an answer, or notes a failure and logs the host's first.
func (r *Resolver) settle(e *entry, q question) {
	if q.err == nil {
		q.rack, q.err = checkRack(q.rack)
	}
	if e.rack, e.err = q.rack, q.err; q.err == nil {
		return
	}
	e.rack, e.retry = "", time.Now().Add(retryAfter)
	if !e.logged && !errors.Is(q.err, context.Canceled) {
		e.logged = true
		r.options.Log.Warn("no rack found for a host, it counts as one of "+Default, "host", clip(q.host), "error", q.err)
	}
}

// checkName refuses what a script could take for an option or worse.
func checkName(host string) error {
	if host == "" || len(host) > MaxHostName || host[0] == '-' {
		return errors.New("the name is empty, too long or begins with a dash")
	}
	for _, c := range []byte(host) {
		ok := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-._:%", c) >= 0
		if !ok {
			return fmt.Errorf("the name holds the character %q", c)
		}
	}
	return nil
}

// checkRack cleans a rack's path: it begins with a slash and does not end with one.
func checkRack(rack string) (string, error) {
	clean := strings.TrimRight(rack, "/")
	switch {
	case !strings.HasPrefix(rack, "/") || clean == "":
		return "", fmt.Errorf("%q is no rack: it must begin with a slash and have a name", clip(rack))
	case len(clean) > MaxRack:
		return "", fmt.Errorf("rack %q is longer than %d bytes", clip(rack), MaxRack)
	case strings.ContainsFunc(clean, func(c rune) bool { return c <= ' ' || c == 0x7f || c == 0xfffd }):
		return "", fmt.Errorf("rack %q holds a blank or a control character", clip(rack))
	}
	return clean, nil
}

func clip(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
