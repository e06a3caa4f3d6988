package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
)

// drainOptions are the options of yarn node that Hadoop does not have.
var drainOptions = []option{
	{name: "drain", arg: "Host", values: many, separate: ',', optional: true, help: "Has nodes drain and stay away until -undrain, whatever the lists of nodes say. HOST is all nodes of the host, HOST:PORT one."},
	{name: "count", arg: "Number", values: 1, help: "With -drain, in place of hosts: how many nodes. Those that are free the soonest with the least work lost are chosen."},
	{name: "deadline", arg: "Time", values: 1, help: "With -drain: how long nodes may take, such as 30m, until when, such as 2030-01-31T12:00:00Z, or none. " +
		"Without it, as yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs says."},
	{name: "reason", arg: "Text", values: 1, help: "With -drain: why. Shown with the nodes and in the log."},
	{name: "wait", help: "With -drain: stays until these nodes have gone."},
	{name: "dry-run", help: "With -drain: shows what the nodes would wait for and what the cluster would lack, and changes nothing."},
	{name: "undrain", arg: "Host", values: many, separate: ',', help: "Takes -drain back: nodes that still drain are used again, those that have left may register."},
	{name: "drain-status", arg: "Host", values: many, separate: ',', optional: true, help: "Shows the nodes that drain, with what they wait for, and those that -drain keeps away; or the nodes of these hosts."},
	{name: "watch", help: "With -drain-status: repeats it every two seconds."},
}

// Exit codes of -drain -wait.
const (
	exitCutShort  Exit = 3 // a node left before everything had ended for which it waited
	exitTakenBack Exit = 4 // a node was taken back
)

const (
	drainsPath     = "/ws/v1/cluster/drains"
	drainPatience  = time.Minute
	drainPoll      = time.Second
	drainWatch     = 2 * time.Second
	maxHolderLines = 10 // of one node in the table
)

// drainingNode is a node in the answer of the web service; docs/decommissioning.md has the fields.
type drainingNode struct {
	ID               string   `json:"id"`
	State            string   `json:"state"`
	Phase            string   `json:"phase"`
	RequestedAt      int64    `json:"requestedAt"`
	RequestedBy      string   `json:"requestedBy"`
	Reason           string   `json:"reason"`
	Source           string   `json:"source"`
	Deadline         int64    `json:"deadline"` // 0: none
	SecondsLeft      int64    `json:"secondsLeft"`
	EstimatedSeconds *int64   `json:"estimatedSeconds"` // nil: there is no estimate
	Containers       int      `json:"containers"`
	Applications     int      `json:"applications"`
	CutShort         bool     `json:"cutShort"`
	Placeholder      bool     `json:"placeholder"`
	HeldBy           []holder `json:"heldBy"`

	raw json.RawMessage // as it was received; nil: the answer does not have the node
}

// holder is an application that a node waits for.
type holder struct {
	ID         string  `json:"id"`
	User       string  `json:"user"`
	Queue      string  `json:"queue"`
	Progress   float64 `json:"progress"` // percent
	Containers int     `json:"containers"`
	Master     bool    `json:"master"`
}

// drains is the web service's answer.
type drains struct {
	Nodes    []drainingNode
	Warnings []string
	raw      json.RawMessage
}

func (d *drains) UnmarshalJSON(text []byte) error {
	var x struct {
		Drains json.RawMessage `json:"drains"`
	}
	if err := json.Unmarshal(text, &x); err != nil {
		return err
	}
	var list struct {
		Node    []json.RawMessage `json:"node"`
		Warning []string          `json:"warning"`
	}
	if err := json.Unmarshal(x.Drains, &list); err != nil {
		return err
	}
	for _, raw := range list.Node {
		n := drainingNode{raw: raw}
		if err := json.Unmarshal(raw, &n); err != nil {
			return err
		}
		d.Nodes = append(d.Nodes, n)
	}
	d.Warnings, d.raw = list.Warning, x.Drains
	return nil
}

