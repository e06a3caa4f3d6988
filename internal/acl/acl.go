// Package acl reads Hadoop's access control lists and tells whom they allow. It
// is pure: groups are looked up by who asks.
//
// A list is "users groups", both comma-separated, with one space between:
//
//	alice,bob             two users
//	alice,bob dev,ops     two users and the members of two groups
//	 dev                  the members of a group (nothing before the space)
//	*                     everybody
//	(a single space)      nobody
//	~oozie                whoever the user oozie acts for
//
// The first space ends the users, also one after a comma: in "alice, bob" alice
// is a user and bob a group. Who must tell that to an operator asks Suspicious.
package acl

import (
	"slices"
	"strings"
)

// anybody, alone among users or groups, opens a list to all.
const anybody = "*"

// proxied before a user's name stands for whoever that user acts for.
const proxied = "~"

// List is an access control list. It never changes. The zero List allows nobody.
type List struct {
	everybody     bool
	users, groups []string // as written, without duplicates
	isUser        map[string]struct{}
	isGroup       map[string]struct{}
}

// Everybody is the list that allows all.
func Everybody() List { return List{everybody: true} }

// Parse reads a list. Every text is one; the empty text allows nobody.
func Parse(text string) List {
	users, groups, _ := strings.Cut(text, " ")
	if strings.TrimSpace(users) == anybody || strings.TrimSpace(groups) == anybody {
		return Everybody()
	}
	var l List
	l.users, l.isUser = names(users)
	l.groups, l.isGroup = names(groups)
	return l
}

func names(text string) ([]string, map[string]struct{}) {
	var list []string
	var set map[string]struct{}
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		name = strings.TrimSpace(name)
		if _, known := set[name]; known || name == "" {
			continue
		}
		if set == nil {
			set = make(map[string]struct{})
		}
		set[name] = struct{}{}
		list = append(list, name)
	}
	return list, set
}

// String is the list as it can be parsed again; users and groups have a space
// between them even if either is empty.
func (l List) String() string {
	if l.everybody {
		return anybody
	}
	return join(l.users) + " " + join(l.groups)
}

// join keeps a name that happens to be "*" from opening the list when it is read again.
func join(names []string) string {
	if len(names) == 1 && names[0] == anybody {
		return "," + anybody
	}
	return strings.Join(names, ",")
}

// All tells whether everybody is allowed.
func (l List) All() bool { return l.everybody }

// Nobody tells whether nobody is allowed.
func (l List) Nobody() bool { return !l.everybody && len(l.users)+len(l.groups) == 0 }

// Users are the names of users, "~" included, in the order in which they were written.
func (l List) Users() []string { return slices.Clone(l.users) }

// Groups are the names of groups in the order in which they were written.
func (l List) Groups() []string { return slices.Clone(l.groups) }

// Allows tells whether a user is allowed: by name, by one of its groups, or
// because realUser, empty if nobody acts for the user, is named with a "~". All
// names are short ones.
func (l List) Allows(user, realUser string, groups []string) bool {
	if l.everybody || in(l.isUser, user) {
		return true
	}
	if realUser != "" && in(l.isUser, proxied+realUser) {
		return true
	}
	return len(l.isGroup) > 0 && slices.ContainsFunc(groups, func(g string) bool { return in(l.isGroup, g) })
}

func in(set map[string]struct{}, name string) bool {
	_, ok := set[name]
	return ok
}

// Suspicious says what in a list's text probably means something else than its
// author thinks; empty if nothing does.
func Suspicious(text string) string {
	users, groups, spaced := strings.Cut(text, " ")
	switch {
	case strings.HasSuffix(strings.TrimRight(users, "\t\n"), ",") && strings.TrimSpace(groups) != "":
		return "there is a space after a comma: what follows the first space are groups, not users"
	case spaced && strings.Contains(strings.TrimSpace(groups), " "):
		return "there is more than one space: only the first one separates, the others become part of a group's name or are dropped"
	case strings.TrimSpace(text) != anybody && !Parse(text).All() && slices.Contains(strings.FieldsFunc(text, isSeparator), anybody):
		return "* stands among other names: it allows everybody only if it is alone"
	}
	return ""
}

func isSeparator(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' }
