package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Options say where ZooKeeper is and how to talk to it.
type Options struct {
	Address     string              // host:port,…, and a chroot if need be: "a:2181,b:2181/hadoop" (hadoop.zk.address)
	Session     time.Duration       // without a sign of life; 0: 10 s (hadoop.zk.timeout-ms)
	Auth        []Auth              // presented with every session (hadoop.zk.auth)
	MaxRequest  int                 // bytes of one request, as the servers' jute.maxbuffer; 0: DefaultRequest
	MaxResponse int                 // bytes of one answer; 0: DefaultResponse
	State       func(State)         // told of every change of the session; it must not wait. nil: nobody is
	Granted     func(time.Duration) // told for each connection after how long without a sign of life the servers end the session; it must not wait. nil: nobody is
	Log         func(string)        // takes what the connection has to say; nil: it is dropped
}

// Limits of what is sent and taken.
const (
	DefaultRequest  = 0xfffff  // the default of the servers' jute.maxbuffer
	DefaultResponse = 64 << 20 // a list of many children is larger than what servers take

	defaultSession = 10 * time.Second
	maxServers     = 64
)

// Opener opens a connection: Open, or one to a server in memory. It does not wait for
// the first session.
type Opener func(Options) (Conn, error)

func (o Options) withDefaults() Options {
	if o.Session <= 0 {
		o.Session = defaultSession
	}
	if o.MaxRequest <= 0 {
		o.MaxRequest = DefaultRequest
	}
	if o.MaxResponse <= 0 {
		o.MaxResponse = DefaultResponse
	}
	return o
}

// ParseAddress reads a list of servers with an optional chroot behind it, "" or "/path".
func ParseAddress(text string) (servers []string, chroot string, err error) {
	list, path, found := strings.Cut(strings.TrimSpace(text), "/")
	if found && path != "" {
		chroot = "/" + strings.TrimSuffix(path, "/")
	}
	for _, server := range fields(list) {
		if _, _, err := net.SplitHostPort(server); err != nil {
			server = net.JoinHostPort(strings.Trim(server, "[]"), "2181")
		}
		servers = append(servers, server)
	}
	switch {
	case len(servers) == 0:
		return nil, "", errors.New("no server is named, expected host:port,… or host:port,…/path")
	case len(servers) > maxServers:
		return nil, "", fmt.Errorf("%d servers, at most %d are allowed", len(servers), maxServers)
	case chroot == "/" || chroot != "" && CheckPath(chroot) != nil:
		return nil, "", fmt.Errorf("the path behind the servers: %w", CheckPath(chroot))
	}
	return servers, chroot, nil
}

// CheckPath is an error unless path is one that ZooKeeper takes.
func CheckPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%q does not begin with a slash", path)
	}
	if path == "/" {
		return nil
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		switch {
		case part == "":
			return fmt.Errorf("%q has an empty part", path)
		case part == "." || part == "..":
			return fmt.Errorf("%q is not absolute: it has a part %q", path, part)
		}
	}
	for _, c := range path {
		if c <= 0x1f || c >= 0x7f && c <= 0x9f || c >= 0xf000 && c <= 0xf8ff || c >= 0xfff0 && c <= 0xffff {
			return fmt.Errorf("%q has the character %U, which ZooKeeper does not take", path, c)
		}
	}
	return nil
}

// MakeParents makes the nodes on the way to path, and path, with null data, where they
// are missing.
func MakeParents(ctx context.Context, c Conn, path string, acl []ACL) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	at := ""
	for part := range strings.SplitSeq(path[1:], "/") {
		at += "/" + part
		there, _, err := c.Exists(ctx, at)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if _, err := c.Create(ctx, at, nil, Persistent, acl); err != nil && !errors.Is(err, ErrNodeExists) {
			return err
		}
	}
	return nil
}
