package java

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Config describes a Fetcher.
type Config struct {
	Environ   []string                         // the daemon's, which processes inherit
	Conf      func() string                    // Hadoop's configuration directory; "" if there is none
	Address   func() string                    // host:port of the localizer port, as seen from this machine
	User      string                           // whom the daemon runs as, and PUBLIC resources are fetched as
	Dirs      func(localize.Job) (Dirs, error) // makes those for a process that begins with this resource; after an error, too, temporary ones are removed
	Options   []string                         // for Java (yarn.nodemanager.container-localizer.admin.java.opts and java.opts)
	Exports   bool                             // for Java 17 and newer, too (….java.opts.add-exports-as-default)
	LogLevel  string                           // yarn.nodemanager.container-localizer.log.level
	Processes int                              // at once; 8
	Silence   time.Duration                    // between heartbeats, and before the first one, until a process is killed; 2 min
	Log       *slog.Logger
}

// Dirs are where a process works. They exist.
type Dirs struct {
	Local     []string // the local directories that the process is told of
	Work      string   // where it is started
	Log       string   // where its log goes
	Temporary bool     // Work goes with the process
}

// Fetcher has processes fetch. It implements localize.Foreign, and ipc.Tokens for the localizer port. It is safe for
// concurrent use.
type Fetcher struct {
	cfg    Config
	env    map[string]string
	slots  chan struct{}
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	crews     map[crewKey]*crew
	processes map[string]*process // by the identifier of their tokens
}

// crewKey tells crews apart.
type crewKey struct {
	container yarn.ContainerID
	public    bool
}

// crew is what is wanted for a container. Its fields are guarded by Fetcher.mu.
type crew struct {
	f     *Fetcher
	key   crewKey
	queue []*order // not given to a process yet, in the order in which they came
	works bool     // a process is being prepared, runs, or is being cleaned up
	now   *process // that works for it; nil: none
	late  []*order // given up, and to be finished when nothing works any more: till then directories may be written to
}

// order is one fetch.
type order struct {
	localize.Job
	by   *process // that fetches it; nil: none yet
	done chan outcome
}

type outcome struct {
	file string
	err  error
}

func (o *order) finish(file string, err error) { o.done <- outcome{file, err} }

var (
	errClosed   = errors.New("localization ends with the node")
	errUnwanted = errors.New("nobody waits for it any more")
)

// New starts nothing yet.
func New(cfg Config) *Fetcher {
	if cfg.Processes <= 0 {
		cfg.Processes = 8
	}
	if cfg.Silence <= 0 {
		cfg.Silence = 2 * time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	f := &Fetcher{cfg: cfg, env: map[string]string{}, slots: make(chan struct{}, cfg.Processes), crews: map[crewKey]*crew{}, processes: map[string]*process{}}
	for _, entry := range cfg.Environ {
		name, value, _ := strings.Cut(entry, "=")
		f.env[name] = value
	}
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
	return f
}

func (f *Fetcher) getenv(name string) string { return f.env[name] }

// Fetch implements localize.Foreign.
func (f *Fetcher) Fetch(ctx context.Context, j localize.Job) (string, error) {
	o := &order{Job: j, done: make(chan outcome, 1)}
	if err := f.add(o); err != nil {
		return "", err
	}
	select {
	case out := <-o.done:
		return out.file, out.err
	case <-ctx.Done():
		f.drop(o)
		<-o.done // nobody writes any more
		return "", context.Cause(ctx)
	}
}

func (f *Fetcher) add(o *order) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	key := crewKey{o.Container, o.Request.Visibility == localize.Public}
	c := f.crews[key]
	if c == nil {
		c = &crew{f: f, key: key}
		f.crews[key] = c
		f.work.Go(c.run)
	}
	c.queue = append(c.queue, o)
	return nil
}

// drop gives an order up. It is finished, if only after its process has been killed.
func (f *Fetcher) drop(o *order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.by != nil {
		if o.by.current == o {
			o.by.kill(errUnwanted)
		}
		return // it is finished, or will be with its process
	}
	c := f.crews[crewKey{o.Container, o.Request.Visibility == localize.Public}]
	if c == nil {
		return
	}
	i := slices.Index(c.queue, o)
	if i < 0 {
		return
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	p := c.now
	if !c.works || len(c.queue) > 0 || p != nil && p.current != nil {
		o.finish("", errUnwanted)
		return
	}
	c.late = append(c.late, o)
	if p != nil {
		p.kill(errUnwanted)
	}
}

// run has processes work, one after the other, as long as there is work.
func (c *crew) run() {
	for {
		select {
		case c.f.slots <- struct{}{}:
		case <-c.f.ctx.Done():
			c.end(errClosed)
			return
		}
		if c.ended() {
			<-c.f.slots
			return
		}
		err := c.shift()
		<-c.f.slots
		c.rest(err)
	}
}

// rest finishes what has been given up, and everything if the process has failed.
func (c *crew) rest(err error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.works = false
	for _, o := range c.late {
		o.finish("", errUnwanted)
	}
	c.late = nil
	if err != nil {
		c.fail(err)
	}
}

// ended forgets a crew that has nothing to do.
func (c *crew) ended() bool {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if c.works = len(c.queue) > 0; c.works {
		return false
	}
	delete(c.f.crews, c.key)
	return true
}

// end forgets a crew, whatever it has to do.
func (c *crew) end(err error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.fail(err)
	delete(c.f.crews, c.key)
}

// fail finishes all that waits.
func (c *crew) fail(err error) {
	for _, o := range c.queue {
		o.finish("", err)
	}
	c.queue = nil
}

// wanted is a resource as the process gets it.
func wanted(o *order) *pb.ResourceLocalizationSpec {
	return &pb.ResourceLocalizationSpec{Resource: o.Resource, DestinationDirectory: &pb.URL{Scheme: new("file"), File: &o.Dest}}
}

// Close kills all processes and waits for their ends.
func (f *Fetcher) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel(errClosed)
	f.work.Wait()
}
