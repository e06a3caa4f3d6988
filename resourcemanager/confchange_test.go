package resourcemanager

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/wire/pb"
)

var admin1 = webgate.Caller{User: operator, Address: "127.0.0.1"}

const capacityPrefix = "yarn.scheduler.capacity."

func mutableWorld(t testing.TB, changes ...string) *world {
	w := newWorld(t, twoQueues, append([]string{confStoreClass, "leveldb", "yarn.scheduler.configuration.leveldb-store.path", filepath.Join(t.TempDir(), "confstore")}, changes...)...)
	return w
}

func (w *world) conf() access.QueueConf {
	w.t.Helper()
	c, err := w.d.QueueConf()
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// again starts the daemon another time on what it has kept.
func (w *world) again() {
	w.t.Helper()
	w.d.Stop()
	d, err := w.start()
	if err != nil {
		w.t.Fatal(err)
	}
	w.d = d
	w.t.Cleanup(d.Stop)
}

// agree fails unless store, version, history and scheduler have the same.
func (w *world) agree() (version int64, values map[string]string) {
	w.t.Helper()
	term := w.term()
	term.queues.changing.Lock() // not in the middle of a change
	defer term.queues.changing.Unlock()
	kept := term.queues.kept.Load()
	if n := len(kept.History); n == 0 || kept.History[n-1].Number != kept.Version {
		w.t.Fatalf("version %d, history %+v", kept.Version, kept.History)
	}
	used := map[string]string{}
	for _, p := range term.access.schedule.Load().Properties() {
		if strings.HasPrefix(p.Name, capacityPrefix) {
			used[p.Name] = p.Value
		}
	}
	want := map[string]string{}
	for k, v := range term.queueValues(kept) {
		if strings.HasPrefix(k, capacityPrefix) {
			want[k] = v
		}
	}
	if !maps.Equal(used, want) {
		w.t.Fatalf("version %d is %v, and the scheduler uses %v", kept.Version, want, used)
	}
	return kept.Version, kept.Values
}

func setting(key, value string) config.Mutation {
	return config.Mutation{Global: []config.Setting{{Key: capacityPrefix + key, Value: value}}}
}

func addQueue(path, capacity string) config.Mutation {
	return config.Mutation{Add: []config.QueueChange{{Path: path, Settings: []config.Setting{{Key: "capacity", Value: capacity}}}}}
}

func status(err error) int {
	if r, ok := err.(*access.Refused); ok { //nolint:errorlint // it is what the web server looks for
		return r.Status
	}
	return 0
}

// TestQueueHistory: every accepted change is a version that can be compared and gone back to, over a restart.
func TestQueueHistory(t *testing.T) {
	w := mutableWorld(t)
	ctx := t.Context()
	change := func(m config.Mutation, how access.Change) {
		t.Helper()
		if err := w.conf().Change(ctx, admin1, m, how); err != nil {
			t.Fatal(err)
		}
	}
	change(setting("root.default.maximum-applications", "7"), access.Change{Reason: "too many"})
	change(addQueue("root.third", "0"), access.Change{Expect: 2})
	if err := w.conf().Change(ctx, admin1, setting("root.default.maximum-applications", "8"), access.Change{Expect: 2}); status(err) != 412 {
		t.Errorf("a change of a version that is not in force: %v", err)
	}
	if err := w.conf().Change(ctx, admin1, setting("root.default.capacity", "99"), access.Change{}); status(err) != 400 {
		t.Errorf("a bad change: %v", err)
	}
	w.agree()
	w.again()
	h, err := w.conf().History(ctx, admin1)
	if err != nil || h.Version != 3 || len(h.Versions) != 3 || h.Versions[1].Reason != "too many" || h.Versions[1].User != operator || h.Versions[1].At == 0 {
		t.Fatalf("%+v %v", h, err)
	}
	if len(h.Refused) != 1 || !strings.Contains(h.Refused[0].Why, "Failed to re-init queues") {
		t.Errorf("refused: %+v", h.Refused)
	}
	if len(h.Drift) == 0 {
		t.Error("the queue file is said to be what is in force")
	}
	diff, err := w.conf().Diff(ctx, admin1, "1", "2")
	if err != nil || len(diff) != 1 || diff[0].Name != capacityPrefix+"root.default.maximum-applications" || diff[0].From != nil || *diff[0].To != "7" {
		t.Errorf("%+v %v", diff, err)
	}
	made, err := w.conf().Rollback(ctx, admin1, 1, access.Change{}) // the added queue runs, and is empty
	if err != nil || made != 4 {
		t.Fatalf("%d %v", made, err)
	}
	if diff, err := w.conf().Diff(ctx, admin1, "1", "4"); err != nil || len(diff) != 0 {
		t.Errorf("%+v %v", diff, err)
	}
	if _, err := w.conf().Rollback(ctx, admin1, 9, access.Change{}); err == nil {
		t.Error("a version that is to come is in force again")
	}
	w.agree()
	w.again()
	if version, values := w.agree(); version != 4 || values[capacityPrefix+"root.queues"] != "default,other" {
		t.Errorf("version %d %v", version, values)
	}
}

// TestQueueFileHistory: where the queue file says what the queues are, each refresh and each start with another file is a version, and who changed
// the configuration last has the say.
func TestQueueFileHistory(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.resourcemanager.heddle.configuration-history.path", filepath.Join(t.TempDir(), "history"))
	ctx := t.Context()
	root := w.admin(operator)
	file := func(most string) {
		w.writeQueues(queueFile(twoQueues + "\n root.default.maximum-applications " + most))
	}
	file("5")
	if h, err := w.conf().History(ctx, admin1); err != nil || h.Mutable || len(h.Drift) != 1 || h.Version != 1 {
		t.Fatalf("%+v %v", h, err)
	}
	must(root, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
	must(root, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{}) // which changes nothing
	h, err := w.conf().History(ctx, admin1)
	if err != nil || h.Version != 2 || len(h.Drift) != 0 || h.Versions[1].User != operator || h.Versions[1].Source != confstore.FromFile {
		t.Fatalf("%+v %v", h, err)
	}
	if err := w.conf().Change(ctx, admin1, setting("a", "b"), access.Change{}); status(err) != 400 {
		t.Errorf("a change over REST: %v", err)
	}
	if n, err := w.conf().Rollback(ctx, admin1, 1, access.Change{}); err != nil || n != 3 {
		t.Fatalf("%d %v", n, err)
	}
	w.agree()
	w.again() // the file is as it was when it was read
	if version, values := w.agree(); version != 3 || values[capacityPrefix+"root.default.maximum-applications"] != "" {
		t.Errorf("version %d %v", version, values)
	}
	file("6")
	w.again()
	if version, values := w.agree(); version != 4 || values[capacityPrefix+"root.default.maximum-applications"] != "6" {
		t.Errorf("version %d %v", version, values)
	}
}

// TestTrial: a change that is not confirmed is taken back, by this ResourceManager or the next; nothing else is changed meanwhile.
func TestTrial(t *testing.T) {
	w := mutableWorld(t)
	ctx := t.Context()
	_, first := w.agree()
	apply := func(within time.Duration) int64 {
		t.Helper()
		values := settingsOf(first)
		values = append(values, config.Setting{Key: capacityPrefix + "root.third.capacity", Value: "0"})
		for i := range values {
			if values[i].Key == capacityPrefix+"root.queues" {
				values[i].Value = "default,other,third"
			}
		}
		n, err := w.conf().Apply(ctx, admin1, values, access.Change{Confirm: within})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	gone := func(version int64) {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			if got, values := w.agree(); got == version && maps.Equal(values, first) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("it is not taken back: %+v", w.term().queues.kept.Load())
			}
		}
		if w.term().queues.kept.Load().Trial != nil {
			t.Error("the trial goes on")
		}
	}
	n := apply(time.Hour)
	if err := w.conf().Change(ctx, admin1, setting("root.default.maximum-applications", "7"), access.Change{}); status(err) != 409 {
		t.Errorf("a change while another one is on trial: %v", err)
	}
	if _, err := w.conf().Confirm(ctx, admin1, access.Change{Expect: n + 1}); status(err) != 412 {
		t.Errorf("the confirmation of another version: %v", err)
	}
	w.again() // it is still on trial
	if got, err := w.conf().Confirm(ctx, admin1, access.Change{}); err != nil || got != n {
		t.Fatalf("%d %v", got, err)
	}
	if _, err := w.conf().Confirm(ctx, admin1, access.Change{}); status(err) != 409 {
		t.Errorf("a second confirmation: %v", err)
	}
	if _, err := w.conf().Rollback(ctx, admin1, 1, access.Change{}); err != nil {
		t.Fatal(err)
	}
	n = apply(time.Second)
	gone(n + 1)
	n = apply(time.Hour)
	back, err := w.conf().Rollback(ctx, admin1, n-1, access.Change{}) // which ends the trial
	if err != nil || back != n+1 {
		t.Fatalf("%d %v", back, err)
	}
	n = apply(time.Second)
	w.d.Stop()
	time.Sleep(1100 * time.Millisecond)
	w.again()
	gone(n + 1)
}

// watched is a store that a test looks at after each commit, when nothing has happened after it.
type watched struct {
	confstore.Store
	after *atomic.Pointer[func()]
}

func (s *watched) Commit(ctx context.Context, was int64, next *confstore.State) error {
	err := s.Store.Commit(ctx, was, next)
	if f := s.after.Load(); f != nil {
		(*f)()
	}
	return err
}

// TestQueueChangesRandom: whatever is changed, refused or taken back, version, store and scheduler agree; also in a ResourceManager that starts on
// what was on the disk between the storing of a change and its taking effect.
func TestQueueChangesRandom(t *testing.T) {
	w := mutableWorld(t)
	var after atomic.Pointer[func()]
	dir := w.site["yarn.scheduler.configuration.leveldb-store.path"]
	var copies atomic.Int64
	watch := func() { w.term().queues.store = &watched{w.term().queues.store, &after} }
	watch()
	crashes := t.TempDir()
	crash := func() {
		to := filepath.Join(crashes, fmt.Sprint(copies.Add(1)))
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Error(err)
		}
	}
	checked := int64(0)
	checks := flag.Lookup("rapid.checks")
	defer func(was string) { _ = checks.Value.Set(was) }(checks.Value.String())
	if err := checks.Value.Set("30"); err != nil { // each change waits for the disk
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		after.Store(&crash)
		w.t = t
		for range rapid.IntRange(1, 3).Draw(rt, "changes") {
			before := w.term().queues.kept.Load()
			m := draw(rt, before.Values)
			want, refused := expectedValues(before.Values, m)
			err := w.conf().Change(t.Context(), admin1, m, access.Change{})
			version, values := w.agree()
			switch {
			case err != nil && (version != before.Version || !maps.Equal(values, before.Values)):
				rt.Fatalf("%+v was refused (%v), and version %d became %d: %v", m, err, before.Version, version, values)
			case err == nil && refused:
				rt.Fatalf("%+v was taken", m)
			case err == nil && (version != before.Version+1 || !maps.Equal(values, want)):
				rt.Fatalf("%+v made version %d of %d: %v, want %v", m, version, before.Version, values, want)
			}
		}
	})
	after.Store(nil)
	final, values := w.agree()
	for i := max(1, copies.Load()-5); i <= copies.Load(); i++ { // a crash between a change's storing and its taking effect
		w.set("yarn.scheduler.configuration.leveldb-store.path", filepath.Join(crashes, fmt.Sprint(i)))
		w.again()
		version, there := w.agree()
		if version < checked || version > final || version == final && !maps.Equal(there, values) {
			t.Fatalf("after a crash version %d is in force, after %d and before %d", version, checked, final)
		}
		checked = version
	}
	if copies.Load() < 20 || checked != final {
		t.Errorf("%d commits, the last one with version %d of %d", copies.Load(), checked, final)
	}
}

