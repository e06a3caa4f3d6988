package run

import (
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// Container is what is to be run, and where. Paths are absolute.
type Container struct {
	ID   yarn.ContainerID
	User string

	WorkDir    string   // where it runs; one of WorkDirs
	WorkDirs   []string // its directory on each healthy local directory
	AppDirs    []string // the application's on each (LOCAL_DIRS)
	UserDirs   []string // the user's on each, with or without a slash at the end (LOCAL_USER_DIRS)
	LogDir     string   // what <LOG_DIR> stands for; one of LogDirs
	LogDirs    []string // its log directory on each healthy log directory
	PrivateDir string   // the daemon's own about it: <local directory>/nmPrivate/<application>/<container>

	Env      []Variable // the launch context's, in its order
	Command  []string
	Links    []Link   // localized resources, in the launch context's order
	Tokens   []byte   // a credentials file; empty for one without tokens
	Aux      []Aux    // metadata of auxiliary services
	Counters [5]int64 // LOCALIZATION_COUNTERS: bytes missed, bytes cached, files missed, files cached, milliseconds

	Cgroup *os.File // the directory of the control group that it starts in; nil: the daemon's. Start alone uses it, and does not close it

	environ []string // what Prepare has found
}

// Variable is one of the environment.
type Variable struct{ Name, Value string }

// Link is a name in the working directory for something localized. The last part of Name may be *, which stands for a link
// to each entry of the directory Target.
type Link struct{ Target, Name string }

// Aux is what an auxiliary service tells containers.
type Aux struct {
	Name     string
	Metadata []byte
}

// Config is what holds for all containers of a node. Zero values are of no use but where it is said.
type Config struct {
	Host           string
	Port, HTTPPort int

	Environ   []string   // the daemon's own environment, "NAME=value"
	Whitelist []string   // yarn.nodemanager.env-whitelist: which of it containers get if they set nothing themselves
	AdminEnv  []Variable // yarn.nodemanager.admin-env, not expanded
	ForcePath string     // yarn.nodemanager.force.path; may be empty
	Home      string     // yarn.nodemanager.user-home-dir
	Debug     bool       // yarn.nodemanager.log-container-debug-info.enabled

	Umask      fs.FileMode // fs.permissions.umask-mode
	LogDirMode fs.FileMode // yarn.nodemanager.default-container-executor.log-dirs.permissions
	Nice       int         // yarn.nodemanager.container-executor.os.sched.priority.adjustment; 0: as the daemon

	KillDelay     time.Duration // yarn.nodemanager.sleep-delay-before-sigkill.ms; 0: SIGKILL at once
	PIDWait       time.Duration // yarn.nodemanager.process-kill-wait.ms
	ExitFileWait  time.Duration // yarn.nodemanager.container-executor.exit-code-file.timeout-ms
	StderrPattern string        // yarn.nodemanager.container.stderr.pattern
	StderrTail    int64         // yarn.nodemanager.container.stderr.tail.bytes

	Log *slog.Logger
}

// Launcher runs containers. It is safe for concurrent use.
type Launcher struct {
	cfg      Config
	own      map[string]string // cfg.Environ
	nodeJava func() bool       // whether it is 17 or newer; asked once, when a container wants to know
	brander  func() string     // the program that brands containers, "" if there is none; asked once, by the first start
}

// New is a launcher. Nothing is read or started yet.
func New(cfg Config) *Launcher {
	l := &Launcher{cfg: cfg, own: map[string]string{}}
	for _, entry := range cfg.Environ {
		name, value, _ := strings.Cut(entry, "=")
		l.own[name] = value
	}
	l.nodeJava, l.brander = sync.OnceValue(l.askNode), sync.OnceValue(l.findBrander)
	return l
}
