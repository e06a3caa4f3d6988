package logs

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Config is what collecting logs needs.
type Config struct {
	Node        yarn.NodeID
	User        string // of the daemon, who creates the directory of all logs
	Systems     *filesystem.Systems
	Layout      aggregated.Layout // aggregated.Writable
	Compression aggregated.Compression
	Group       string        // of the directory of all logs, "" for the default (yarn.nodemanager.remote-app-log-dir.groupname)
	Policy      string        // one of the values of conf.NodeLogs.Policy; applications may ask for another policy
	Parameters  string        // of the policy
	Roll        time.Duration // between collections of a running application; 0 for one collection at its end
	Keep        int           // how many files of one application are kept, except in the indexed format (yarn.nodemanager.log-aggregation.num-log-files-per-app)
	Indexed     Indexed
	Cleanup     bool            // what was collected is deleted here (yarn.log-aggregation.enable-local-cleanup)
	Threads     int             // collections at a time
	Dirs        func() []string // the log directories that can be read now
	Remove      func(paths ...string)
	Report      func(Report) // must not block
	Clock       clock.Clock
	Log         *slog.Logger
}

// Report is how far the collection of an application's logs has come, for the
// ResourceManager.
type Report struct {
	Application yarn.ApplicationID
	Status      pb.LogAggregationStatus
	Text        string
}

// Uploader collects applications' logs. It is safe for concurrent use.
type Uploader struct {
	cfg     Config
	slots   chan struct{}
	oddRoot sync.Once
}

// New checks the configuration; it connects to nothing.
func New(cfg Config) (*Uploader, error) {
	if !cfg.Layout.TFile && !cfg.Layout.Indexed {
		return nil, fmt.Errorf("yarn.log-aggregation.file-formats: %s is neither Hadoop's TFile nor its indexed file", cfg.Layout.Format)
	}
	var err error
	if cfg.Compression, err = aggregated.ParseCompression(string(cfg.Compression)); err != nil {
		return nil, fmt.Errorf("yarn.nodemanager.log-aggregation.compression-type: %w", err)
	}
	if _, err := findPolicy(cfg.Policy, ""); err != nil {
		return nil, fmt.Errorf("yarn.nodemanager.log-aggregation.policy.class: %w", err)
	}
	return &Uploader{cfg: cfg, slots: make(chan struct{}, max(cfg.Threads, 1))}, nil
}

// App is an application whose logs are collected.
type App struct {
	ID      yarn.ApplicationID
	User    string
	Context []byte            // LogAggregationContextProto, may be empty
	ACLs    map[string]string // by ApplicationAccessType
}

// Application is the collection of one application's logs. One goroutine at a
// time uses it.
type Application struct {
	App
	u      *Uploader
	wishes *wishes
	err    error // in reading the wishes
	seen   map[yarn.ContainerID]seen
}

// Open prepares the collection of an application's logs. If its
// LogAggregationContext is wrong, Prepare and Upload fail with that error.
func (u *Uploader) Open(app App) *Application {
	a := &Application{App: app, u: u, seen: map[yarn.ContainerID]seen{}}
	var odd error
	if a.wishes, odd, a.err = readWishes(app.Context, u.cfg.Policy, u.cfg.Parameters); odd != nil {
		u.cfg.Log.Warn("an application asks for a policy of log aggregation that is not known; the node's counts", "application", app.ID, "error", odd)
	}
	return a
}

// Every is how often the application's logs are to be uploaded while it runs; 0
// if only at its end.
func (a *Application) Every() time.Duration {
	if a.err != nil || !a.wishes.rolls() {
		return 0
	}
	return a.u.cfg.Roll
}

// Prepare creates the application's directory, so that an unreachable file
// system shows before there are logs to upload. Upload creates it too if it is
// missing.
func (a *Application) Prepare(ctx context.Context) error {
	if a.err != nil {
		return a.err
	}
	files, _, err := a.connect(ctx)
	if err != nil {
		return fmt.Errorf("preparing for the logs of %s: %w", a.ID, err)
	}
	return files.Close()
}

