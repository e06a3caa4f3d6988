package hosts

import (
	"net/netip"
	"strings"
)

// Limits of a list.
const (
	MaxFile  = 16 << 20 // bytes
	MaxHosts = 1 << 20
	MaxName  = 255 // bytes of a host's name

	MaxReason = 1024 // bytes
)

// Entry is one host of a list.
type Entry struct {
	Host       string // name or address as written
	Timeout    int32  // seconds; negative: for ever
	HasTimeout bool   // false: the request's or the configured one applies, unless there is a deadline
	Deadline   int64  // milliseconds since 1970; 0: none
	Reason     string // free text, of at most MaxReason bytes
}

// List is a list of hosts. The nil List is empty. It never changes once read.
type List struct {
	entries []Entry
	index   map[string]int // by folded name

	addressed bool // a host is given by its address
}

// add appends the host; of a host given twice the last entry holds.
func (l *List) add(e Entry) {
	if l.index == nil {
		l.index = map[string]int{}
	}
	key := fold(e.Host)
	if i, ok := l.index[key]; ok {
		l.entries[i] = e
		return
	}
	l.index[key] = len(l.entries)
	l.addressed = l.addressed || isAddress(e.Host)
	l.entries = append(l.entries, e)
}

// Len is the number of hosts.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.entries)
}

// Entries are the hosts in the order in which they were first mentioned. The
// slice must not be changed.
func (l *List) Entries() []Entry {
	if l == nil {
		return nil
	}
	return l.entries
}

// Find looks for the host by the name that it registered with and by its
// address. Either may be empty. An entry by name goes before one by address.
func (l *List) Find(host, ip string) (Entry, bool) {
	if l == nil {
		return Entry{}, false
	}
	for _, name := range [...]string{host, ip} {
		if i, ok := l.index[fold(name)]; ok {
			return l.entries[i], true
		}
	}
	return Entry{}, false
}

// fold maps spellings of one name or address to one key.
func fold(name string) string {
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Unmap().String()
	}
	return strings.ToLower(name)
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// Lists are both lists in force.
type Lists struct {
	Include, Exclude *List

	// There is no include list, and nodes that the exclude list does not name are untracked all the same.
	Unnamed bool
}

// Included tells whether the include list lets the node in: it is empty or
// mentions the node.
func (l Lists) Included(host, ip string) bool {
	if l.Include.Len() == 0 {
		return true
	}
	_, ok := l.Include.Find(host, ip)
	return ok
}

// Excluded is the node's entry in the exclude list, if it has one.
func (l Lists) Excluded(host, ip string) (Entry, bool) { return l.Exclude.Find(host, ip) }

// Valid tells whether the node may belong to the cluster.
func (l Lists) Valid(host, ip string) bool {
	_, excluded := l.Excluded(host, ip)
	return !excluded && l.Included(host, ip)
}

// Mentioned tells whether either list names the node.
func (l Lists) Mentioned(host, ip string) bool {
	_, included := l.Include.Find(host, ip)
	_, excluded := l.Excluded(host, ip)
	return included || excluded
}

// Untracked tells whether neither list names the node, and that counts: there is an include list, or Unnamed.
func (l Lists) Untracked(host, ip string) bool {
	return (l.Include.Len() > 0 || l.Unnamed) && !l.Mentioned(host, ip)
}

// NeedAddress tells whether the address of a host, which registered with this name, may change what the lists say of it.
func (l Lists) NeedAddress(host string) bool {
	if isAddress(host) {
		return false
	}
	if _, ok := l.Exclude.Find(host, ""); ok {
		return false
	}
	if l.Exclude != nil && l.Exclude.addressed {
		return true
	}
	_, included := l.Include.Find(host, "")
	return !included && l.Include != nil && l.Include.addressed
}
