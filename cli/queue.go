package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/visible"
)

var queueOptions = []option{
	{name: "status", arg: "Queue Name", values: 1, help: "Prints the report on a queue, by its name or path."},
	{name: "list", arg: "Parent Queue Name", values: 1, help: "Lists the queues below a parent; all lists every queue but root."},
	{name: "subClusterId", arg: "arg", values: 1, help: "Sub-cluster of a federation.", absent: ": federation is not built yet"},
	{name: "kept", arg: "Queue Path", values: 1, optional: true,
		help: "Says of each queue of a FairScheduler, or of one, why it is not deleted. Queues that the allocation file does not name are deleted when they are empty."},
	{name: "delete", arg: "Queue Path", values: 1,
		help: "Deletes an empty queue of a FairScheduler that the allocation file does not name, with all below it. For administrators and those who may administer the queue."},
	{name: "preemption", arg: "Queue Path", values: 1, optional: true,
		help: "Lists what was taken since the ResourceManager started, or is about to be: from which queue, for whom, why, and what was lost. With a queue: what it, or a queue below it, lost or gained."},
	{name: "headroom", arg: "Queue Path", values: 1, optional: true,
		help: "Shows the largest container that each queue could get now, how many of them, and the limit that stops more; of one queue, or those below it."},
	{name: "user", arg: "User", values: 1, help: "With -headroom: what that user could get."},
	{name: "lint", arg: "FILE|DIR", values: 1, optional: true,
		help: "Checks a capacity-scheduler.xml, a fair-scheduler.xml, or that of a directory, without a ResourceManager. Exit code 1: refused."},
	{name: "cluster", arg: "memory-mb=N,vcores=N", values: 1, help: "With -lint: the size of the whole cluster, to find queues that are too small for it."},
	{name: "strict", help: "With -lint: warnings are errors for the exit code."},
	{name: "help", help: "Prints this text."},
}

// schedulerFair is how a FairScheduler names itself in queue reports.
const schedulerFair = "FairScheduler"

// queue is yarn queue. compat: -list takes exactly one word, -status up to three
// more, of which the first counts.
func queue(c *call) error {
	switch {
	case c.opts.has("lint"):
		return queueLint(c)
	case c.opts.has("status"):
		if len(c.args) > 4 {
			return c.misused()
		}
		return queueStatus(c)
	case c.opts.has("kept"):
		return queueKept(c)
	case c.opts.has("delete"):
		return queueDelete(c)
	case c.opts.has("preemption"):
		return queuePreemption(c)
	case c.opts.has("headroom"):
		return queueHeadroom(c)
	case c.opts.has("help"):
		c.usage()
		return nil
	case c.opts.has("list"):
		if len(c.args) != 2 {
			return c.misused()
		}
		return queueList(c)
	}
	return c.invalid(failed)
}

// queueStatus prints one queue; exit code -1 if the ResourceManager has none of
// that name.
func queueStatus(c *call) error {
	name := c.opts.first("status")
	rm, err := c.client()
	if err != nil {
		return err
	}
	q, err := rm.Queue(c.ctx, name, false, false)
	switch {
	case err != nil:
		return err
	case q == nil:
		fmt.Fprintf(c.Stdout, "Cannot get queue from RM by queueName = %s, please check.\n", name)
		return failed
	case c.json:
		return c.writeDocument("queue", document{{"queue", queueDocument(q)}})
	case q.Scheduler != nil && *q.Scheduler == schedulerFair:
		c.writeFairQueue(q)
	default:
		c.writeQueue(q)
	}
	return nil
}

// writeQueue prints a queue of a CapacityScheduler, or of any other scheduler
// that is not a FairScheduler.
func (c *call) writeQueue(q *client.Queue) {
	var b strings.Builder
	b.WriteString("Queue Information : \n")
	if q.Scheduler != nil {
		fmt.Fprintf(&b, "Scheduler Name : %s\n", *q.Scheduler)
	}
	line := func(key, value string) { writeLine(&b, key, value) }
	fmt.Fprintf(&b, "Queue Name : %s\nQueue Path : %s\n", visible.Line(q.Name), visible.Line(orNull(q.Path)))
	line("State", q.State)
	line("Capacity", share(q.Capacity))
	line("Current Capacity", share(q.Current))
	line("Maximum Capacity", share(q.Maximum))
	line("Weight", twoPlaces(q.Weight))
	line("Maximum Parallel Apps", strconv.Itoa(int(q.MaxParallelApps)))
	label := "<DEFAULT_PARTITION>"
	if q.DefaultLabel != nil && strings.TrimSpace(*q.DefaultLabel) != "" {
		label = *q.DefaultLabel
	}
	line("Default Node Label expression", label)
	line("Accessible Node Labels", strings.Join(hashOrder(q.AccessibleLabels), ","))
	if q.PreemptionDisabled != nil {
		line("Preemption", enabled(!*q.PreemptionDisabled))
	}
	if q.IntraPreemptionDisabled != nil {
		line("Intra-queue Preemption", enabled(!*q.IntraPreemptionDisabled))
	}
	fmt.Fprint(c.Stdout, b.String())
}

func enabled(yes bool) string {
	if yes {
		return "enabled"
	}
	return "disabled"
}

