package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

var topOptions = []option{
	{name: "queues", arg: "arg", values: 1, help: "Only applications in these queues, separated by commas, and only these queues in the numbers."},
	{name: "users", arg: "arg", values: 1, help: "Only applications of these users, separated by commas."},
	{name: "types", arg: "arg", values: 1, help: "Only applications of these types, separated by commas."},
	{name: "cols", arg: "arg", values: 1, help: "Columns of the screen, in place of the terminal's."},
	{name: "rows", arg: "arg", values: 1, help: "Rows of the screen, in place of the terminal's."},
	{name: "delay", arg: "arg", values: 1, help: "Seconds between two looks; 3 if left out."},
	{name: "once", help: "Prints one look without control characters and ends. So it does if the output is no terminal."},
	{name: "help", help: "Prints this text; h helps while it runs."},
}

// How often top asks.
const (
	topDelay = 3 * time.Second
	// topAge is how long a list of applications is used, as by the stock command: it costs the ResourceManager more than the numbers.
	topAge      = 5 * time.Second
	topKeys     = 64               // keys that wait
	topPatience = 10 * time.Second // with one look
)

// top is yarn top.
func top(c *call) error {
	var err error
	c.opts, err = parse(topOptions, c.args)
	var noValue errMissing
	if errors.As(err, &noValue) {
		err = javaError{"org.apache.commons.cli.MissingArgumentException", noValue.Error()} // compat: in Hadoop's command, and in no other, the exception is uncaught
	}
	if err != nil {
		return err
	}
	if c.opts.has("help") {
		c.usage()
		return nil
	}
	t := &topCommand{call: c, delay: topDelay, screen: newTopScreen(c.Zone)}
	if err := t.read(); err != nil {
		return err
	}
	if _, terminal := c.terminal(); c.json || c.opts.has("once") || !terminal || c.Keyboard == nil {
		return t.once()
	}
	return t.follow()
}

// topCommand is one run of yarn top.
type topCommand struct {
	*call
	delay         time.Duration
	columns, rows int // as told; 0: the terminal's
	queues        []string
	filter        client.ApplicationFilter
	screen        *topScreen
}

// read takes the options. compat: a number that is none ends the command with 1; a delay below a second is passed by.
func (t *topCommand) read() error {
	list := func(name string) []string { return notBlank(strings.Split(t.opts.first(name), ",")) }
	t.queues = list("queues")
	t.filter = client.ApplicationFilter{States: []yarn.PublicState{yarn.PublicAccepted, yarn.PublicRunning}, Queues: t.queues, Users: list("users"), Types: list("types")}
	delay := 0
	for name, into := range map[string]*int{"cols": &t.columns, "rows": &t.rows, "delay": &delay} { //tidy:unordered any of several mistakes is told
		if !t.opts.has(name) {
			continue
		}
		n, err := strconv.Atoi(t.opts.first(name))
		if err != nil || n < 0 || n > 100000 {
			return fmt.Errorf("-%s %s: not a number from 0 to 100000", name, t.opts.first(name))
		}
		*into = n
	}
	if delay >= 1 {
		t.delay = time.Duration(delay) * time.Second
	}
	return nil
}

// look asks for everything that the screen shows. last is the look before; the first is of the zero value.
func (t *topCommand) look(ctx context.Context, last topLook) (topLook, error) {
	rm, err := t.client()
	if err != nil {
		return last, err
	}
	s := topLook{at: t.Now(), queues: t.queues, apps: last.apps, listed: last.listed, started: last.started}
	if s.nodes, err = rm.Metrics(ctx); err != nil {
		return last, err
	}
	if s.statistics, err = t.statistics(ctx, rm); err != nil {
		return last, err
	}
	if s.started == 0 {
		s.started = t.startOfManager()
	}
	if s.started > 0 {
		s.up = s.at.Sub(time.UnixMilli(s.started))
	}
	if age := s.at.Sub(s.listed); age >= topAge || age < 0 {
		if s.apps, err = rm.Applications(ctx, t.filter); err != nil {
			return last, err
		}
		s.listed = s.at
	}
	return s, nil
}

// statistics sums the queues asked for; without any, those below the root, as the stock command does.
func (t *topCommand) statistics(ctx context.Context, rm *client.Client) (client.QueueStatistics, error) {
	var all []*client.Queue
	if len(t.queues) == 0 {
		root, err := rm.Queue(ctx, "root", true, true)
		if err != nil {
			return client.QueueStatistics{}, err
		}
		if root != nil {
			all = root.Children
		}
	}
	for _, name := range t.queues {
		q, err := rm.Queue(ctx, name, false, false)
		if err != nil {
			return client.QueueStatistics{}, err
		}
		if q == nil {
			return client.QueueStatistics{}, fmt.Errorf("there is no queue %s", name)
		}
		all = append(all, q)
	}
	var sum client.QueueStatistics
	for _, q := range all {
		if q.Statistics != nil {
			sum.Add(q.Statistics)
		}
	}
	return sum, nil
}

// startOfManager asks a web service, as nothing else tells it; 0: it does not answer.
func (t *topCommand) startOfManager() int64 {
	var x struct {
		Info struct {
			StartedOn int64 `json:"startedOn"`
		} `json:"clusterInfo"`
	}
	if _, err := t.askWeb(webCall{method: http.MethodGet, path: "/ws/v1/cluster/info", what: "information on the cluster", patience: webConnectTime}, &x); err != nil {
		return 0
	}
	return x.Info.StartedOn
}

