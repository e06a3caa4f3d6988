package filesystem

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

const namenodePort = "8020"

// server is one NameNode of a name service.
type server struct {
	id      string // as in dfs.ha.namenodes; "" for a host that the URL names
	address string
}

func (n server) String() string {
	if n.id == "" {
		return n.address
	}
	return n.id + " (" + n.address + ")"
}

// cluster is the NameNodes of a URL's authority, and how often they are asked.
type cluster struct {
	name  string // of the host or name service
	nodes []server
	// failover tells that calls go on to another NameNode, or to whoever has taken the address over, as below.
	failover   bool
	failovers  int // for one call
	retries    int // for one call, of a NameNode that asks for patience
	sleep      time.Duration
	sleepLimit time.Duration
}

// findCluster finds the NameNodes behind a URL's authority: one host, or a name service with one or several of them.
func (cfg Config) findCluster(u URL) (cluster, error) {
	_, host, found := cutLast(u.Authority, '@')
	if !found {
		host = u.Authority
	}
	if host == "" {
		return cluster{}, fmt.Errorf("%s: neither the URL nor fs.defaultFS names a namenode", u)
	}
	bare, port := host, ""
	if h, p, err := net.SplitHostPort(host); err == nil {
		bare, port = h, p
	}
	c := cluster{name: bare}
	nodes, err := cfg.serviceNodes(bare)
	if err != nil {
		return c, fmt.Errorf("%s: %w", u, err)
	}
	switch {
	case len(nodes) == 0:
		nodes = []server{{"", withPort(host)}}
	case port != "" && port != namenodePort:
		return c, fmt.Errorf("%s: %s is a name service, which has no port: leave :%s out (%s)", u, bare, port, cfg.hdfsSite())
	}
	c.nodes = nodes
	c.failover = len(nodes) > 1 || cfg.trimmed("dfs.client.failover.proxy.provider."+bare) != ""
	millis := func(key string, def int64) time.Duration {
		return time.Duration(cfg.number(key, def, int64(time.Hour/time.Millisecond))) * time.Millisecond
	}
	c.failovers = int(cfg.number("dfs.client.failover.max.attempts", 15, maxDials))
	c.retries = int(cfg.number("dfs.client.retry.max.attempts", 10, maxDials))
	c.sleep = millis("dfs.client.failover.sleep.base.millis", 500)
	c.sleepLimit = millis("dfs.client.failover.sleep.max.millis", 15_000)
	return c, nil
}

// serviceNodes are the NameNodes of a name service; none if there is no service of that name.
func (cfg Config) serviceNodes(service string) ([]server, error) {
	const address = "dfs.namenode.rpc-address."
	ids := list(cfg.Property("dfs.ha.namenodes." + service))
	if len(ids) > MaxNamenodes {
		return nil, fmt.Errorf("dfs.ha.namenodes.%s names %d namenodes, at most %d are tried", service, len(ids), MaxNamenodes)
	}
	var out []server
	for _, id := range ids {
		key := address + service + "." + id
		one := cfg.trimmed(key)
		if one == "" {
			return nil, fmt.Errorf("dfs.ha.namenodes.%s names %s, but %s is not set (%s)", service, id, key, cfg.hdfsSite())
		}
		out = append(out, server{id, withPort(one)})
	}
	for _, known := range list(cfg.Property("dfs.nameservices")) {
		if known != service || len(out) > 0 {
			continue
		}
		one := cfg.trimmed(address + service)
		if one == "" && cfg.trimmed("dfs.client.failover.proxy.provider."+service) == "" {
			return nil, fmt.Errorf("dfs.nameservices names %s, but where its NameNodes are is not set: dfs.ha.namenodes.%s and %s%s.<id> for each of them, "+
				"or %s%s if it has one (%s)", service, service, address, service, address, service, cfg.hdfsSite())
		}
		if one != "" {
			return []server{{"", withPort(one)}}, nil
		}
	}
	return out, nil
}

// unknown explains a host that does not exist: it was to be a name service.
func (cfg Config) unknown(name string, err error) error {
	services := "dfs.nameservices is not set"
	if s := cfg.trimmed("dfs.nameservices"); s != "" {
		services = "dfs.nameservices is " + clip(s)
	}
	return fmt.Errorf("%s is neither a host (%w) nor a name service (%s; %s). A name service needs dfs.nameservices, dfs.ha.namenodes.%s, and "+
		"dfs.namenode.rpc-address.%s.<id> for each of its NameNodes", name, err, services, cfg.hdfsSite(), name, name)
}

func (cfg Config) hdfsSite() string {
	if cfg.Site == "" {
		return "no hdfs-site.xml was read"
	}
	return cfg.Site
}

func (cfg Config) trimmed(key string) string { return strings.TrimSpace(cfg.Property(key)) }

// number reads a count from a property, at most limit; def if it is not a count.
func (cfg Config) number(key string, def, limit int64) int64 {
	n, err := strconv.ParseInt(cfg.trimmed(key), 10, 64)
	if err != nil || n < 0 {
		n = def
	}
	return min(n, limit)
}

// bytes reads a size with or without one of Hadoop's suffixes k to e; 0 if it is not a size.
func (cfg Config) bytes(key string) int64 {
	text := lower(cfg.trimmed(key))
	shift := 0
	if end := len(text) - 1; end > 0 {
		if i := strings.IndexByte("kmgtpe", text[end]); i >= 0 {
			text, shift = text[:end], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return 0
	}
	return n << shift
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
