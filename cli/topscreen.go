package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/visible"
)

// topMode is what the screen of yarn top shows.
type topMode int

const (
	topApps topMode = iota
	topHelp
	topSort
	topFields
)

// topLook is what was seen at one moment.
type topLook struct {
	at         time.Time
	started    int64         // of the ResourceManager, ms since 1970; 0: not known
	up         time.Duration // of it
	listed     time.Time     // when the applications were listed
	queues     []string
	nodes      client.ClusterMetrics
	statistics client.QueueStatistics
	apps       []*client.Application
}

// topScreen is the screen: what was seen, and what the keys have chosen.
type topScreen struct {
	zone          *time.Location
	look          topLook
	mode          topMode
	sort          byte // key of a column
	ascending     bool
	hidden        map[byte]bool
	trouble       string // why the latest look failed
	columns, rows int    // 0: without a limit
}

func newTopScreen(zone *time.Location) *topScreen {
	return &topScreen{zone: zone, sort: 'c', hidden: map[byte]bool{}}
}

// topColumn is a column, with the key that sorts by it, or shows and hides it.
type topColumn struct {
	key    byte
	head   string
	format string
	help   string
	text   func(s *topScreen, a *client.Application) string
	number func(s *topScreen, a *client.Application) int64 // nil: by the text
}

// topColumns are those of the stock command, in its order and with its keys and widths.
var topColumns = []topColumn{
	{'a', "APPLICATIONID", "%31s", "Application id", func(_ *topScreen, a *client.Application) string { return a.ID.String() }, nil},
	{'u', "USER", "%-10s", "User", func(_ *topScreen, a *client.Application) string { return a.User }, nil},
	{'t', "TYPE", "%10s", "Type", func(_ *topScreen, a *client.Application) string { return strings.ToLower(a.Type) }, nil},
	{'q', "QUEUE", "%10s", "Queue", func(_ *topScreen, a *client.Application) string { return a.Queue }, nil},
	topNumber('l', "PRIOR", "%5s", "Priority", "", func(_ *topScreen, a *client.Application) int64 { return int64(a.Priority) }),
	topNumber('c', "#CONT", "%7s", "Containers", "", func(_ *topScreen, a *client.Application) int64 { return int64(topUsage(a).UsedContainers) }),
	topNumber('r', "#RCONT", "%7s", "Reserved containers", "", func(_ *topScreen, a *client.Application) int64 { return int64(topUsage(a).ReservedContainers) }),
	topNumber('v', "VCORES", "%7s", "Allocated vcores", "", func(_ *topScreen, a *client.Application) int64 { return topUsage(a).Used.VCores }),
	topNumber('o', "RVCORES", "%7s", "Reserved vcores", "", func(_ *topScreen, a *client.Application) int64 { return topUsage(a).Reserved.VCores }),
	topNumber('m', "MEM", "%7s", "Allocated memory, GiB", "G", func(_ *topScreen, a *client.Application) int64 { return topUsage(a).Used.MemoryMB / 1024 }),
	topNumber('w', "RMEM", "%7s", "Reserved memory, GiB", "G", func(_ *topScreen, a *client.Application) int64 { return topUsage(a).Reserved.MemoryMB / 1024 }),
	topNumber('s', "VCORESECS", "%10s", "Vcore-seconds", "", func(_ *topScreen, a *client.Application) int64 { return topSeconds(a, "vcores") }),
	topNumber('y', "MEMSECS", "%10s", "GiB-seconds", "", func(_ *topScreen, a *client.Application) int64 { return topSeconds(a, "memory-mb") / 1024 }),
	{'p', "%PROGR", "%6s", "Progress, percent", func(_ *topScreen, a *client.Application) string { return fmt.Sprintf("%.2f", a.Progress*100) },
		func(_ *topScreen, a *client.Application) int64 { return int64(a.Progress * 1e6) }},
	{'i', "TIME", "%10s", "Time since the submission, days:hours:minutes", func(s *topScreen, a *client.Application) string {
		minutes := max(s.look.at.UnixMilli()-a.StartTime, 0) / 60000
		return fmt.Sprintf("%02d:%02d:%02d", minutes/1440, minutes/60%24, minutes%60)
	}, func(s *topScreen, a *client.Application) int64 { return s.look.at.UnixMilli() - a.StartTime }},
	{'n', "NAME", "%s", "Name", func(_ *topScreen, a *client.Application) string { return a.Name }, nil},
}

func topNumber(key byte, head, format, help, unit string, number func(*topScreen, *client.Application) int64) topColumn {
	return topColumn{key, head, format, help, func(s *topScreen, a *client.Application) string { return fmt.Sprint(number(s, a)) + unit }, number}
}

// topUsage is what an application has; nothing if that is not told.
func topUsage(a *client.Application) *client.Usage {
	if a.Usage == nil {
		return &client.Usage{}
	}
	return a.Usage
}

func topSeconds(a *client.Application, of string) int64 {
	for _, s := range topUsage(a).Seconds {
		if s.Name == of {
			return s.Value
		}
	}
	return 0
}

func (k *topColumn) compare(s *topScreen, a, b *client.Application) int {
	if k.number != nil {
		return cmp.Compare(k.number(s, a), k.number(s, b))
	}
	return strings.Compare(k.text(s, a), k.text(s, b))
}

