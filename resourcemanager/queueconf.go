package resourcemanager

import (
	"bytes"
	"context"
	encoding "encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/seldom"
	"github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// queueConf is the configuration of the CapacityScheduler's queues as it is kept and changed. With a store of Apache's the store says what the
// queues are, and the queue file is where the first start begins; without one the file says it, and only the history is kept.
//
// A change is checked, stored and put in force, in this order, one at a time. What is stored is what the next start begins with.
type queueConf struct {
	mutable bool
	store   confstore.Store // nil: the scheduler has no queue file

	changing sync.Mutex // is held from the check of a change until it is in force or refused
	kept     atomic.Pointer[confstore.State]
	// extra are properties that the store lacks and the queue file had when the term began. They are in force until the next change.
	//
	// compat: Apache's scheduler starts on the store's values laid over the file's, but for lists of queues.
	extra  atomic.Pointer[extras]
	broken error         // why nothing can be changed any more; else nil; guarded by changing
	tried  chan struct{} // has an element when a trial has begun or ended
}

type extras struct{ values map[string]string }

const queueFileName = "capacity-scheduler.xml"

// openQueueConf opens what keeps the configuration and decides what it is to be.
func (t *term) openQueueConf(ctx context.Context) error {
	if t.settings.Allocation.Scheduler != "capacity" {
		return nil
	}
	q := &t.queues
	q.mutable = t.settings.QueueConf.Store != "file"
	var err error
	if q.store, err = t.openConfStore(ctx); err != nil {
		return fmt.Errorf("cannot keep the configuration of the queues: %w", err)
	}
	kept, err := q.store.Load(ctx)
	if err != nil {
		return err
	}
	return t.beginQueueConf(ctx, kept)
}

// openConfStore opens the store that yarn.scheduler.configuration.store.class names, or the one of the history alone.
func (t *term) openConfStore(ctx context.Context) (confstore.Store, error) {
	s := &t.settings.QueueConf
	switch s.Store {
	case "file":
		if t.member != nil {
			return t.replicatedConf(), nil
		}
		if s.History != "" {
			return confstore.OpenBolt(s.History)
		}
	case "bolt":
		if t.member != nil {
			t.Log.Info("the configuration of the queues is kept in the state store that the ResourceManagers keep together, not in one of LevelDB")
			return t.replicatedConf(), nil
		}
		path := filepath.Join(s.Path, confFile)
		t.Log.Info("the configuration of the queues is kept in the built-in store, not in one of LevelDB", "file", path)
		t.warnOfTemporary("the configuration of the queues", path, "every change since the first start would be lost with it",
			"set yarn.scheduler.configuration.leveldb-store.path to a directory on a disk that stays, and while the ResourceManager is down move its files there")
		return confstore.OpenBolt(path)
	case "fs":
		return t.openConfDirectory(ctx)
	case "zk":
		return t.openConfNodes(ctx)
	}
	return confstore.NewMemory(), nil
}

func (t *term) openConfDirectory(ctx context.Context) (confstore.Store, error) {
	s := &t.settings.QueueConf
	url, err := filesystem.ParseURL(s.Directory)
	if err != nil {
		return nil, fmt.Errorf("yarn.scheduler.configuration.fs.path: %w", err)
	}
	systems, err := t.fileSystems(t.site)
	if err != nil {
		return nil, err
	}
	if u := systems.Resolve(url); strings.EqualFold(u.Scheme, "file") {
		t.warnOfTemporary("the configuration of the queues", u.Path, "every change since the first start would be lost with it",
			"set yarn.scheduler.configuration.fs.path to a directory on a disk that stays, or on hdfs://, and while the ResourceManager is down move its files there")
	}
	return confstore.OpenFS(ctx, confstore.FSOptions{Systems: systems, URL: url, User: t.User, Versions: s.Versions})
}

func (t *term) openConfNodes(ctx context.Context) (confstore.Store, error) {
	z := &t.settings.ZooKeeper
	if z.Address == "" {
		return nil, errors.New("yarn.scheduler.configuration.store.class is zk, and hadoop.zk.address says where no ZooKeeper is: set it to host:port,…")
	}
	text, err := zookeeper.Indirect(z.ACL)
	if err != nil {
		return nil, fmt.Errorf("hadoop.zk.acl: %w", err)
	}
	acl, err := zookeeper.ParseACL(text)
	if err != nil {
		return nil, fmt.Errorf("hadoop.zk.acl: %w", err)
	}
	if text, err = zookeeper.Indirect(z.Auth); err != nil {
		return nil, fmt.Errorf("hadoop.zk.auth: %w", err)
	}
	auth, err := zookeeper.ParseAuth(text)
	if err != nil {
		return nil, fmt.Errorf("hadoop.zk.auth: %w", err)
	}
	conn, err := t.openZooKeeper(zookeeper.Options{Address: z.Address, Session: z.Session, Auth: auth, MaxRequest: z.MaxRequest,
		Log: zooKeeperLog(t.Log)})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, zooKeeperPatience)
	defer cancel()
	return confstore.OpenZK(ctx, confstore.ZKOptions{Conn: conn, Parent: t.settings.QueueConf.Parent, ACL: acl,
		Retries: z.Retries, Interval: z.RetryInterval, Warn: func(text string) { t.Log.Warn(text) }})
}