// askDrains makes a request of the web service.
func (c *call) askDrains(method string, query url.Values, body any) (*drains, error) {
	d := &drains{}
	_, err := c.askWeb(webCall{method: method, path: drainsPath, query: query, body: body, what: "drains", patience: drainPatience}, d)
	return d, err
}

// drain is yarn node -drain.
func drain(c *call) error {
	if len(c.opts.words) > 0 || c.opts.has("count") == (len(c.opts.all("drain")) > 0) {
		return c.invalid(failed)
	}
	body := map[string]any{"source": "cli", "dryRun": c.opts.has("dry-run")}
	if names := c.opts.all("drain"); len(names) > 0 {
		body["nodes"] = names
	}
	for _, name := range []string{"count", "deadline", "reason"} {
		if c.opts.has(name) {
			body[name] = c.opts.first(name)
		}
	}
	d, err := c.askDrains(http.MethodPost, nil, body)
	switch {
	case err != nil:
		return err
	case c.opts.has("wait") && !c.opts.has("dry-run"):
		if !c.json {
			c.showWarnings(d)
		}
		return c.awaitDrain(d)
	}
	return c.showDrains(d)
}

// undrain is yarn node -undrain.
func undrain(c *call) error {
	if len(c.opts.words) > 0 {
		return c.invalid(failed)
	}
	names := c.opts.all("undrain")
	query, body := url.Values{}, any(nil)
	if text, short := inAddress(names); short {
		query.Set("nodes", text)
	} else {
		body = map[string]any{"nodes": names}
	}
	d, err := c.askDrains(http.MethodDelete, query, body)
	if err != nil {
		return err
	}
	if c.json {
		return c.showDrains(d)
	}
	if len(d.Nodes) == 0 {
		fmt.Fprintln(c.Stdout, "Taken back: the nodes may register")
	}
	for _, n := range d.Nodes {
		text := "is " + n.State
		if n.hasLeft() {
			text = "may register again; start its NodeManager"
		}
		fmt.Fprintf(c.Stdout, "%s %s\n", visible.Line(n.ID), text)
	}
	return nil
}

// drainStatus is yarn node -drain-status.
func drainStatus(c *call) error {
	if len(c.opts.words) > 0 {
		return c.invalid(failed)
	}
	query := url.Values{}
	if names := c.opts.all("drain-status"); len(names) > 0 {
		text, short := inAddress(names)
		if !short {
			return fmt.Errorf("%d hosts are too many for one request: name fewer, or none to see all that drain", len(names))
		}
		query.Set("nodes", text)
	}
	for {
		d, err := c.askDrains(http.MethodGet, query, nil)
		if err != nil {
			return err
		}
		if _, terminal := c.terminal(); terminal && c.opts.has("watch") {
			fmt.Fprint(c.screen, "\x1b[H\x1b[2J") // the top of an empty screen
		}
		if err := c.showDrains(d); err != nil || !c.opts.has("watch") {
			return err
		}
		if err := c.pause(drainWatch); err != nil {
			return err
		}
	}
}

