package shuffle

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-project/heddle/yarn"
)

// Defaults of a Config, and limits that no Config changes.
const (
	DefaultPort             = 13562 // mapreduce.shuffle.port
	DefaultKeepAliveTimeout = 5 * time.Second
	DefaultOpenFiles        = 3
	DefaultIndexCache       = 10 << 20
	DefaultWriteTimeout     = 3 * time.Minute // as long as a stock reducer waits for a byte

	MaxHeader         = 32 << 10         // bytes of a request with its line; Apache's takes a line of 4 KiB
	MaxRequests       = 1024             // in service at a time; further ones are told to retry later
	MaxRequestsPerJob = MaxRequests / 2  // so that one job cannot keep out the others
	requestTimeout    = 30 * time.Second // from the first byte of a request to the end of its header
	stopGrace         = 2 * time.Second  // for requests that hang on a disk after their connections are closed
	overflow          = 256              // connections above the limit that are told so before they are closed
)

// Config is what a Server needs to know. The zero value of every field but
// LocalDirs is usable.
type Config struct {
	Listener net.Listener // if nil, the server listens on Address
	Address  string       // "host:port"; port 0 takes a free one (mapreduce.shuffle.port)

	// LocalDirs answers the local directories that can be read now
	// (yarn.nodemanager.local-dirs, full ones included), in the order in which
	// they are searched. It is called for every request.
	LocalDirs func() []string

	MaxConnections   int           // mapreduce.shuffle.max.connections; 0 is half of the files that the process may open
	KeepAlive        bool          // mapreduce.shuffle.connection-keep-alive.enable: even if the client does not ask for it
	KeepAliveTimeout time.Duration // mapreduce.shuffle.connection-keep-alive.timeout; 0 is 5 s
	OpenFiles        int           // mapreduce.shuffle.max.session-open-files: what one request keeps open; 0 is 3
	IndexCache       int64         // mapreduce.reduce.shuffle.indexcache.mb, in bytes; 0 is 10 MiB
	WriteTimeout     time.Duration // how long a reducer may take for each MiB; 0 is 3 minutes
	Copy             bool          // mapreduce.shuffle.transferTo.allowed=false: read and write instead of sendfile
	Readahead        int64         // mapreduce.shuffle.readahead.bytes: what the kernel is asked to read ahead; 0 leaves it to the kernel
	DropCache        bool          // mapreduce.shuffle.manage.os.cache: tell the kernel that what was sent will not be read again

	// Algorithm signs requests and replies
	// (hadoop.security.secret-manager.key-generator.algorithm); "" is HmacSHA1.
	Algorithm string

	// Owner is the numeric id of who owns the files that a user's containers
	// write. If nil, that is who runs this process, as with the default executor.
	Owner func(user string) (uint32, error)

	TLS *tls.Config // mapreduce.shuffle.ssl.enabled; without sendfile then

	// Save and Remove keep the jobs beyond the life of the process, if they are
	// not nil; Restore takes back what was saved. A job is saved before it is served.
	Save   func(Job) error
	Remove func(yarn.ApplicationID) error

	Log *slog.Logger
}

// Stats are figures since the start, but for Connections, which are open now.
type Stats struct {
	Connections int64
	Bytes       uint64 // of partitions and the headers between them, as sent
	OK          uint64 // requests answered to the end
	Failed      uint64 // requests of reducers that could not be answered, or not to the end
	Refused     uint64 // requests without a valid signature, and those refused because there are too many
}

// Server is the service. Its methods may be called concurrently.
type Server struct {
	cfg     Config
	newHash func() hash.Hash
	limit   int64 // of connections
	ln      net.Listener
	port    int
	http    *http.Server

	portText  string
	keepAlive []string // the header Keep-Alive

	jobs    jobs
	indexes *cache
	scratch sync.Pool // *fetch

	started  atomic.Bool
	stopped  chan struct{}  // Serve has returned
	open     sync.WaitGroup // connections
	inFlight atomic.Int64

	connections         atomic.Int64
	bytes               atomic.Uint64
	ok, failed, refused atomic.Uint64
}

