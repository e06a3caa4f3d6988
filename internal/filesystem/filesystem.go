package filesystem

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/internal/seldom"
)

// FileSystem is one connection to one file system. Paths are absolute and slash-separated, as URL.Path has them.
type FileSystem interface {
	// Stat follows symbolic links.
	Stat(path string) (Info, error)
	// Open reads a file from its beginning; files, but not those over HTTP, are io.Seekers.
	Open(path string) (io.ReadCloser, error)
	// List tells what a directory holds, links followed and dangling ones left out, in the file system's order. More
	// than limit entries are ErrTooMany.
	List(path string, limit int) ([]Info, error)
	// Create writes a new file with exactly that mode. An existing one is replaced if overwrite is set, else
	// fs.ErrExist; on HDFS replacing is removing first. The content is complete only when Close returned nil.
	Create(path string, mode fs.FileMode, overwrite bool) (io.WriteCloser, error)
	// MkdirAll creates a directory and its missing parents, each with exactly that mode. Existing ones keep theirs.
	MkdirAll(path string, mode fs.FileMode) error
	// Rename moves a file or directory within the file system, replacing a file of the new name.
	Rename(from, to string) error
	// Remove removes a file or a whole tree; what does not exist is no error. The root is refused.
	Remove(path string) error
	// Chmod sets permission bits and fs.ModeSticky.
	Chmod(path string, mode fs.FileMode) error
	// SetOwner sets owner and group by name; an empty name changes nothing. Only superusers may.
	SetOwner(path, user, group string) error
	// Close ends the connection and all that was opened from it.
	Close() error
}

// Appender is a FileSystem whose files can be appended to.
type Appender interface {
	// Append opens an existing file to write at its end, and follows no symbolic link. As with Create, Close says whether all was written.
	// On the local file system it removes the checksum that Java keeps beside the file, which would not match the longer file.
	Append(path string) (io.WriteCloser, error)
}

// Syncer is a file being written that can be made to survive a loss of power.
type Syncer interface{ Sync() error }

// BelowRemover is a FileSystem with symbolic links, which others may make while it is used.
type BelowRemover interface {
	// RemoveBelow removes the file or tree at the end of names, each a name in the directory before it, and follows
	// no symbolic link below dir.
	RemoveBelow(dir string, names []string) error
}

// Info describes a file or directory.
type Info struct {
	Name         string
	Size         int64 // bytes; -1 if unknown (HTTP without a length)
	ModTime      int64 // milliseconds since 1970; 0 if unknown
	Dir          bool
	Link         bool        // in a List: a symbolic link led to it
	Mode         fs.FileMode // permission bits, fs.ModeSticky, fs.ModeDir
	Owner, Group string      // names, or numbers without one; empty over HTTP
}

var (
	// ErrTooMany tells that a directory holds more than was asked for.
	ErrTooMany = errors.New("the directory has too many entries")
	// ErrReadOnly tells that HTTP cannot be written to or listed.
	ErrReadOnly = errors.New("this file system can only be read")
	// ErrScheme tells of a URL whose scheme no file system here serves.
	ErrScheme = errors.New("no file system of this node serves that scheme; file, http, https and hdfs are")
	// ErrStalled tells that the remote end kept us waiting beyond Limits.
	ErrStalled = errors.New("the remote end is too slow")
)

// Limits bounds what a remote end may cost. A zero field has the default named beside it.
type Limits struct {
	Connect   time.Duration // for one TCP connection; 20 s
	Idle      time.Duration // in which at least Progress bytes have to arrive, waiting alone counted; 60 s
	Operation time.Duration // for one call of HDFS, a Read or Write included; 5 min
	Redirects int           // HTTP answers that point elsewhere; 10
}

// Bounds that are not configured.
const (
	Progress     = 64 << 10 // bytes per Limits.Idle: less is a trickle
	MaxFrame     = 64 << 20 // bytes of one answer of a namenode
	MaxNamenodes = 16       // of one name service
	MaxURL       = 8 << 10  // bytes of a URL's text
	maxHeader    = 64 << 10 // bytes of an HTTP answer's header
	maxDials     = 64       // connections for one call: replicas and namenodes that fail
)