// zooKeeperPatience bounds the wait for ZooKeeper when a term begins, and for each change.
const zooKeeperPatience = time.Minute

// confFile is the built-in store's file, in the directory that was LevelDB's.
const confFile = "scheduler-conf.bolt"

// beginQueueConf compares what is kept with the queue file.
func (t *term) beginQueueConf(ctx context.Context, kept *confstore.State) error {
	q := &t.queues
	file, err := t.readQueueFile()
	if err != nil {
		return err
	}
	next := kept.Clone()
	q.extra.Store(&extras{})
	q.tried = make(chan struct{}, 1)
	read := confstore.Version{User: t.User, At: t.started, Source: confstore.FromFile}
	digest := confstore.Digest(file)
	switch {
	case kept.Version == 0:
		read.Reason = "first start"
		next.Accept(file, read)
	case q.mutable:
		extra := map[string]string{}
		for name, value := range file {
			if _, is := kept.Values[name]; !is && !strings.HasSuffix(name, ".queues") {
				extra[name] = value
			}
		}
		q.extra.Store(&extras{extra})
		if n := len(extra); n > 0 {
			t.Log.Warn("the queue file has properties that the store of the queues' configuration lacks: they are in force until the next change, as in Hadoop", "properties", n, "file", queueFileName)
		}
	case kept.File != digest && len(confstore.Diff(kept.Values, file)) > 0:
		read.Reason = "the file had changed when the ResourceManager started"
		next.Accept(file, read)
	}
	next.File = digest
	if trial := next.Trial; trial != nil && trial.Deadline <= time.Now().UnixMilli() {
		values, err := next.At(trial.Before)
		if err != nil {
			return fmt.Errorf("cannot take back a change of the queues that nobody has confirmed: %w", err)
		}
		back := expired(t.User, *trial)
		back.At = t.started
		next.Accept(values, back)
		next.Trial = nil
		t.Log.Warn("a change of the queues that nobody has confirmed is taken back", "version", trial.Version, "before", trial.Before)
	}
	if next.Version != kept.Version || next.File != kept.File {
		if err := q.store.Commit(ctx, kept.Version, next); err != nil {
			return fmt.Errorf("cannot keep the configuration of the queues: %w", err)
		}
	}
	q.kept.Store(next)
	return nil
}

// readQueueFile reads the queue file alone, with its values as they are written.
func (t *term) readQueueFile() (map[string]string, error) {
	p, err := conf.Load(conf.Options{Dir: t.Dir, Files: []string{queueFileName}, NoDefaults: true})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, v := range p.All() {
		out[v.Name] = v.Raw
	}
	return out, nil
}

// loadQueues lays properties over those of the site files, as if they were in a queue file.
func loadQueues(site *conf.Properties, values map[string]string, name string) (*conf.Properties, error) {
	return conf.Load(conf.Options{Base: site, Files: []string{name}, Read: func(string) ([]byte, error) {
		var b bytes.Buffer
		b.WriteString("<configuration>\n")
		for _, s := range settingsOf(values) {
			b.WriteString("<property><name>")
			_ = encoding.EscapeText(&b, []byte(s.Key))
			b.WriteString("</name><value>")
			_ = encoding.EscapeText(&b, []byte(s.Value))
			b.WriteString("</value></property>\n")
		}
		b.WriteString("</configuration>\n")
		return b.Bytes(), nil
	}})
}

// queueProperties are the properties of the queues that a start begins with, over those of the site files, and the name of where they are.
func (t *term) queueProperties(site *conf.Properties, refresh bool) (*conf.Properties, string, error) {
	file := filepath.Join(t.Dir, queueFileName)
	kept := t.queues.kept.Load()
	if refresh || kept == nil || !t.queues.mutable && kept.File == confstore.Digest(kept.Values) { // as they are in the file, which has lines to name
		queues, err := conf.Load(conf.Options{Base: site, Files: []string{file}})
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: the CapacityScheduler needs this file, which says what queues there are. Copy it from the former cluster, or begin with the one in etc/hadoop of the package", err)
		}
		return queues, file, err
	}
	values := t.queueValues(kept)
	name := versionName(kept.Version)
	queues, err := loadQueues(site, values, name)
	return queues, name, err
}

// versionName is what stands where a file would, in findings about a version.
func versionName(version int64) string {
	return fmt.Sprintf("version %d of the queues' configuration", version)
}