// cutOff is a store whose ResourceManager is killed when a change is about to be stored, or when it has just been.
type cutOff struct {
	confstore.Store
	before, after bool
}

var errKilled = errors.New("killed")

func (s *cutOff) Commit(ctx context.Context, was int64, next *confstore.State) error {
	if s.before {
		return errKilled
	}
	if err := s.Store.Commit(ctx, was, next); err != nil || !s.after {
		return err
	}
	return errKilled
}

// TestQueueChangesKilled: with each store version, store and scheduler agree over random changes, between and in the middle of which the
// ResourceManager ends and another one starts: what was stored is in force, and all of it. Each run of rapid is one to four changes
// (-rapid.checks=400: about 1,000 for each store).
func TestQueueChangesKilled(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	defer func(was string) { _ = checks.Value.Set(was) }(checks.Value.String())
	if checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("12"); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"leveldb", "fs", "zk"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorldIn(t, zookeepertest.New(), twoQueues, confStoreClass, kind, "yarn.scheduler.configuration.leveldb-store.path", t.TempDir(),
				"yarn.scheduler.configuration.fs.path", "file://"+t.TempDir(), "hadoop.zk.address", "zk:2181")
			changes, killed := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				w.t = t
				for range rapid.IntRange(1, 4).Draw(rt, "changes") {
					changes++
					killed += w.changeOrDie(rt)
				}
			})
			t.Logf("%d changes, %d of them killed", changes, killed)
		})
	}
}

