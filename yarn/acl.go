package yarn

import (
	"slices"
	"strings"
)

// anybody, alone among users or groups, opens a list to all.
const anybody = "*"

// proxied before a user's name stands for whoever that user acts for.
const proxied = "~"

// ACL is Hadoop's access control list. It never changes. The zero ACL allows
// nobody. Its text is "users groups", both comma-separated, with one space between:
//
//	alice,bob             two users
//	alice,bob dev,ops     two users and the members of two groups
//	 dev                  the members of a group (nothing before the space)
//	*                     everybody
//	(a single space)      nobody
//	~oozie                whoever the user oozie acts for
//
// The first space ends the users, also one after a comma: in "alice, bob" alice
// is a user and bob a group. Who must tell that to an operator asks SuspiciousACL.
// Groups are looked up by who asks.
type ACL struct {
	everybody     bool
	users, groups []string // as written, without duplicates
	isUser        map[string]struct{}
	isGroup       map[string]struct{}
}

// Everybody is the list that allows all.
func Everybody() ACL { return ACL{everybody: true} }

// ParseACL reads a list. Every text is one; the empty text allows nobody.
func ParseACL(text string) ACL {
	users, groups, _ := strings.Cut(text, " ")
	return NewACL(users, groups)
}

// NewACL makes a list of comma-separated users and groups.
func NewACL(users, groups string) ACL {
	if strings.TrimSpace(users) == anybody || strings.TrimSpace(groups) == anybody {
		return Everybody()
	}
	var l ACL
	l.users, l.isUser = aclNames(users)
	l.groups, l.isGroup = aclNames(groups)
	return l
}

func aclNames(text string) ([]string, map[string]struct{}) {
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
func (l ACL) String() string {
	if l.everybody {
		return anybody
	}
	return joinACL(l.users) + " " + joinACL(l.groups)
}

// joinACL keeps a name that happens to be "*" from opening the list when it is read again.
func joinACL(names []string) string {
	if len(names) == 1 && names[0] == anybody {
		return "," + anybody
	}
	return strings.Join(names, ",")
}

// All tells whether everybody is allowed.
func (l ACL) All() bool { return l.everybody }

// Nobody tells whether nobody is allowed.
func (l ACL) Nobody() bool { return !l.everybody && len(l.users)+len(l.groups) == 0 }

// Users are the names of users, "~" included, in the order in which they were written.
func (l ACL) Users() []string { return slices.Clone(l.users) }

// Groups are the names of groups in the order in which they were written.
func (l ACL) Groups() []string { return slices.Clone(l.groups) }

// Allows tells whether a user is allowed: by name, by one of its groups, or
// because realUser, empty if nobody acts for the user, is named with a "~". All
// names are short ones.
func (l ACL) Allows(user, realUser string, groups []string) bool {
	if l.everybody || listed(l.isUser, user) {
		return true
	}
	if realUser != "" && listed(l.isUser, proxied+realUser) {
		return true
	}
	return len(l.isGroup) > 0 && slices.ContainsFunc(groups, func(g string) bool { return listed(l.isGroup, g) })
}

func listed(set map[string]struct{}, name string) bool {
	_, ok := set[name]
	return ok
}

// SuspiciousACL says what in a list's text probably means something else than its
// author thinks; empty if nothing does.
func SuspiciousACL(text string) string {
	users, groups, spaced := strings.Cut(text, " ")
	switch {
	case strings.HasSuffix(strings.TrimRight(users, "\t\n"), ",") && strings.TrimSpace(groups) != "":
		return "there is a space after a comma: what follows the first space are groups, not users"
	case spaced && strings.Contains(strings.TrimSpace(groups), " "):
		return "there is more than one space: only the first one separates, the others become part of a group's name or are dropped"
	case strings.TrimSpace(text) != anybody && !ParseACL(text).All() && slices.Contains(strings.FieldsFunc(text, isACLSeparator), anybody):
		return "* stands among other names: it allows everybody only if it is alone"
	}
	return ""
}

func isACLSeparator(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' }