// proposal is a change that somebody wants.
type proposal struct {
	who     confstore.Version // with User, Source and Reason
	expect  int64             // the version that must be in force; 0: any
	confirm time.Duration     // 0: it needs no confirmation
	// values makes the next configuration of the present one; updates are for the log, nil: all that changes.
	values func(now map[string]string) (values map[string]string, updates map[string]*string, err error)
	forget bool   // the log begins anew
	file   string // digest of the queue file, where that was read; else ""
	ends   bool   // it may be made while another one is on trial, which it ends
	made   *int64 // is set to the version; may be nil
}

// errUnknown tells that a change may have been stored.
var errUnknown = errors.New("it is not known whether the change was stored. It is not in force; it may be after the next start of the ResourceManager. Nothing more can be changed until then")

// propose checks, stores and applies a change. An error that is a *proposalError is a refusal, after which all is as before.
func (t *term) propose(ctx context.Context, p proposal) error {
	q := &t.queues
	q.changing.Lock()
	defer q.changing.Unlock()
	return t.proposeLocked(ctx, p)
}

func (t *term) proposeLocked(ctx context.Context, p proposal) error {
	q := &t.queues
	if q.broken != nil {
		return q.broken
	}
	now := q.kept.Load()
	if now.Trial != nil && !p.ends {
		return &onTrial{*now.Trial}
	}
	if p.expect != 0 && p.expect != now.Version {
		return &confstore.ConflictError{Expected: p.expect, Found: now.Version}
	}
	values, updates, err := p.values(now.Values)
	if err != nil {
		return err
	}
	if updates == nil {
		updates = updatesOf(confstore.Diff(now.Values, values))
	}
	p.who.At = time.Now().UnixMilli()
	attempt := confstore.Attempt{User: p.who.User, At: p.who.At, Updates: updates}
	asked := values
	if p.ends {
		asked = stopping(now.Values, values)
	}
	cfg, err := t.checkQueues(ctx, asked, now.Version+1)
	if err != nil {
		t.logRefused(ctx, now, attempt, err)
		return err
	}
	next := now.Clone()
	next.Accept(values, p.who)
	next.Trial = nil
	if p.confirm > 0 {
		next.Trial = &confstore.Trial{Version: next.Version, Before: now.Version, User: p.who.User, Deadline: p.who.At + p.confirm.Milliseconds()}
	}
	if p.forget {
		next.Attempts = nil
	} else {
		next.Note(attempt, t.settings.QueueConf.MaxLogs)
	}
	if p.file != "" {
		next.File = p.file
	}
	if err := t.storeQueues(ctx, now, next); err != nil {
		return err
	}
	if err := t.applyQueues(cfg); err != nil { // something has changed since the check
		if back := t.storeQueues(ctx, next, now); back != nil {
			q.broken = fmt.Errorf("a change that was refused (%w) could not be taken back: %w", err, back)
			t.Log.Error("nothing more can be changed about the queues until the next start, which will try the refused change again", "error", q.broken)
		}
		t.logRefused(ctx, now, attempt, err)
		return withoutLines(err)
	}
	if p.ends { // without what was only there to stop queues
		cfg, err := t.checkQueues(ctx, values, next.Version)
		if err == nil {
			err = t.applyQueues(cfg)
		}
		if err != nil {
			t.Log.Warn("queues that are gone are still configured as stopped", "error", err)
		}
	}
	q.extra.Store(&extras{})
	q.kept.Store(next)
	if p.made != nil {
		*p.made = next.Version
	}
	select {
	case q.tried <- struct{}{}:
	default:
	}
	t.Log.Info("the queues' configuration has changed", "version", next.Version, "user", p.who.User, "source", p.who.Source, "reason", p.who.Reason,
		"properties", len(next.History[len(next.History)-1].Changes))
	return nil
}

// stopping are values with which queues that are gone may run: to go back behind the adding of a queue needs no more than that nobody is in it.
func stopping(now, values map[string]string) map[string]string {
	out := maps.Clone(values)
	there := queuePaths(values)
	for path := range queuePaths(now) {
		if !there[path] {
			out[config.Prefix+path+".state"] = queue.Stopped.String()
		}
	}
	return out
}

// queuePaths are the queues of a configuration.
func queuePaths(values map[string]string) map[string]bool {
	out := map[string]bool{}
	for next := []string{queue.Root}; len(next) > 0; next = next[1:] {
		for name := range strings.SplitSeq(values[config.Prefix+next[0]+".queues"], ",") {
			if path := next[0] + "." + strings.TrimSpace(name); strings.TrimSpace(name) != "" && !out[path] {
				out[path] = true
				next = append(next, path)
			}
		}
	}
	return out
}