// changeOrDie makes one change; in one of three it is killed in the middle.
func (w *world) changeOrDie(rt *rapid.T) (killed int) {
	before := w.term().queues.kept.Load()
	m := draw(rt, before.Values)
	want, refused := expectedValues(before.Values, m)
	when := rapid.IntRange(0, 5).Draw(rt, "killed")
	cut := &cutOff{Store: w.term().queues.store, before: when == 1, after: when == 2}
	w.term().queues.store = cut
	err := w.conf().Change(w.t.Context(), admin1, m, access.Change{})
	w.term().queues.store = cut.Store
	taken := err == nil
	if when == 1 {
		w.agree() // nothing is in force that is not stored
	}
	if when == 1 || when == 2 {
		killed = 1
		w.again()
		taken = w.term().queues.kept.Load().Version != before.Version
	}
	version, values := w.agree()
	switch {
	case taken && (refused || when == 1):
		rt.Fatalf("%+v was taken (killed at %d)", m, when)
	case taken && (version != before.Version+1 || !maps.Equal(values, want)):
		rt.Fatalf("%+v made version %d of %d: %v, want %v", m, version, before.Version, values, want)
	case !taken && (version != before.Version || !maps.Equal(values, before.Values)):
		rt.Fatalf("%+v was not taken (%v, killed at %d), and version %d became %d: %v", m, err, when, before.Version, version, values)
	}
	return killed
}

