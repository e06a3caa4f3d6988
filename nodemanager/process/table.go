package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// listPart is how many names of the proc file system are asked for at a time.
const listPart = 512

// Table is the processes of a machine, read one after the other: not quite one moment. It never changes.
type Table struct {
	infos    map[int]Info
	children map[int][]int
	sessions map[int][]int
}

// Table reads all processes. Those that end meanwhile are left out.
func (r Root) Table() (*Table, error) {
	dir, err := os.Open(string(r))
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	t := newTable()
	for {
		names, err := dir.Readdirnames(listPart)
		for _, name := range names {
			if name[0] >= '1' && name[0] <= '9' {
				t.read(int(dir.Fd()), name)
			}
		}
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list processes: %w", err)
		}
	}
}

func newTable() *Table {
	return &Table{infos: map[int]Info{}, children: map[int][]int{}, sessions: map[int][]int{}}
}

// read takes a process up with three system calls: a node may run thousands.
func (t *Table) read(dir int, name string) {
	fd, err := unix.Openat(dir, name+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var text [1024]byte
	n, err := unix.Read(fd, text[:])
	if err != nil {
		return
	}
	if p, err := parseStat(text[:n]); err == nil && strconv.Itoa(p.PID) == name {
		t.add(p)
	}
}

func (t *Table) add(p Info) {
	t.infos[p.PID] = p
	t.children[p.Parent] = append(t.children[p.Parent], p.PID)
	t.sessions[p.Session] = append(t.sessions[p.Session], p.PID)
}

// Get is one process.
func (t *Table) Get(pid int) (Info, bool) {
	p, ok := t.infos[pid]
	return p, ok
}

// All are the processes, by id.
func (t *Table) All() []Info {
	out := make([]Info, 0, len(t.infos))
	for _, p := range t.infos {
		out = append(out, p)
	}
	slices.SortFunc(out, byID)
	return out
}

func byID(a, b Info) int { return a.PID - b.PID }

// Tree lists the process and everything that belongs to it: its descendants, and all processes of its session and of the
// sessions that these lead, even if their parents have ended. The process comes first, the others sorted by id. It is empty if
// the process is not in the table.
func (t *Table) Tree(pid int) []Info {
	if p, ok := t.infos[pid]; !ok || p.Dead() {
		return nil
	}
	tree := t.Closure(pid)
	at := slices.IndexFunc(tree, func(p Info) bool { return p.PID == pid })
	return slices.Insert(slices.Delete(tree, at, at+1), 0, t.infos[pid])
}

// Closure is what belongs to any of the processes, as in Tree, with them. One that has ended counts by its session, if it
// led one. Sorted by id.
func (t *Table) Closure(pids ...int) []Info {
	seen := map[int]bool{}
	queue := slices.Clone(pids)
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		if seen[pid] || pid <= 1 {
			continue
		}
		seen[pid] = true
		queue = append(queue, t.children[pid]...)
		// Session ids are ids of the processes that began them.
		queue = append(queue, t.sessions[pid]...)
	}
	var out []Info
	for pid := range seen {
		if p, ok := t.infos[pid]; ok {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, byID)
	return out
}

// Adopters are the processes that orphans of this one would get as their parent: its ancestors.
func (t *Table) Adopters(pid int) map[int]bool {
	out := map[int]bool{1: true}
	for p, ok := t.infos[pid]; ok && !out[p.Parent]; p, ok = t.infos[p.Parent] {
		out[p.Parent] = true
	}
	return out
}

// Group tells whether all members of the process group are among the given processes.
func (t *Table) Group(group int, among map[int]bool) bool {
	for pid, p := range t.infos {
		if p.Group == group && !among[pid] {
			return false
		}
	}
	return true
}
