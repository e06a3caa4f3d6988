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
	Timeout    int32  // seconds; negative: no limit
	HasTimeout bool   // false: the timeout of the request or the configured one applies, unless there is a deadline
	Deadline   int64  // milliseconds since 1970; 0: none
	Reason     string // free text, of at most MaxReason bytes
}

// List is a list of hosts. It never changes once it has been read. The nil List is empty.
type List struct {
	entries []Entry
	index   map[string]int // by folded name

	addressed bool // an entry is an address
}

// add adds an entry. One for the same host is replaced, in its place.
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

// Entries are the entries in the order in which their hosts first appear. The
// slice must not be changed.
func (l *List) Entries() []Entry {
	if l == nil {
		return nil
	}
	return l.entries
}

// Find returns the entry for the name with which a node registered, else the one
// for its address. Either may be empty.
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

// fold maps all spellings of a name or address to one key.
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

	// Without an include list nodes that the exclude list does not name are untracked all the same
	// (yarn.resourcemanager.enable-node-untracked-without-include-path).
	Unnamed bool
}

// Included tells whether the include list admits the node: it is empty or names
// the node.
func (l Lists) Included(host, ip string) bool {
	if l.Include.Len() == 0 {
		return true
	}
	_, ok := l.Include.Find(host, ip)
	return ok
}

// Excluded is the node's entry in the exclude list, if it has one.
func (l Lists) Excluded(host, ip string) (Entry, bool) { return l.Exclude.Find(host, ip) }

// Valid tells whether the lists admit the node: it is included and not excluded.
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

// Untracked tells whether the node is untracked: neither list names it, though there is an include list or Unnamed is set.
func (l Lists) Untracked(host, ip string) bool {
	return (l.Include.Len() > 0 || l.Unnamed) && !l.Mentioned(host, ip)
}

// NeedAddress tells whether what the lists say of a node may depend on its address, if it registered with this name.
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