// New binds the port and prepares the service; nothing is answered before Serve.
func New(cfg Config) (*Server, error) {
	if cfg.LocalDirs == nil {
		return nil, errors.New("shuffle: no local directories are given")
	}
	newHash, err := algorithm(cfg.Algorithm)
	if err != nil {
		return nil, err
	}
	cfg.fill()
	s := &Server{cfg: cfg, newHash: newHash, limit: connectionLimit(cfg.MaxConnections), ln: cfg.Listener, stopped: make(chan struct{})}
	if s.ln == nil {
		if s.ln, err = net.Listen("tcp", cfg.Address); err != nil {
			return nil, fmt.Errorf("shuffle: listen on %q (mapreduce.shuffle.port): %w", cfg.Address, err)
		}
	}
	tcp, ok := s.ln.Addr().(*net.TCPAddr)
	if !ok {
		s.ln.Close()
		return nil, fmt.Errorf("shuffle: reducers need a TCP port, not %s", s.ln.Addr())
	}
	s.port = tcp.Port
	s.portText = strconv.Itoa(tcp.Port)
	s.keepAlive = []string{"timeout=" + strconv.FormatInt(int64(cfg.KeepAliveTimeout/time.Second), 10)}
	s.jobs.init()
	s.indexes = newCache(cfg.IndexCache)
	s.http = s.server()
	return s, nil
}

func (c *Config) fill() {
	c.KeepAliveTimeout = orDefault(c.KeepAliveTimeout, DefaultKeepAliveTimeout)
	c.OpenFiles = orDefault(c.OpenFiles, DefaultOpenFiles)
	c.IndexCache = orDefault(c.IndexCache, DefaultIndexCache)
	c.WriteTimeout = orDefault(c.WriteTimeout, DefaultWriteTimeout)
	if c.Owner == nil {
		own := uint32(os.Geteuid())
		c.Owner = func(string) (uint32, error) { return own, nil }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

func orDefault[T int | int64 | time.Duration](v, standard T) T {
	if v > 0 {
		return v
	}
	return standard
}

// connectionLimit is the limit of connections. It leaves enough file
// descriptors for the rest of the daemon, even where connections are not
// limited by the configuration.
func connectionLimit(configured int) int64 {
	var files unix.Rlimit
	half := int64(1 << 16)
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil {
		half = int64(min(files.Cur, 1<<20) / 2)
	}
	if configured > 0 {
		return min(int64(configured), half)
	}
	return half
}

func (s *Server) server() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:                      http.HandlerFunc(s.answer),
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            requestTimeout,
		WriteTimeout:                 s.cfg.WriteTimeout,
		IdleTimeout:                  s.cfg.KeepAliveTimeout,
		MaxHeaderBytes:               MaxHeader,
		ConnContext:                  s.accepted,
		ConnState:                    s.changed,
		ErrorLog:                     slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
	}
}

// crowded marks the context of a connection above the limit.
type crowded struct{}

// accepted counts a connection. Up to overflow connections above the limit are
// served so that their requests can be refused with a reply; further ones are
// closed at once.
func (s *Server) accepted(ctx context.Context, c net.Conn) context.Context {
	s.open.Add(1)
	n := s.connections.Add(1)
	if n <= s.limit {
		return ctx
	}
	if n > s.limit+overflow {
		c.Close()
	}
	return context.WithValue(ctx, crowded{}, true)
}

func (s *Server) changed(_ net.Conn, state http.ConnState) {
	if state == http.StateClosed {
		s.connections.Add(-1)
		s.open.Done()
	}
}

// Serve answers requests until Close; it then returns nil.
func (s *Server) Serve() error {
	if !s.started.CompareAndSwap(false, true) {
		return errors.New("shuffle: already serving")
	}
	defer close(s.stopped)
	ln := s.ln
	if s.cfg.TLS != nil {
		ln = tls.NewListener(ln, s.cfg.TLS)
	}
	err := s.http.Serve(ln)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("shuffle: port %d: %w", s.port, err)
}

// Close stops listening, gives the requests in service until the end of ctx, and
// then closes their connections. The error is that of ctx if that was necessary.
// Jobs stay saved.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.http.Close()
	}
	s.ln.Close()
	if !s.started.Load() {
		return err
	}
	<-s.stopped
	ended := make(chan struct{})
	go func() {
		s.open.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(stopGrace):
		s.cfg.Log.Warn("shuffle: requests still hang on a disk", "connections", s.connections.Load())
	}
	return err
}

// Port is the port that reducers connect to.
func (s *Server) Port() int { return s.port }

// Metadata is what an application's master gets in the answer to
// startContainers: the port, as four bytes, highest first.
func (s *Server) Metadata() []byte { return binary.BigEndian.AppendUint32(nil, uint32(s.port)) }

// Stats are the figures of now.
func (s *Server) Stats() Stats {
	return Stats{Connections: s.connections.Load(), Bytes: s.bytes.Load(), OK: s.ok.Load(), Failed: s.failed.Load(), Refused: s.refused.Load()}
}
