package queue

import "strings"

// ACL is a list of users and groups that may do something
// (AccessControlList: "user1,user2 group1,group2").
type ACL struct {
	all    bool
	users  map[string]bool
	groups map[string]bool
	text   string
}

// ParseACL reads a list. "*" alone among the users or the groups is everyone, ""
// and " " nobody.
func ParseACL(text string) ACL {
	a := ACL{text: text}
	users, groups, _ := strings.Cut(text, " ")
	if strings.TrimSpace(users) == "*" || strings.TrimSpace(groups) == "*" {
		a.all = true
		return a
	}
	a.users, a.groups = set(users), set(groups)
	return a
}

func set(list string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			m[name] = true
		}
	}
	return m
}

// String is the list as it was written.
func (a ACL) String() string { return a.text }

// Permits tells whether the user is on the list, by name or by a group. An entry
// "~name" stands for whoever acts on behalf of others under that real name.
func (a ACL) Permits(user, realUser string, groups []string) bool {
	if a.all || a.users[user] || realUser != "" && a.users["~"+realUser] {
		return true
	}
	for _, g := range groups {
		if a.groups[g] {
			return true
		}
	}
	return false
}