// writeFairQueue prints a queue of a FairScheduler, in absolute amounts.
func (c *call) writeFairQueue(q *client.Queue) {
	var b strings.Builder
	fmt.Fprintf(&b, "Queue Information : \nScheduler Name : %s\nQueue Name : %s\n", *q.Scheduler, visible.Line(q.Name))
	fmt.Fprintf(&b, "\tWeight : %s\n\tState : %s\n", decimal(float64(q.Weight), 1, 2, 2), q.State)
	amount := func(key string, memory int64, vcores int32) {
		fmt.Fprintf(&b, "\t%s : <memory : %d, vCores:%d>\n", key, memory, vcores)
	}
	var maxVCores int32
	if q.MaxVCores != nil {
		maxVCores = *q.MaxVCores
	}
	// compat: the stock tool takes the maximum of vcores for the minimum of memory.
	amount("MinResource", int64(maxVCores), q.MinVCores)
	amount("MaxResource", q.MaxMemory, maxVCores)
	amount("ReservedResource", q.ReservedMemory, q.ReservedVCores)
	amount("SteadyFairShare", q.SteadyMemory, q.SteadyVCores)
	if q.PreemptionDisabled != nil {
		// compat: the stock tool prints the opposite of the flag it receives.
		fmt.Fprintf(&b, "\tQueue Preemption : %s\n", enabled(*q.PreemptionDisabled))
	}
	fmt.Fprint(c.Stdout, b.String())
}

// queueDocument says of preemption whether it is on, for both schedulers.
func queueDocument(q *client.Queue) document {
	d := document{{"name", q.Name}, {"path", q.Path}, {"scheduler", q.Scheduler}, {"state", q.State}, {"capacity", q.Capacity},
		{"currentCapacity", q.Current}, {"maximumCapacity", q.Maximum}, {"weight", q.Weight}, {"maxParallelApps", q.MaxParallelApps},
		{"defaultNodeLabel", q.DefaultLabel}, {"accessibleNodeLabels", words(q.AccessibleLabels)},
		{"preemption", inverse(q.PreemptionDisabled)}, {"intraQueuePreemption", inverse(q.IntraPreemptionDisabled)}}
	if q.Scheduler != nil && *q.Scheduler == schedulerFair {
		amount := func(name string, memory int64, vcores int32) {
			d = append(d, field{name, document{{"memory-mb", memory}, {"vcores", vcores}}})
		}
		if q.MaxVCores != nil {
			amount("minimum", q.MinMemory, q.MinVCores)
			amount("maximum", q.MaxMemory, *q.MaxVCores)
		} else { // the maximum of vcores came in the other's place
			amount("maximum", q.MaxMemory, q.MinVCores)
		}
		amount("reserved", q.ReservedMemory, q.ReservedVCores)
		amount("steadyFairShare", q.SteadyMemory, q.SteadyVCores)
	}
	return d
}

// inverse turns "disabled" into "on", and unknown into null.
func inverse(disabled *bool) any {
	if disabled == nil {
		return nil
	}
	return !*disabled
}

// queueList prints the queues below a parent in a box: all of them for "all",
// otherwise those that the ResourceManager delivers, which is one level.
func queueList(c *call) error {
	parent := c.opts.first("list")
	every := strings.EqualFold(parent, "all")
	name := parent
	if every {
		name = "root"
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	root, err := rm.Queue(c.ctx, name, true, every)
	if err != nil {
		return err
	}
	if root == nil {
		// The stock tool ends in a NullPointerException here.
		return fmt.Errorf("cannot get any queues under %s: there is no queue of that name", parent)
	}
	queues := below(root, nil)
	if c.json {
		return c.writeDocument("queues", document{{"parent", name}, {"queues", items(queues, queueDocument)}})
	}
	rows := [][]string{{"Queue Name", "Queue Path", "State", "Capacity", "Current Capacity", "Maximum Capacity", "Weight", "Maximum Parallel Apps"}}
	for _, q := range queues {
		rows = append(rows, []string{visible.Line(q.Name), visible.Line(orNull(q.Path)), q.State, share(q.Capacity), share(q.Current), share(q.Maximum),
			twoPlaces(q.Weight), strconv.Itoa(int(q.MaxParallelApps))})
	}
	fmt.Fprint(c.Stdout, boxed(fmt.Sprintf("%d queues were found", len(queues)), rows))
	return nil
}

// below lists all descendants, parents first.
func below(q *client.Queue, out []*client.Queue) []*client.Queue {
	for _, child := range q.Children {
		out = below(child, append(out, child))
	}
	return out
}

// boxed draws a titled table with centred cells; the first row is its header.
func boxed(title string, rows [][]string) string {
	width := make([]int, len(rows[0]))
	total := 0
	for i := range width {
		for _, r := range rows {
			width[i] = max(width[i], runes(r[i]))
		}
		total += width[i] + 2
	}
	total += len(width) - 1
	border := "+"
	for _, w := range width {
		border += strings.Repeat("-", w+2) + "+"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "+%s+\n|%s|\n%s\n", strings.Repeat("-", total), centred(title, total), border)
	for i, r := range rows {
		b.WriteByte('|')
		for j, cell := range r {
			b.WriteString(centred(cell, width[j]+2) + "|")
		}
		b.WriteByte('\n')
		if i == 0 || i == len(rows)-1 {
			b.WriteString(border + "\n")
		}
	}
	return b.String()
}

// centred puts the odd space to the right.
func centred(s string, width int) string {
	pads := max(0, width-runes(s))
	return strings.Repeat(" ", pads/2) + s + strings.Repeat(" ", pads-pads/2)
}

func runes(s string) int { return len([]rune(s)) }
