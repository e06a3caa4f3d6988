package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/scheduler/config"
)

const (
	capacity  = "yarn.scheduler.capacity."
	queueConf = "/ws/v1/cluster/scheduler-conf"
	asUser    = "?user.name=operator"
)

// queueRun is random changes of queues, and what must have come of them.
type queueRun struct {
	*run
	random  *rand.Rand
	version int64
	values  map[string]string
	usual   time.Duration // how long a change takes
	http    http.Client   // waits for answers, however slow the machine is

	taken, refused, between, during, unanswered, survived int
}

// changes makes so many changes over REST. A third are followed by a kill -9 of the active ResourceManager, and a third are met by one. After each the version, the
// stored configuration and the scheduler's queues must agree: a change that was answered is there, whole; one that was refused is not; one without an answer is
// there, or not.
func (r *run) changes(n int, random *rand.Rand) error {
	if err := r.fleet.start(); err != nil {
		return err
	}
	q := &queueRun{run: r, random: random, usual: 10 * time.Millisecond, http: http.Client{Timeout: patience}}
	name, err := r.fleet.active(r.ctx, "")
	if err != nil {
		return err
	}
	if q.version, q.values, err = q.stored(name); err != nil {
		return err
	}
	for i := range n {
		if name, err = q.change(name); err != nil {
			err = fmt.Errorf("change %d: %w", i+1, err)
			break
		}
	}
	if err == nil && (q.taken < n/10 || q.refused < n/100) {
		err = fmt.Errorf("%d changes were taken and %d refused: nothing was tried", q.taken, q.refused)
	}
	r.verdict("queues", err, "%d changes, %d taken, %d refused, %d without an answer, of which %d are there; %d kills between changes and %d in the middle of one; version %d",
		n, q.taken, q.refused, q.unanswered, q.survived, q.between, q.during, q.version)
	r.fleet.stop()
	if r.failed > 0 {
		return fmt.Errorf("%d failed", r.failed)
	}
	return nil
}

// change makes one, and tells who is active after it.
func (q *queueRun) change(active string) (string, error) {
	m := q.draw()
	updates, impossible := m.Updates(q.values)
	want := maps.Clone(q.values)
	if impossible == nil {
		want = config.Apply(q.values, updates)
	}
	kill := q.random.IntN(3) // 0: none, 1: afterwards, 2: meanwhile
	status, answer, err := q.send(active, &m, kill == 2)
	if err != nil {
		return "", err
	}
	if kill > 0 {
		if kill == 1 {
			q.between++
			if err := q.fleet.kill(active); err != nil {
				return "", err
			}
		}
		if active, err = q.fleet.after(q.ctx, active); err != nil {
			return "", err
		}
	}
	version, values, err := q.stored(active)
	if err != nil {
		return "", err
	}
	is := version == q.version+1 && maps.Equal(values, want) && impossible == nil
	isNot := version == q.version && maps.Equal(values, q.values)
	switch {
	case status == http.StatusOK && is:
		q.taken++
	case status >= 400 && status < 500 && isNot:
		q.refused++
	case status == 0 && (is || isNot):
		q.unanswered++
		if is {
			q.survived++
		}
	default:
		return "", fmt.Errorf("%+v in version %d was answered %d (%.200s), kill %d; now it is version %d with %v, before it was %v", m, q.version, status, answer, kill, version, values, q.values)
	}
	q.version, q.values = version, values
	return active, q.inForce(active)
}

// draw is a change that may be refused.
func (q *queueRun) draw() (m config.Mutation) {
	one := func(of ...string) string { return of[q.random.IntN(len(of))] }
	set := func(path, key, value string) config.QueueChange {
		return config.QueueChange{Path: path, Settings: []config.Setting{{Key: key, Value: value}}}
	}
	leaf := one("root.default", "root.other", "root.a", "root.b", "root.c")
	switch q.random.IntN(6) {
	case 0, 1:
		m.Add = []config.QueueChange{set(leaf, "capacity", one("0", "0", "5"))}
	case 2:
		m.Remove = []string{leaf}
		if q.random.IntN(2) == 0 {
			m.Update = []config.QueueChange{set(leaf, "state", "STOPPED")}
		}
	case 3:
		m.Update = []config.QueueChange{set(leaf, "maximum-applications", one("", "1", "10", "x"))}
	case 4:
		n := q.random.IntN(101)
		m.Update = []config.QueueChange{set("root.default", "capacity", fmt.Sprint(n)), set("root.other", "capacity", fmt.Sprint(100-n))}
	default:
		m.Global = []config.Setting{{Key: capacity + "maximum-am-resource-percent", Value: one("0.5", "1", "many", "")}}
	}
	return m
}