// once prints one look, whole unless -cols and -rows limit it.
func (t *topCommand) once() error {
	var err error
	if t.screen.look, err = t.look(t.ctx, topLook{}); err != nil {
		return err
	}
	if t.json {
		return t.writeDocument("top", t.screen.document())
	}
	t.screen.columns, t.screen.rows = t.columns, t.rows
	for _, line := range t.screen.lines() {
		fmt.Fprintln(t.Stdout, strings.TrimRight(line, " "))
	}
	return nil
}

// Sequences of terminals: a screen beside the usual one, no cursor; and back.
const (
	topEnter = "\x1b[?1049h\x1b[?25l\x1b[2J"
	topLeave = "\x1b[?25h\x1b[?1049l"
)

// follow shows the screen until q.
func (t *topCommand) follow() error {
	var err error
	if t.screen.look, err = t.look(t.ctx, topLook{}); err != nil { // what cannot be begun is told as by any command
		return err
	}
	restore, err := t.Keyboard()
	if err != nil {
		return fmt.Errorf("the terminal's keyboard: %w", err)
	}
	defer restore()
	out := t.Env.screen
	fmt.Fprint(out, topEnter)
	defer fmt.Fprint(out, topLeave)
	keys := make(chan byte, topKeys)
	go readKeys(t.Stdin, keys)
	looks, asking := make(chan topResult, 1), false
	tick := time.NewTimer(t.delay)
	defer tick.Stop()
	for {
		t.draw(out)
		select {
		case key, ok := <-keys:
			if !ok || t.screen.press(key) {
				return nil
			}
		case <-tick.C:
			if t.screen.mode == topApps && !asking {
				asking = true
				go func(last topLook) {
					limited, cancel := context.WithTimeout(t.ctx, topPatience)
					defer cancel()
					look, err := t.look(limited, last)
					looks <- topResult{look, err}
				}(t.screen.look)
			}
			tick.Reset(t.delay)
		case r := <-looks:
			asking = false
			t.screen.look, t.screen.trouble = r.look, ""
			if r.err != nil {
				t.screen.trouble = r.err.Error()
			}
		case <-t.ctx.Done():
			return nil
		}
	}
}

// topResult is a look, or the one before and why there is no new one.
type topResult struct {
	look topLook
	err  error
}

// readKeys passes keys on until there are none any more. It outlives the screen while it waits for a key.
func readKeys(in io.Reader, keys chan<- byte) {
	defer close(keys)
	var b [1]byte
	for {
		n, err := in.Read(b[:])
		if n > 0 {
			keys <- b[0]
		}
		if err != nil {
			return
		}
	}
}

// draw puts the lines over what is there.
func (t *topCommand) draw(out io.Writer) {
	t.screen.columns, t.screen.rows = t.columns, t.rows
	if columns, ok := t.terminal(); ok && t.columns == 0 {
		t.screen.columns = columns
	}
	if t.rows == 0 && t.Rows != nil {
		t.screen.rows = t.Rows()
	}
	if t.screen.rows <= 0 {
		t.screen.rows = 24
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	lines := t.screen.lines()
	lines = lines[:min(len(lines), t.screen.rows)]
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if i == t.screen.head() {
			line = "\x1b[7m" + line + "\x1b[0m"
		}
		b.WriteString(line + "\x1b[K")
	}
	b.WriteString("\x1b[J")
	_, _ = io.WriteString(out, b.String())
}

// document is a look for programs.
func (s *topScreen) document() document {
	l := &s.look
	n, q := l.nodes, l.statistics
	return document{{"time", l.at.UnixMilli()}, {"upSeconds", int64(l.up / time.Second)}, {"queues", words(l.queues)},
		{"nodes", document{{"total", n.NodeManagers}, {"active", n.Active}, {"unhealthy", n.Unhealthy}, {"decommissioning", n.Decommissioning},
			{"decommissioned", n.Decommissioned}, {"lost", n.Lost}, {"rebooted", n.Rebooted}, {"shutdown", n.Shutdown}}},
		{"statistics", document{{"activeUsers", q.ActiveUsers}, {"running", q.Running}, {"submitted", q.Submitted}, {"pending", q.Pending},
			{"completed", q.Completed}, {"killed", q.Killed}, {"failed", q.Failed},
			{"memoryMB", document{{"available", q.AvailableMB}, {"allocated", q.AllocatedMB}, {"pending", q.PendingMB}, {"reserved", q.ReservedMB}}},
			{"vcores", document{{"available", q.AvailableVCores}, {"allocated", q.AllocatedVCores}, {"pending", q.PendingVCores}, {"reserved", q.ReservedVCores}}},
			{"containers", document{{"allocated", q.AllocatedContainers}, {"pending", q.PendingContainers}, {"reserved", q.ReservedContainers}}}}},
		{"applications", items(s.sorted(), applicationDocument)}}
}

// sorted are the applications in the order of the screen.
func (s *topScreen) sorted() []*client.Application {
	apps := slices.Clone(s.look.apps)
	column := s.columnOf(s.sort)
	slices.SortStableFunc(apps, func(a, b *client.Application) int {
		order := column.compare(s, a, b)
		if !s.ascending {
			return -order
		}
		return order
	})
	return apps
}
