package conf

import (
	"net"
	"strconv"
	"strings"
)

// Address is a host and port as written, not resolved.
type Address struct {
	Host string
	Port int
}

// String is host:port, with brackets around an IPv6 host.
func (a Address) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// IsZero reports whether the address was never set.
func (a Address) IsZero() bool { return a == Address{} }

// Loopback reports whether only this machine can reach a listener on this address. Names
// other than localhost are not resolved and count as reachable.
func (a Address) Loopback() bool {
	ip := net.ParseIP(a.Host)
	return a.Host == "localhost" || ip != nil && ip.IsLoopback()
}

// ParseAddress reads host, host:port, [v6]:port, or a URL around one of them,
// as NetUtils.createSocketAddr does. Host names with underscores, which Java's
// URI refuses, are accepted, and so are IPv6 addresses without brackets, as ${yarn.resourcemanager.hostname}:8032 makes them: what
// follows the last colon is the port if what is before it is an address.
func ParseAddress(s string, defaultPort int) (Address, bool) {
	s = trim(s)
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s, _, _ = strings.Cut(rest, "/")
	}
	var host, port string
	if end := strings.LastIndexByte(s, ']'); strings.HasPrefix(s, "[") && end > 0 {
		host, port = s[1:end], s[end+1:]
		if net.ParseIP(host) == nil || port != "" && port[0] != ':' {
			return Address{}, false
		}
		port = strings.TrimPrefix(port, ":")
	} else if strings.Count(s, ":") > 1 {
		host = s
		if last := strings.LastIndexByte(s, ':'); net.ParseIP(s[:last]) != nil && strings.Trim(s[last+1:], "0123456789") == "" {
			host, port = s[:last], s[last+1:]
		}
		if net.ParseIP(host) == nil {
			return Address{}, false
		}
	} else if host, port, _ = strings.Cut(s, ":"); !validHost(host) {
		return Address{}, false
	}
	n := defaultPort
	if port != "" {
		u, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return Address{}, false
		}
		n = int(u)
	}
	return Address{host, n}, n >= 0
}

// maxHost is the longest DNS name.
const maxHost = 255

func validHost(h string) bool {
	if h == "" || len(h) > maxHost {
		return false
	}
	for _, c := range []byte(h) {
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Address reads host[:port]; unset or blank gives def, which may be "" for no
// address at all.
func (r *Reader) Address(name, def string, defaultPort int) Address {
	s := r.String(name, def)
	if s == "" {
		return Address{}
	}
	a, ok := ParseAddress(s, defaultPort)
	if !ok {
		r.Fail(name, "not allowed, expected host:port (or host alone for port %d)", defaultPort)
		a, _ = ParseAddress(def, defaultPort)
	}
	return a
}

// Bind is where to listen for an address: the bind-host property's host when
// set, with the address's port.
func (r *Reader) Bind(bindHost string, a Address) Address {
	s := r.String(bindHost, "")
	if s == "" {
		return a
	}
	if net.ParseIP(s) != nil { // IPv6 needs no brackets here
		return Address{s, a.Port}
	}
	b, ok := ParseAddress(s, a.Port)
	if !ok {
		r.Fail(bindHost, "not allowed, expected a host name or an IP address")
		return a
	}
	return b
}
