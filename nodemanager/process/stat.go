package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Root is where a proc file system is mounted.
type Root string

// Linux is the usual mount point.
const Linux Root = "/proc"

// Jiffy is the unit in which the kernel tells processor time (USER_HZ is 100 wherever Go runs on Linux).
const Jiffy = 10 * time.Millisecond

// Bounds of what is read of one process, all of which the process itself may choose.
const (
	maxStat    = 4 << 10
	maxStatus  = 1 << 20 // which lists groups
	maxCommand = 4 << 10 // of a command line that is shown
	maxEnviron = 8 << 20 // the kernel allows 6 MB
	maxValue   = 4 << 10 // of a variable with its name
)

// Info is one process at one moment.
type Info struct {
	PID, Parent    int
	Group, Session int
	Name           string // as in the kernel's stat file, without the parentheses
	State          byte   // 'R', 'S', 'D', 'Z', ...
	User, System   int64  // processor time used so far, in jiffies
	Start          uint64 // jiffies after boot; with PID the identity of a process
	Virtual        int64  // bytes of address space
	Resident       int64  // pages in memory
}

// Dead tells whether the process has ended, even if its parent does not know yet.
func (p Info) Dead() bool { return p.State == 'Z' || p.State == 'X' || p.State == 'x' }

// Stopped tells whether the process waits for SIGCONT, or for its tracer.
func (p Info) Stopped() bool { return p.State == 'T' || p.State == 't' }

// Stat reads one process. The error wraps fs.ErrNotExist when there is none.
func (r Root) Stat(pid int) (Info, error) {
	text, err := readUpTo(filepath.Join(string(r), strconv.Itoa(pid), "stat"), maxStat)
	if err != nil {
		return Info{}, err
	}
	return parseStat(text)
}

// readUpTo reads the beginning of a file of the proc file system, whose length cannot be asked for.
func readUpTo(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

var errStat = errors.New("not in the form of /proc/<pid>/stat")

// Places of fields behind the name, counted from the state as 0 (proc(5)).
const (
	fieldParent, fieldGroup, fieldSession = 1, 2, 3
	fieldUser, fieldSystem                = 11, 12
	fieldStart, fieldVirtual, fieldRSS    = 19, 20, 21
)

// parseStat reads "pid (name) state ppid ...". The name may hold anything, parentheses and line ends included: the last
// closing one ends it.
func parseStat(text []byte) (Info, error) {
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return Info{}, fmt.Errorf("%w: %.100q", errStat, text)
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= fieldRSS || len(fields[0]) != 1 || fields[0][0] > '~' {
		return Info{}, fmt.Errorf("%w: %.100q", errStat, text)
	}
	p := Info{Name: string(text[begin+1 : end]), State: fields[0][0]}
	var bad, err error
	number := func(field []byte) int64 {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			bad = fmt.Errorf("%w: %.100q is no number", errStat, field)
		}
		return n
	}
	p.PID = int(number(bytes.TrimSpace(text[:begin])))
	p.Parent, p.Group, p.Session = int(number(fields[fieldParent])), int(number(fields[fieldGroup])), int(number(fields[fieldSession]))
	p.User, p.System = number(fields[fieldUser]), number(fields[fieldSystem])
	if p.Start, err = strconv.ParseUint(string(fields[fieldStart]), 10, 64); err != nil {
		bad = fmt.Errorf("%w: %.100q is no time", errStat, fields[fieldStart])
	}
	p.Virtual, p.Resident = number(fields[fieldVirtual]), number(fields[fieldRSS])
	return p, bad
}

// CommandLine is how the process was started, its arguments separated by NUL; empty for one that has ended or is a thread
// of the kernel. It is cut at 4 KiB.
func (r Root) CommandLine(pid int) string {
	text, err := readUpTo(filepath.Join(string(r), strconv.Itoa(pid), "cmdline"), maxCommand)
	if err != nil {
		return ""
	}
	return string(text)
}

// Variable is a variable of the environment with which the process began its program, cut at 4 KiB. A process can overwrite
// that memory, and that of other users cannot be read: false says little.
func (r Root) Variable(pid int, name string) (string, bool) {
	f, err := os.Open(filepath.Join(string(r), strconv.Itoa(pid), "environ"))
	if err != nil {
		return "", false
	}
	defer f.Close()
	return variable(io.LimitReader(f, maxEnviron), name)
}

// RealtimeLimit is the hard limit of the time that a process may run on end under a real-time policy, in microseconds. It
// may be read of every user's processes; false: there is no limit, or no process.
func (r Root) RealtimeLimit(pid int) (uint64, bool) {
	text, err := readUpTo(filepath.Join(string(r), strconv.Itoa(pid), "limits"), maxStat)
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), "\nMax realtime timeout ")
	line, _, _ := strings.Cut(rest, "\n")
	fields := strings.Fields(line) // soft, hard, unit
	if len(fields) < 2 {
		return 0, false
	}
	n, err := strconv.ParseUint(fields[1], 10, 64) // or "unlimited"
	return n, err == nil
}

// Catches tells whether the process has a handler for the signal.
func (r Root) Catches(pid int, signal syscall.Signal) bool {
	text, err := readUpTo(filepath.Join(string(r), strconv.Itoa(pid), "status"), maxStatus)
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), "\nSigCgt:")
	line, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return err == nil && mask>>(signal-1)&1 == 1
}

// variable looks through entries NAME=value that NUL ends, which may be longer than anybody wants to hold.
func variable(from io.Reader, name string) (string, bool) {
	entries := bufio.NewReaderSize(from, maxValue)
	for begins := true; ; {
		part, err := entries.ReadSlice(0)
		if value, ok := bytes.CutPrefix(part, []byte(name+"=")); ok && begins {
			return string(bytes.TrimSuffix(value, []byte{0})), true
		}
		if begins = err == nil; !begins && !errors.Is(err, bufio.ErrBufferFull) {
			return "", false
		}
	}
}

// Started is when the process began, by the wall clock as it goes now, to about a second.
func (r Root) Started(p Info) (time.Time, error) {
	text, err := readUpTo(filepath.Join(string(r), "stat"), maxNodeFile)
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(text)) {
		if at, ok := strings.CutPrefix(line, "btime "); ok {
			boot, err := strconv.ParseInt(strings.TrimSpace(at), 10, 64)
			if err != nil {
				return time.Time{}, fmt.Errorf("read the time of boot: %w", err)
			}
			return time.Unix(boot, 0).Add(time.Duration(p.Start) * Jiffy), nil
		}
	}
	return time.Time{}, errors.New("read the time of boot: /proc/stat has no line btime")
}
