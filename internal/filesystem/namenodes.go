package filesystem

import (
	"fmt"
	"net"
	"strings"
)

const namenodePort = "8020"

// namenodes finds the addresses behind a URL's authority: one host, or a name service with one or several namenodes.
func namenodes(property func(string) string, u URL) ([]string, error) {
	_, host, found := cutLast(u.Authority, '@')
	if !found {
		host = u.Authority
	}
	if host == "" {
		return nil, fmt.Errorf("%s: neither the URL nor fs.defaultFS names a namenode", u)
	}
	const address = "dfs.namenode.rpc-address."
	if ids := list(property("dfs.ha.namenodes." + host)); len(ids) > 0 {
		if len(ids) > MaxNamenodes {
			return nil, fmt.Errorf("%s: dfs.ha.namenodes.%s names %d namenodes, at most %d are tried", u, host, len(ids), MaxNamenodes)
		}
		var out []string
		for _, id := range ids {
			key := address + host + "." + id
			one := strings.TrimSpace(property(key))
			if one == "" {
				return nil, fmt.Errorf("%s: dfs.ha.namenodes.%s names %s, but %s is not set", u, host, id, key)
			}
			out = append(out, withPort(one))
		}
		return out, nil
	}
	for _, service := range list(property("dfs.nameservices")) {
		if one := strings.TrimSpace(property(address + host)); service == host && one != "" {
			return []string{withPort(one)}, nil
		}
	}
	return []string{withPort(host)}, nil
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' })
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), namenodePort)
}
