package conf

import (
	"net/netip"
	"sort"
	"strings"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// Security is who may do what, and how users and groups are found.
type Security struct {
	ACLs  bool     // yarn.acl.enable
	Admin yarn.ACL // yarn.admin.acl

	GroupMapping       string              // hadoop.security.group.mapping: "shell", "ldap", "composite", "null", "rule", or the unknown class
	GroupCache         time.Duration       // hadoop.security.groups.cache.secs
	GroupNegativeCache time.Duration       // hadoop.security.groups.negative-cache.secs, 0 = none
	GroupTimeout       time.Duration       // hadoop.security.groups.shell.command.timeout, 0 = none
	StaticGroups       map[string][]string // hadoop.user.group.static.mapping.overrides; read only

	ProxyUsers []ProxyUser // hadoop.proxyuser.*, sorted by user
}

// distinct drops empty and repeated items.
func distinct(items []string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, s := range items {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// ProxyUser is one user who may act for others. The caller must come from one
// of Hosts, and the user acted for must match Allowed; a missing host list
// allows no host.
type ProxyUser struct {
	User    string
	Allowed yarn.ACL // .users and .groups
	Hosts   Machines
}

// Machines is a list of callers' addresses: "*", or addresses, CIDR ranges and
// host names. Names are resolved by whoever checks.
type Machines struct {
	All   bool
	Nets  []netip.Prefix
	Names []string
}

// ParseMachines reads a comma list; bad holds the entries that look like CIDR
// ranges and are not. compat: "*" among other entries is an ordinary name.
func ParseMachines(s string) (m Machines, bad []string) {
	entries := distinct(splitList(s))
	if len(entries) == 1 && entries[0] == "*" {
		return Machines{All: true}, nil
	}
	for _, e := range entries {
		if addr, err := netip.ParseAddr(e); err == nil {
			m.Nets = append(m.Nets, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		if !strings.Contains(e, "/") {
			m.Names = append(m.Names, e)
			continue
		}
		if n, err := netip.ParsePrefix(e); err == nil {
			m.Nets = append(m.Nets, n.Masked())
		} else {
			bad = append(bad, e)
		}
	}
	return m, bad
}

// Contains reports whether an address is listed, names left out.
func (m Machines) Contains(a netip.Addr) bool {
	if m.All {
		return true
	}
	a = a.Unmap()
	for _, n := range m.Nets {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

var groupClasses = map[string]string{
	securityPackage + "ShellBasedUnixGroupsMapping":                   "shell",
	securityPackage + "JniBasedUnixGroupsMapping":                     "shell",
	securityPackage + "JniBasedUnixGroupsMappingWithFallback":         "shell",
	securityPackage + "ShellBasedUnixGroupsNetgroupMapping":           "netgroup",
	securityPackage + "JniBasedUnixGroupsNetgroupMapping":             "netgroup",
	securityPackage + "JniBasedUnixGroupsNetgroupMappingWithFallback": "netgroup",
	securityPackage + "LdapGroupsMapping":                             "ldap",
	securityPackage + "CompositeGroupsMapping":                        "composite",
	securityPackage + "NullGroupsMapping":                             "null",
	securityPackage + "RuleBasedLdapGroupsMapping":                    "rule",
}

func (r *Reader) security() Security {
	mapping, _ := r.Class("hadoop.security.group.mapping", securityPackage+"JniBasedUnixGroupsMappingWithFallback", groupClasses)
	r.authentication()
	return Security{
		ACLs:               r.Bool("yarn.acl.enable", false),
		Admin:              r.ACL("yarn.admin.acl", "*"),
		GroupMapping:       mapping,
		GroupCache:         r.Duration("hadoop.security.groups.cache.secs", 300*time.Second, time.Second, time.Second),
		GroupNegativeCache: r.Duration("hadoop.security.groups.negative-cache.secs", 30*time.Second, time.Second, 0),
		GroupTimeout:       r.Duration("hadoop.security.groups.shell.command.timeout", 0, time.Second, 0),
		StaticGroups:       r.staticGroups(),
		ProxyUsers:         r.proxyUsers(),
	}
}

// authentication only checks the word, without regard to case as Hadoop does: kerberos is refused as not built.
func (r *Reader) authentication() {
	const name = "hadoop.security.authentication"
	if s := strings.ToLower(r.String(name, "simple")); s != "simple" && s != "kerberos" {
		r.Fail(name, "not allowed, expected simple or kerberos")
	}
}

// ACL reads an access list untrimmed: a space before it means no users.
func (r *Reader) ACL(name, def string) yarn.ACL {
	if s, ok := r.Raw(name); ok {
		return yarn.ParseACL(s)
	}
	return yarn.ParseACL(def)
}

// staticGroups reads "user=group,group;user=;": users whose groups are not
// looked up.
func (r *Reader) staticGroups() map[string][]string {
	const name = "hadoop.user.group.static.mapping.overrides"
	s, ok := r.Raw(name)
	if !ok {
		s = "dr.who=;"
	}
	out := map[string][]string{}
	for _, entry := range strings.Split(s, ";") {
		if entry == "" {
			continue
		}
		user, groups, _ := strings.Cut(entry, "=")
		user = trim(user)
		if user == "" || strings.Contains(groups, "=") {
			r.Fail(name, "entry %q is not of the form user=group,group", clip(entry))
			continue
		}
		out[user] = distinct(splitList(groups))
	}
	return out
}

// Prefixes of proxy user rules. The ResourceManager's own win over Hadoop's.
const (
	proxyPrefix   = "hadoop.proxyuser."
	rmProxyPrefix = rm + "proxyuser."
)

// proxyUsers gathers hadoop.proxyuser.USER.{users,groups,hosts}; USER may hold
// dots.
func (r *Reader) proxyUsers() []ProxyUser {
	rules := map[string]string{} // USER.kind → name of the property that rules
	for _, prefix := range []string{proxyPrefix, rmProxyPrefix} {
		for _, v := range r.props.WithPrefix(prefix) {
			rules[v.Name[len(prefix):]] = v.Name
		}
	}
	byUser := map[string]*ProxyUser{}
	for rule, name := range rules {
		dot := strings.LastIndexByte(rule, '.')
		if dot <= 0 || !strings.Contains(".users.groups.hosts.", rule[dot:]+".") {
			continue
		}
		user := rule[:dot]
		if byUser[user] == nil {
			byUser[user] = r.proxyUser(user, rules)
		}
		r.asked[name] = true
	}
	out := make([]ProxyUser, 0, len(byUser))
	for _, p := range byUser {
		out = append(out, *p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].User < out[j].User })
	return out
}

func (r *Reader) proxyUser(user string, rules map[string]string) *ProxyUser {
	text := func(kind string) string {
		name, ok := rules[user+kind]
		if !ok {
			return ""
		}
		s, _ := r.Raw(name)
		return s
	}
	p := &ProxyUser{User: user, Allowed: yarn.NewACL(text(".users"), text(".groups"))}
	var bad []string
	p.Hosts, bad = ParseMachines(text(".hosts"))
	for _, e := range bad {
		r.Fail(rules[user+".hosts"], "entry %q is not an address range such as 10.0.0.0/8", e)
	}
	return p
}