// pause waits for d, or returns why the command was stopped.
func (c *call) pause(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

const drainRow = "%-28s %-16s %-15s %10s %10s %12s  %s\n"

func (c *call) showDrains(d *drains) error {
	if c.json {
		return c.writeDocument("drains", document{{"drains", d.raw}})
	}
	fmt.Fprintf(c.Stdout, "%s: %d nodes\n", c.Now().In(c.Zone).Format("2006-01-02 15:04:05 -0700"), len(d.Nodes))
	c.row(drainRow, "Node-Id", "State", "Phase", "Time-Left", "Containers", "Applications", "Requested-By")
	for i := range d.Nodes {
		c.showDrain(&d.Nodes[i])
	}
	c.showWarnings(d)
	return nil
}

func (c *call) showWarnings(d *drains) {
	for _, w := range d.Warnings {
		fmt.Fprintf(c.Stdout, "WARNING: %s\n", visible.Line(w))
	}
}

func (c *call) showDrain(n *drainingNode) {
	by := n.RequestedBy
	if n.Reason != "" {
		by += ": " + n.Reason
	}
	c.row(drainRow, n.ID, n.State, n.Phase, n.left(), strconv.Itoa(n.Containers), strconv.Itoa(n.Applications), by)
	for i, h := range n.HeldBy {
		if i == maxHolderLines {
			fmt.Fprintf(c.Stdout, "    and %d more\n", len(n.HeldBy)-i)
			break
		}
		text := h.ID
		if h.User != "" { // else the caller may not see it
			text = fmt.Sprintf("%s of %s in %s, %.0f%% done", h.ID, h.User, h.Queue, h.Progress)
		}
		text += ", " + plural(h.Containers, "container")
		if h.Master {
			text += ", its ApplicationMaster among them"
		}
		fmt.Fprintln(c.Stdout, "    "+visible.Line(text))
	}
}

// left is the time until the deadline; without a deadline, until the work is likely to have ended.
func (n *drainingNode) left() string {
	switch {
	case n.Phase == "DECOMMISSIONED":
		return "-"
	case n.Deadline > 0:
		return inSeconds(n.SecondsLeft)
	case n.EstimatedSeconds != nil:
		return "about " + inSeconds(*n.EstimatedSeconds)
	}
	return "no limit"
}

func inSeconds(s int64) string {
	return (time.Duration(min(s, math.MaxInt64/int64(time.Second))) * time.Second).String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// awaitDrain stays until none of the nodes that the request named drains any more. What a node was when it stopped draining is its
// outcome: the ResourceManager may forget it before the others have gone.
func (c *call) awaitDrain(d *drains) error {
	nodes := slices.Clone(d.Nodes)
	if len(nodes) == 0 {
		return nil
	}
	show, failed := c.drainProgress(len(nodes)), 0
	for {
		left := slices.DeleteFunc(slices.Clone(nodes), func(n drainingNode) bool { return n.State != "DECOMMISSIONING" })
		show(nodes, left)
		if len(left) == 0 {
			return c.drainOutcome(nodes)
		}
		err := c.pause(drainPoll)
		if err == nil {
			err = c.followDrains(nodes, left, failed < mostFailed)
			if err == nil {
				failed = 0
			} else if failed++; failed <= mostFailed { // the ResourceManager may be starting anew
				if failed == 1 {
					fmt.Fprintf(c.Stderr, "WARN %v; asking again\n", err)
				}
				continue
			}
		}
		if err != nil {
			fmt.Fprintf(c.Stderr, "The nodes go on draining: yarn node -drain-status shows them, yarn node -undrain takes them back\n")
			return err
		}
	}
}

// mostFailed is how many polls in a row may fail: after a restart of the ResourceManager nodes take a while to register.
const mostFailed = 120

// followDrains asks for the nodes in left and enters the answer into nodes. With patience a node that has not registered yet, after a restart of
// the ResourceManager, is an error.
func (c *call) followDrains(nodes, left []drainingNode, patience bool) error {
	var names []string
	for _, n := range left {
		names = append(names, n.ID)
	}
	query := url.Values{}
	if text, short := inAddress(names); short { // else all that drain are asked for
		query.Set("nodes", text)
	}
	d, err := c.askDrains(http.MethodGet, query, nil)
	if err != nil {
		return err
	}
	answer := map[string]drainingNode{}
	for _, n := range d.Nodes {
		if n.Placeholder && patience && slices.ContainsFunc(left, func(x drainingNode) bool { return x.ID == n.ID }) {
			return fmt.Errorf("%s has not registered since the ResourceManager started", n.ID)
		}
		answer[n.ID] = n
	}
	for i := range nodes {
		if n := &nodes[i]; n.State == "DECOMMISSIONING" {
			if now, ok := answer[n.ID]; ok {
				*n = now
			} else { // it was taken back
				*n = drainingNode{ID: n.ID, State: "not draining"}
			}
		}
	}
	return nil
}

// maxInAddress bounds the names in the address of a request: the ResourceManager takes 16 KiB of address and headers.
const maxInAddress = 8 << 10

// inAddress joins names for the address of a request; false: they are too long for that.
func inAddress(names []string) (string, bool) {
	text := strings.Join(names, ",")
	return text, len(url.QueryEscape(text)) <= maxInAddress
}

// hasLeft tells whether the node is no longer in the cluster.
func (n *drainingNode) hasLeft() bool {
	return slices.Contains([]string{"DECOMMISSIONED", "LOST", "SHUTDOWN", "REBOOTED"}, n.State)
}

// drainOutcome is the exit code of -wait, once no node drains any more; with JSON it prints the nodes.
func (c *call) drainOutcome(nodes []drainingNode) error {
	if c.json {
		list := make([]any, len(nodes))
		for i, n := range nodes {
			if list[i] = n.raw; n.raw == nil {
				list[i] = document{{"id", n.ID}, {"state", n.State}}
			}
		}
		if err := c.writeDocument("drains", document{{"drains", document{{"node", list}}}}); err != nil {
			return err
		}
	}
	result := Exit(0)
	for _, n := range nodes {
		switch {
		case !n.hasLeft():
			result = exitTakenBack
		case n.CutShort && result == 0:
			result = exitCutShort
		}
	}
	if result == 0 {
		return nil
	}
	return result
}

// drainProgress returns what shows the progress of all nodes: a bar on a terminal, lines for changes elsewhere, nothing with JSON.
func (c *call) drainProgress(all int) func(nodes, left []drainingNode) {
	if c.json {
		return func(_, _ []drainingNode) {}
	}
	if width, terminal := c.terminal(); terminal {
		return func(nodes, left []drainingNode) { c.drainBar(width, all, left) }
	}
	last := map[string]string{}
	return func(nodes, _ []drainingNode) {
		for i := range nodes {
			if text := nodes[i].progress(); text != last[nodes[i].ID] {
				last[nodes[i].ID] = text
				fmt.Fprintf(c.Stdout, "%s %s\n", c.Now().In(c.Zone).Format("2006-01-02T15:04:05-0700"), visible.Line(nodes[i].ID+" "+text))
			}
		}
	}
}

// progress is a node's line for drainProgress.
func (n *drainingNode) progress() string {
	switch {
	case n.State != "DECOMMISSIONING" && n.CutShort:
		return "is " + n.State + ", before all had ended"
	case n.State != "DECOMMISSIONING":
		return "is " + n.State
	}
	return fmt.Sprintf("%s: %s, %s", n.Phase, plural(n.Containers, "container"), plural(n.Applications, "application"))
}

// drainBar draws the bar over the one before it.
func (c *call) drainBar(width, all int, left []drainingNode) {
	containers, most, known := 0, int64(0), true
	for i := range left {
		n := &left[i]
		containers += n.Containers
		if n.EstimatedSeconds == nil {
			known = false
		} else {
			most = max(most, *n.EstimatedSeconds)
		}
	}
	done := all - len(left)
	text := fmt.Sprintf(" %d of %s gone, %s left", done, plural(all, "node"), plural(containers, "container"))
	if known && len(left) > 0 {
		text += ", about " + inSeconds(most)
	}
	const bar = 30
	full := bar * done / all
	line := "[" + strings.Repeat("#", full) + strings.Repeat(".", bar-full) + "]" + text
	fmt.Fprintf(c.screen, "\r\x1b[K%s", line[:min(len(line), max(width-1, 1))])
	if len(left) == 0 {
		fmt.Fprintln(c.screen)
	}
}