func (s *topScreen) columnOf(key byte) *topColumn {
	for i := range topColumns {
		if topColumns[i].key == key {
			return &topColumns[i]
		}
	}
	return nil
}

// press takes a key; true: it ends the command. Letters count in either case. Return does nothing, because the stock command wants it after each
// key.
func (s *topScreen) press(key byte) bool {
	const interrupt = 3
	lower := key | 0x20
	if key == interrupt {
		return true
	}
	if key == '\r' || key == '\n' {
		return false
	}
	switch s.mode {
	case topApps:
		switch lower {
		case 'q':
			return true
		case 's':
			s.mode = topSort
		case 'f':
			s.mode = topFields
		case 'h':
			s.mode = topHelp
		case 'r':
			s.ascending = !s.ascending
		}
	case topSort:
		if s.columnOf(lower) == nil {
			s.mode = topApps
		} else {
			s.sort = lower
		}
	case topFields:
		if s.columnOf(lower) == nil {
			s.mode = topApps
		} else {
			s.hidden[lower] = !s.hidden[lower]
		}
	case topHelp:
		s.mode = topApps
	}
	return false
}

// head is the line that stands out: the heads of the columns.
func (s *topScreen) head() int {
	if s.mode == topApps {
		return len(s.header()) + 1
	}
	return -1
}

// lines draws the screen, no line longer than its columns.
func (s *topScreen) lines() []string {
	var out []string
	switch s.mode {
	case topHelp:
		out = []string{"Help for yarn top.", "", "  s: choose what to sort by", "  f: choose the columns", "  R: reverse the order", "  h: this page", "  q: quit", "",
			"The list of applications is at most " + topAge.String() + " old. Any key but Return leads back."}
	case topSort:
		out = append([]string{"Sorted by: " + string(s.sort), "A letter sorts by its column, any other key leads back.", ""}, s.choices(func(k *topColumn) bool { return k.key == s.sort })...)
	case topFields:
		out = append([]string{"Columns:", "A letter shows or hides its column, any other key leads back.", ""}, s.choices(func(k *topColumn) bool { return !s.hidden[k.key] })...)
	default:
		out = append(s.header(), visible.Line(s.trouble), s.row(func(k *topColumn) string { return k.head }))
		if s.columns > 0 { // the head stands out over the whole width
			head := &out[len(out)-1]
			*head += strings.Repeat(" ", max(s.columns-1-runes(*head), 0))
		}
		for _, a := range s.sorted() {
			if s.rows > 0 && len(out) >= s.rows-1 {
				break
			}
			out = append(out, s.row(func(k *topColumn) string { return visible.Line(k.text(s, a)) }))
		}
	}
	if s.columns > 0 {
		for i, line := range out {
			if runes(line) > s.columns-1 {
				out[i] = string([]rune(line)[:max(s.columns-1, 0)])
			}
		}
	}
	return out
}

// choices lists the columns by their keys, with a star at those chosen.
func (s *topScreen) choices(chosen func(*topColumn) bool) []string {
	var out []string
	for key := byte('a'); key <= 'z'; key++ {
		k := s.columnOf(key)
		if k == nil {
			continue
		}
		mark := ' '
		if chosen(k) {
			mark = '*'
		}
		out = append(out, fmt.Sprintf("%c %c: %-15s = %s", mark, key, k.head, k.help))
	}
	return out
}

func (s *topScreen) row(cell func(*topColumn) string) string {
	var cells []string
	for i := range topColumns {
		if k := &topColumns[i]; !s.hidden[k.key] {
			cells = append(cells, fmt.Sprintf(k.format, cell(k)))
		}
	}
	return strings.Join(cells, " ")
}

// header are the lines about the cluster, as the stock command words them.
func (s *topScreen) header() []string {
	l := &s.look
	n, q := l.nodes, l.statistics
	queue := "root"
	if len(l.queues) > 0 {
		queue = visible.Line(strings.Join(l.queues, ","))
	}
	minutes := int64(l.up / time.Minute)
	const gb = 1024
	return []string{
		fmt.Sprintf("YARN top - %s, up %dd, %d:%d, %d active users, queue(s): %s", l.at.In(s.zone).Format("15:04:05"), minutes/1440, minutes/60%24, minutes%60, q.ActiveUsers, queue),
		fmt.Sprintf("NodeManager(s): %d total, %d active, %d unhealthy, %d decommissioning, %d decommissioned, %d lost, %d rebooted, %d shutdown",
			n.NodeManagers, n.Active, n.Unhealthy, n.Decommissioning, n.Decommissioned, n.Lost, n.Rebooted, n.Shutdown),
		fmt.Sprintf("Queue(s) Applications: %d running, %d submitted, %d pending, %d completed, %d killed, %d failed", q.Running, q.Submitted, q.Pending, q.Completed, q.Killed, q.Failed),
		fmt.Sprintf("Queue(s) Mem(GB): %d available, %d allocated, %d pending, %d reserved", q.AvailableMB/gb, q.AllocatedMB/gb, q.PendingMB/gb, q.ReservedMB/gb),
		fmt.Sprintf("Queue(s) VCores: %d available, %d allocated, %d pending, %d reserved", q.AvailableVCores, q.AllocatedVCores, q.PendingVCores, q.ReservedVCores),
		fmt.Sprintf("Queue(s) Containers: %d allocated, %d pending, %d reserved", q.AllocatedContainers, q.PendingContainers, q.ReservedContainers),
	}
}