// draw is a change that may be refused.
func draw(t *rapid.T, values map[string]string) (m config.Mutation) {
	leaf := rapid.SampledFrom([]string{"root.default", "root.other", "root.a", "root.b"}).Draw(t, "queue")
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		m = addQueue(leaf, rapid.SampledFrom([]string{"0", "5"}).Draw(t, "capacity"))
	case 1:
		m = config.Mutation{Remove: []string{leaf}}
		if rapid.Bool().Draw(t, "stopped") {
			m.Update = []config.QueueChange{{Path: leaf, Settings: []config.Setting{{Key: "state", Value: "STOPPED"}}}}
		}
	case 2:
		m = config.Mutation{Update: []config.QueueChange{{Path: leaf, Settings: []config.Setting{{Key: "maximum-applications",
			Value: rapid.SampledFrom([]string{"", "1", "10", "x"}).Draw(t, "most")}}}}}
	case 3:
		n := rapid.IntRange(0, 100).Draw(t, "share")
		m = config.Mutation{Update: []config.QueueChange{{Path: "root.default", Settings: []config.Setting{{Key: "capacity", Value: fmt.Sprint(n)}}},
			{Path: "root.other", Settings: []config.Setting{{Key: "capacity", Value: fmt.Sprint(100 - n)}}}}}
	default:
		m = setting("maximum-am-resource-percent", rapid.SampledFrom([]string{"0.5", "1", "many", ""}).Draw(t, "share"))
	}
	return m
}

// expectedValues are those that a change makes if it is taken; refused: it cannot be.
func expectedValues(values map[string]string, m config.Mutation) (want map[string]string, refused bool) {
	updates, err := m.Updates(values)
	if err != nil {
		return nil, true
	}
	return config.Apply(values, updates), false
}