// Config says how file systems are reached.
type Config struct {
	// Default serves URLs without a scheme (fs.defaultFS); file:/// if empty.
	Default string
	// Property looks up one of Hadoop's properties, "" if unset. HDFS uses dfs.nameservices, dfs.ha.namenodes.*,
	// dfs.namenode.rpc-address.*, dfs.client.failover.* (proxy.provider.*, max.attempts, sleep.base.millis,
	// sleep.max.millis), dfs.client.retry.max.attempts, dfs.client.use.datanode.hostname, dfs.replication, dfs.blocksize
	// and hadoop.security.authentication.
	Property func(key string) string
	// Site tells people which hdfs-site.xml was read: "/etc/hadoop/hdfs-site.xml does not exist".
	Site string
	// Waiting, when set, is called before a call asks a NameNode for the second time, at most once a minute for one cluster, with what
	// was answered: by all its NameNodes, or by the one that asks for patience.
	Waiting func(text string)
	Limits  Limits
	// TLS is for https; nil trusts the machine's authorities.
	TLS *tls.Config
	// Dial, when set, replaces TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Systems connects to file systems. It is safe for concurrent use and holds nothing open itself.
type Systems struct {
	cfg    Config
	home   URL
	active sync.Map     // of each name service, an *atomic.Int32: the NameNode that answered last
	waits  seldom.Limit // by name service: what Waiting is told
}

func (s *Systems) activeOf(service string) *atomic.Int32 {
	active, _ := s.active.LoadOrStore(service, new(atomic.Int32))
	return active.(*atomic.Int32)
}

// New checks the configuration; it connects to nothing.
func New(cfg Config) (*Systems, error) {
	if cfg.Default == "" {
		cfg.Default = "file:///"
	}
	home, err := ParseURL(cfg.Default)
	if err != nil {
		return nil, fmt.Errorf("fs.defaultFS: %w", err)
	}
	if home.Scheme == "" {
		return nil, fmt.Errorf("fs.defaultFS: %q has no scheme; a local one is file:///", cfg.Default)
	}
	if cfg.Property == nil {
		cfg.Property = func(string) string { return "" }
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{}).DialContext
	}
	cfg.Limits = cfg.Limits.filled()
	return &Systems{cfg: cfg, home: home}, nil
}

func (l Limits) filled() Limits {
	fill := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	fill(&l.Connect, 20*time.Second)
	fill(&l.Idle, time.Minute)
	fill(&l.Operation, 5*time.Minute)
	if l.Redirects <= 0 {
		l.Redirects = 10
	}
	return l
}

// Resolve completes a URL without scheme, or without authority on the default scheme, from the default file system.
func (s *Systems) Resolve(u URL) URL {
	switch {
	case u.Scheme == "":
		u.Scheme, u.Authority = s.home.Scheme, s.home.Authority
	case u.Authority == "" && equalFold(u.Scheme, s.home.Scheme):
		u.Authority = s.home.Authority
	}
	return u
}

// Serves tells whether Connect knows the scheme of a URL.
func (s *Systems) Serves(u URL) bool {
	switch lower(s.Resolve(u).Scheme) {
	case "file", "http", "https", "hdfs":
		return true
	}
	return false
}

// Connect gives the file system that serves a URL, acting as user where the file system asks who (HDFS). The connection
// ends with ctx. Errors: ErrScheme, the context's, or why the remote end cannot be reached.
func (s *Systems) Connect(ctx context.Context, u URL, user string) (FileSystem, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	u = s.Resolve(u)
	switch lower(u.Scheme) {
	case "file":
		return newLocal(ctx, u), nil
	case "http", "https":
		return newWeb(ctx, s.cfg, u)
	case "hdfs":
		return newHDFS(ctx, s, u, user)
	}
	return nil, fmt.Errorf("%s: %w", u, ErrScheme)
}