// connect opens the file system as the application's user, and makes sure of
// the directory, which it returns.
func (a *Application) connect(ctx context.Context) (filesystem.FileSystem, filesystem.URL, error) {
	layout := a.u.cfg.Layout
	dirs, err := layout.Dirs(a.User, a.ID)
	if err != nil {
		return nil, filesystem.URL{}, err
	}
	if err := a.u.makeRoot(ctx); err != nil {
		return nil, filesystem.URL{}, fmt.Errorf("the directory of aggregated logs (yarn.nodemanager.remote-app-log-dir): %w", err)
	}
	files, err := a.u.cfg.Systems.Connect(ctx, layout.Root, a.User)
	if err != nil {
		return nil, filesystem.URL{}, err
	}
	if err := makeDirs(files, dirs); err != nil {
		files.Close()
		return nil, filesystem.URL{}, err
	}
	return files, dirs[len(dirs)-1], nil
}

// Upload collects the logs of those of the containers that policy and patterns
// choose: all at the application's end (final), before that those that rolled.
// It waits for its turn, then writes one file, and reports. If all went well,
// what was collected is deleted here; at the end everything of the application
// is. After an error nothing is tried again here, and what was not collected is
// not deleted.
func (a *Application) Upload(ctx context.Context, containers []Container, final bool) error {
	text, err := a.upload(ctx, containers, final)
	if err != nil {
		text = fmt.Sprintf("Log uploaded failed for Application: %s in NodeManager: %s at %s: %v. The logs stay in the node's yarn.nodemanager.log-dirs.\n",
			a.ID, aggregated.NodeName(a.u.cfg.Node), a.u.now(), err)
	}
	a.report(text, err == nil, final)
	if err == nil && final && a.u.cfg.Cleanup {
		for _, dir := range a.u.cfg.Dirs() {
			a.u.cfg.Remove(filepath.Join(dir, a.ID.String()))
		}
	}
	return err
}

// report says how a collection went; at the end of an application it says twice,
// as Hadoop does.
func (a *Application) report(text string, ok, final bool) {
	status, last := pb.LogAggregationStatus_LOG_RUNNING, pb.LogAggregationStatus_LOG_SUCCEEDED
	if !ok {
		status, last = pb.LogAggregationStatus_LOG_RUNNING_WITH_FAILURE, pb.LogAggregationStatus_LOG_FAILED
	}
	a.u.cfg.Report(Report{a.ID, status, text})
	if final {
		a.u.cfg.Report(Report{a.ID, last, ""})
	}
}

func (u *Uploader) now() string { return javaTime(time.UnixMilli(u.cfg.Clock.Now().Wall)) }

// upload does the work of Upload and returns the text for the report.
func (a *Application) upload(ctx context.Context, containers []Container, final bool) (string, error) {
	if a.err != nil {
		return "", a.err
	}
	select {
	case a.u.slots <- struct{}{}:
		defer func() { <-a.u.slots }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	b := &batch{a: a, ctx: ctx, final: final}
	defer b.abandon()
	for _, c := range slices.SortedFunc(slices.Values(containers), func(x, y Container) int { return x.ID.Compare(y.ID) }) {
		if !a.wishes.keep(c) {
			continue
		}
		if err := b.container(c); err != nil {
			return "", err
		}
	}
	text := ""
	if b.writer != nil {
		if err := b.finish(); err != nil {
			return "", err
		}
		b.commit()
		text = fmt.Sprintf("Log uploaded successfully for Application: %s in NodeManager: %s at %s\n", a.ID, aggregated.NodeName(a.u.cfg.Node), a.u.now())
	}
	return text, b.err()
}

// acls are the lists that readers know, in a fixed order.
func (a *Application) acls() []aggregated.ACL {
	var out []aggregated.ACL
	for _, access := range slices.Sorted(maps.Keys(a.ACLs)) {
		if access == "VIEW_APP" || access == "MODIFY_APP" {
			out = append(out, aggregated.ACL{Access: access, List: a.ACLs[access]})
		}
	}
	return out
}