// TestQueueHistoryOverHTTP: the answers of what Hadoop does not have.
func TestQueueHistoryOverHTTP(t *testing.T) {
	w := mutableWorld(t)
	body := `{"update-queue":{"queue-name":"root.default","params":{"entry":{"key":"maximum-applications","value":3}}}}`
	if s, _, text := w.asked("PUT", "/scheduler-conf", operator, "application/json", "application/json", &body); s != 200 {
		t.Fatal(s, text)
	}
	_, _, text := w.asked("GET", "/scheduler-conf/history", operator, "application/json", "", nil)
	var answer struct {
		SchedulerConfHistory struct {
			Version  int64
			Mutable  bool
			Accepted []struct {
				Version int64
				Source  string
				Change  []map[string]string
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	h := answer.SchedulerConfHistory
	if h.Version != 2 || !h.Mutable || len(h.Accepted) != 2 || h.Accepted[1].Source != "api" || h.Accepted[1].Change[0]["to"] != "3" {
		t.Errorf("%s", text)
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/scheduler-conf/diff", 400}, {"PUT", "/scheduler-conf/rollback", 400}, {"PUT", "/scheduler-conf/apply", 400}, {"PUT", "/scheduler-conf/confirm", 409}} {
		if s, _, text := w.asked(c.method, c.path, operator, "application/json", "application/json", nil); s != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, s, text)
		}
	}
}

// TestFormatConfStore: the queue file counts again, and what was before stays in the history.
func TestFormatConfStore(t *testing.T) {
	w := mutableWorld(t)
	if err := w.conf().Change(t.Context(), admin1, setting("root.default.maximum-applications", "7"), access.Change{}); err != nil {
		t.Fatal(err)
	}
	format := func() (string, error) {
		var out strings.Builder
		err := FormatConfStore(Options{Load: w.load, Dir: w.dir, User: operator, Log: slog.New(slog.DiscardHandler)}, &out)
		return out.String(), err
	}
	if text, err := format(); err == nil {
		t.Errorf("it is formatted while it is used: %s", text)
	}
	w.d.Stop()
	if text, err := format(); err != nil || !strings.Contains(text, "version 3") {
		t.Fatalf("%s %v", text, err)
	}
	w.again()
	if version, values := w.agree(); version != 3 || values[capacityPrefix+"root.default.maximum-applications"] != "" {
		t.Errorf("version %d %v", version, values)
	}
	w.d.Stop()
	file := filepath.Join(w.site["yarn.scheduler.configuration.leveldb-store.path"], confFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(text) / 4; i < len(text)/2; i += 64 {
		text[i] ^= 1
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.start(); err == nil || !strings.Contains(err.Error(), "-format-conf-store") {
		t.Fatalf("a start on a damaged store: %v", err)
	}
	if text, err := format(); err != nil || !strings.Contains(text, "damaged") {
		t.Fatalf("%s %v", text, err)
	}
	w.again()
	if version, _ := w.agree(); version != 1 {
		t.Errorf("version %d", version)
	}
}

// TestPlan: what a configuration would change, without changing it.
func TestPlan(t *testing.T) {
	w := mutableWorld(t)
	n := w.newNode() // 8 GB
	alice := w.as("alice")
	running := alice.submit()
	until(t, "the master's container", func() bool {
		n.beat()
		c, err := w.d.Cluster(t.Context(), view.Queues)
		if err != nil {
			t.Fatal(err)
		}
		q, _ := c.Queues.ByPath("root.default")
		return !q.Default.Used.IsZero()
	})
	other := alice.submit()
	alice.reaches(other, pb.YarnApplicationState_ACCEPTED)
	_, values := w.agree()
	with := func(changes ...string) access.Plan {
		t.Helper()
		all := maps.Clone(values)
		for i := 0; i < len(changes); i += 2 {
			all[capacityPrefix+changes[i]] = changes[i+1]
		}
		p, err := w.conf().Plan(t.Context(), admin1, settingsOf(all))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	kinds := func(p access.Plan) (out []string) {
		for _, f := range p.Findings {
			out = append(out, f.Kind+" "+f.Queue)
		}
		return out
	}
	if p := with(); p.Refusal != "" || len(p.Changes)+len(p.Findings) != 0 || len(p.Queues) != 3 || *p.Queues[0].Before != *p.Queues[0].After {
		t.Errorf("no change at all: %+v", p)
	}
	p := with("root.default.capacity", "25", "root.other.capacity", "75")
	if len(p.Changes) != 2 || len(p.Queues) != 3 || p.Queues[1].Path != "root.default" || p.Queues[1].Before.Min[0] != 4096 || p.Queues[1].After.Min[0] != 2048 ||
		p.Queues[1].Before.Capacity != 50 || p.Queues[1].After.Capacity != 25 {
		t.Errorf("%+v", p)
	}
	p = with("root.default.capacity", "5", "root.other.capacity", "95", "root.default.maximum-capacity", "5", "root.default.maximum-applications", "1")
	if got := fmt.Sprint(kinds(p)); got != "[above-maximum root.default over-am-limit root.default over-maximum-applications root.default]" {
		t.Errorf("%s: %+v", got, p.Findings)
	}
	if last := p.Findings[len(p.Findings)-1]; len(last.Applications) != 1 || last.Applications[0] != other {
		t.Errorf("%+v, want %s beyond %s", last, other, running)
	}
	if p := with("root.default.capacity", "99"); !strings.HasPrefix(p.Refusal, "Failed to re-init queues : ") || len(p.Changes) != 1 || p.Queues != nil {
		t.Errorf("%+v", p)
	}
	if p := with("root.queues", "other", "root.other.capacity", "100"); !strings.Contains(p.Refusal, "removed") {
		t.Errorf("%+v", p)
	}
	if version, now := w.agree(); version != 1 || !maps.Equal(now, values) {
		t.Errorf("version %d %v", version, now)
	}
}