// body is a change as Hadoop's clients write it.
func body(m *config.Mutation) ([]byte, error) {
	type entry struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	type entries struct {
		Entry []entry `json:"entry"`
	}
	type queue struct {
		Name   string  `json:"queue-name"`
		Params entries `json:"params"`
	}
	settings := func(list []config.Setting) (out entries) {
		for _, s := range list {
			out.Entry = append(out.Entry, entry{s.Key, s.Value})
		}
		return out
	}
	queues := func(list []config.QueueChange) (out []queue) {
		for _, c := range list {
			out = append(out, queue{c.Path, settings(c.Settings)})
		}
		return out
	}
	doc := map[string]any{}
	if len(m.Remove) > 0 {
		doc["remove-queue"] = m.Remove
	}
	if len(m.Add) > 0 {
		doc["add-queue"] = queues(m.Add)
	}
	if len(m.Update) > 0 {
		doc["update-queue"] = queues(m.Update)
	}
	if len(m.Global) > 0 {
		doc["global-updates"] = []entries{settings(m.Global)}
	}
	return json.Marshal(doc)
}

// send asks for a change, and kills whoever is asked meanwhile. Status 0: there was no answer.
func (q *queueRun) send(active string, m *config.Mutation, kill bool) (status int, answer string, err error) {
	text, err := body(m)
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(q.ctx, http.MethodPut, q.url(active, queueConf), bytes.NewReader(text))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	killed := make(chan error, 1)
	if kill {
		q.during++
		wait := time.Duration(q.random.Int64N(int64(q.usual)))
		go func() { time.Sleep(wait); killed <- q.fleet.kill(active) }()
	}
	began := time.Now()
	r, err := q.http.Do(request)
	if err == nil {
		b, readErr := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		_ = r.Body.Close()
		if status, answer, err = r.StatusCode, string(b), readErr; err == nil && !kill {
			q.usual = (7*q.usual + time.Since(began)) / 8
		}
	}
	if !kill {
		return status, answer, err
	}
	if err != nil {
		status = 0
	}
	return status, answer, <-killed
}

func (q *queueRun) url(name, path string) string {
	i := slices.IndexFunc(q.fleet.members, func(m *member) bool { return m.name() == name })
	return "http://" + q.fleet.members[i].web + path + asUser
}

// get asks for JSON.
func (q *queueRun) get(active, path string, into any) error {
	request, err := http.NewRequestWithContext(q.ctx, http.MethodGet, q.url(active, path), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	r, err := q.http.Do(request)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err == nil && r.StatusCode != http.StatusOK {
		err = errors.New(r.Status)
	}
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %.200s", path, err, b)
	}
	return nil
}

// stored is the version and the configuration that the store has.
func (q *queueRun) stored(active string) (int64, map[string]string, error) {
	var v struct {
		ConfigVersion struct {
			VersionID int64 `json:"versionID"`
		} `json:"configversion"`
	}
	var c struct {
		Property []struct{ Name, Value string }
	}
	if err := errors.Join(q.get(active, queueConf+"/version", &v), q.get(active, queueConf, &c)); err != nil {
		return 0, nil, err
	}
	values := map[string]string{}
	for _, p := range c.Property {
		values[p.Name] = p.Value
	}
	return v.ConfigVersion.VersionID, values, nil
}

// schedulerQueue is a queue as the scheduler tells it.
type schedulerQueue struct {
	QueuePath string
	State     string
	Capacity  float64
	Queues    struct{ Queue []schedulerQueue }
}

// inForce tells whether the scheduler has the queues of the stored configuration.
func (q *queueRun) inForce(active string) error {
	var top struct {
		Scheduler struct{ SchedulerInfo schedulerQueue }
	}
	if err := q.get(active, "/ws/v1/cluster/scheduler", &top); err != nil {
		return err
	}
	have := map[string]string{}
	var walk func(schedulerQueue)
	walk = func(x schedulerQueue) {
		if x.QueuePath != "root" && x.QueuePath != "" {
			have[x.QueuePath] = fmt.Sprintf("%s %.2f", x.State, x.Capacity)
		}
		for _, c := range x.Queues.Queue {
			walk(c)
		}
	}
	walk(top.Scheduler.SchedulerInfo)
	want := map[string]string{}
	for _, name := range strings.Split(q.values[capacity+"root.queues"], ",") {
		path, state := "root."+strings.TrimSpace(name), "RUNNING"
		if s := q.values[capacity+path+".state"]; s != "" {
			state = s
		}
		var share float64
		if _, err := fmt.Sscan(q.values[capacity+path+".capacity"], &share); err != nil {
			return fmt.Errorf("%s has no capacity in version %d: %v", path, q.version, q.values)
		}
		want[path] = fmt.Sprintf("%s %.2f", state, share)
	}
	if !maps.Equal(have, want) {
		return fmt.Errorf("the scheduler has %v, and version %d of the configuration says %v", have, q.version, want)
	}
	return nil
}