// updatesOf are changes as the log keeps them.
func updatesOf(changes []confstore.Change) map[string]*string {
	out := map[string]*string{}
	for _, c := range changes {
		out[c.Name] = c.New
	}
	return out
}

// checkQueues makes a configuration and asks whether it could be put in force now.
func (t *term) checkQueues(ctx context.Context, values map[string]string, version int64) (*config.Config, error) {
	if len(values) > confstore.MaxValues {
		return nil, fmt.Errorf("Failed to re-init queues : there are %d properties, at most %d are taken", len(values), confstore.MaxValues)
	}
	site, err := t.Load()
	if err != nil {
		return nil, err
	}
	queues, err := loadQueues(site, values, versionName(version))
	if err != nil {
		return nil, fmt.Errorf("Failed to re-init queues : %w", err)
	}
	cfg, err := t.scheduleOf(site, queues)
	if err != nil {
		return nil, withoutLines(fmt.Errorf("Failed to re-init queues : %w", err))
	}
	_, err = t.ask(ctx, func(k engine.Ticket) engine.Command {
		return engine.RefreshQueues{Ticket: k, Config: cfg, DryRun: true}
	})
	return cfg, withoutLines(err)
}

var linesOfVersion = regexp.MustCompile(`(version \d+ of the queues' configuration):\d+:\d+`)

// withoutLines drops lines and columns, which a version has not where anybody could look.
func withoutLines(err error) error {
	if err == nil || !linesOfVersion.MatchString(err.Error()) {
		return err
	}
	return errors.New(linesOfVersion.ReplaceAllString(err.Error(), "$1"))
}

// storeQueues stores the next state in place of the present one.
func (t *term) storeQueues(ctx context.Context, now, next *confstore.State) error {
	q := &t.queues
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), zooKeeperPatience) // who has left must not leave a change half made
	defer cancel()
	err := q.store.Commit(ctx, now.Version, next)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, confstore.ErrFenced), errors.As(err, new(*confstore.ConflictError)): // somebody else has written
		q.broken = fmt.Errorf("%w: %w", confstore.ErrFenced, err)
		t.fail(q.broken)
		return q.broken
	}
	found, again := q.store.Load(ctx)
	if again == nil && found.Version == next.Version {
		return nil
	}
	if again != nil {
		q.broken = fmt.Errorf("%w: %w", errUnknown, err)
		return q.broken
	}
	return fmt.Errorf("the change could not be stored, and is not in force: %w", err)
}

// logRefused keeps a refused change in the log.
func (t *term) logRefused(ctx context.Context, now *confstore.State, a confstore.Attempt, why error) {
	if t.queues.broken != nil {
		return
	}
	a.Refused = why.Error()
	next := now.Clone()
	next.Note(a, t.settings.QueueConf.MaxLogs)
	if err := t.storeQueues(ctx, now, next); err != nil {
		t.Log.Warn("a refused change of the queues is missing in the log of changes", "error", err)
		return
	}
	t.queues.kept.Store(next)
}

// applyQueues puts a configuration in force. It waits for the answer as long as the term lasts.
func (t *term) applyQueues(cfg *config.Config) error {
	prepared := t.prepareQueues(cfg)
	_, err := t.ask(t.running, func(k engine.Ticket) engine.Command {
		return engine.RefreshQueues{Ticket: k, Config: cfg, Prepared: prepared}
	})
	if err == nil {
		t.access.schedule.Store(cfg)
	}
	return err
}

// noteRefresh keeps a refresh of the queue file, which is in force, in the history.
func (t *term) noteRefresh(user string) {
	q := &t.queues
	if q.store == nil || q.broken != nil {
		return
	}
	file, err := t.readQueueFile()
	now := q.kept.Load()
	if err == nil {
		next := now.Clone()
		if len(confstore.Diff(now.Values, file)) > 0 {
			next.Accept(file, confstore.Version{User: user, At: time.Now().UnixMilli(), Source: confstore.FromFile, Reason: "refreshQueues"})
		}
		next.File = confstore.Digest(file)
		if err = t.storeQueues(t.running, now, next); err == nil {
			q.kept.Store(next)
		}
	}
	if err != nil {
		t.Log.Warn("the queues were refreshed, and the history of their configuration does not have it", "error", err)
	}
}

// zooKeeperLog logs each text of a connection, whatever numbers are in it, at most once a minute at INFO and otherwise at DEBUG: while a
// server is down, the client logs a failure every second.
func zooKeeperLog(log *slog.Logger) func(text string) {
	var limit seldom.Limit
	return func(text string) {
		level := slog.LevelDebug
		if limit.Pass(digits.ReplaceAllString(text, "")) {
			level = slog.LevelInfo
		}
		log.Log(context.Background(), level, text, "logger", "zookeeper")
	}
}

var digits = regexp.MustCompile(`[0-9]+`)
