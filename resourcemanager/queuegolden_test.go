package resourcemanager

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/wire/pb"
)

// recordedStep is a line of a recording of changes of queues; see test/compat/schedconf.
type recordedStep struct {
	Settings map[string]string `json:"settings"` // of the first line
	Queues   json.RawMessage   `json:"queues"`   // likewise; else the queues' states

	Do, Method, Path, Accept, Type, User string
	Body                                 *string
	Args                                 []string
	File                                 map[string]string // the queue file, of the step file

	Status     int
	AnswerType string
	Answer     string
	Err        string
	Version    *int64
	Set        map[string]string
	Unset      []string
}

func recordedSteps(t *testing.T, set string) []recordedStep {
	t.Helper()
	files, err := golden.Open("schedconf")
	if err != nil {
		t.Fatal(err)
	}
	f, err := files.Open(set + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []recordedStep
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s recordedStep
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// replayed plays a recording to a daemon of ours.
type replayed struct {
	*world
	values map[string]string
	number int64
}

func (w *world) asked(method, path, user, accept, kind string, body *string) (status int, contentType, text string) {
	w.t.Helper()
	var reader io.Reader
	if body != nil {
		reader = strings.NewReader(*body)
	}
	r, err := http.NewRequest(method, "http://"+w.d.webAddr+"/ws/v1/cluster"+path+"?user.name="+user, reader)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Content-Type"), string(b)
}

// look is the version and the values as the web service tells them.
func (p *replayed) look() (int64, map[string]string) {
	p.t.Helper()
	var v struct {
		Configversion struct{ VersionID int64 }
	}
	status, _, text := p.asked("GET", "/scheduler-conf/version", operator, "application/json", "", nil)
	if status != 200 {
		return 0, nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		p.t.Fatal(err)
	}
	_, _, text = p.asked("GET", "/scheduler-conf", operator, "application/json", "", nil)
	return v.Configversion.VersionID, propertiesOf(p.t, text)
}

func propertiesOf(t testing.TB, text string) map[string]string {
	t.Helper()
	var c struct {
		Property []struct{ Name, Value string }
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range c.Property {
		out[p.Name] = p.Value
	}
	return out
}

func (p *replayed) queues() map[string]string {
	_, _, text := p.asked("GET", "/scheduler", operator, "application/json", "", nil)
	type queue struct {
		QueuePath             string
		State                 string
		OrderingPolicyInfo    string
		Capacity, MaxCapacity float64
		Queues                struct{ Queue []json.RawMessage }
	}
	var all struct {
		Scheduler struct{ SchedulerInfo json.RawMessage }
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		p.t.Fatal(err)
	}
	out := map[string]string{}
	var walk func(raw json.RawMessage)
	walk = func(raw json.RawMessage) {
		var q queue
		if err := json.Unmarshal(raw, &q); err != nil {
			p.t.Fatal(err)
		}
		if q.QueuePath != "" {
			out[q.QueuePath] = fmt.Sprintf("%s %.3f %.3f %s", q.State, q.Capacity, q.MaxCapacity, q.OrderingPolicyInfo)
		}
		for _, c := range q.Queues.Queue {
			walk(c)
		}
	}
	walk(all.Scheduler.SchedulerInfo)
	return out
}

// expected is what we answer to a step that Apache answers otherwise; see docs/differences.md.
func expected(s *recordedStep) (status int, answer string, exact bool) {
	switch {
	case strings.Contains(s.Answer, "already held by process"): // with its store of LevelDB Apache can validate nothing
		return s.Status, "", false
	case strings.Contains(s.Answer, "Failed to re-init queues :"): // the scheduler's own words follow
		head, _, _ := strings.Cut(s.Answer, "Failed to re-init queues :")
		return s.Status, head + "Failed to re-init queues :", false
	case strings.Contains(s.Answer, "NotAllowedException"):
		return http.StatusMethodNotAllowed, s.Answer, true
	case strings.Contains(s.Answer, "NotSupportedException") && s.Type != "":
		return http.StatusUnsupportedMediaType, s.Answer, true
	case s.Status == http.StatusServiceUnavailable && s.Type != "": // an empty entity
		return http.StatusBadRequest, s.Answer, true
	case s.Status == http.StatusServiceUnavailable && s.Body == nil: // neither body nor type
		return http.StatusBadRequest, "", false
	case s.Status == http.StatusServiceUnavailable: // a body without type is taken for JSON
		return http.StatusOK, "Configuration change successfully applied.", true
	}
	return s.Status, s.Answer, true
}

// TestRecordedQueueChanges: answers, effects, versions and what is in force after a restart are those of Hadoop 3.5.0.
func TestRecordedQueueChanges(t *testing.T) {
	for _, set := range []string{"memory", "leveldb", "fs", "file", "fair", "acl", "policy"} {
		t.Run(set, func(t *testing.T) { playRecorded(t, set) })
	}
	t.Run("zk", func(t *testing.T) { playRecorded(t, "fs", confStoreClass, "zk", "hadoop.zk.address", "in memory") }) // which keeps as much
}

const confStoreClass = "yarn.scheduler.configuration.store.class"

func playRecorded(t *testing.T, set string, changes ...string) {
	steps := recordedSteps(t, set)
	w := &world{t: t, dir: t.TempDir(), records: t.TempDir(), site: site("yarn.resourcemanager.heddle.black-box.record", "true"), log: &journalLog{}}
	t.Cleanup(w.rerun)
	w.site["yarn.scheduler.configuration.fs.path"] = "file://" + filepath.Join(w.dir, "state")
	if set == "fair" {
		w.site["yarn.resourcemanager.scheduler.class"] = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
	}
	for k, v := range steps[0].Settings {
		w.site[k] = strings.ReplaceAll(v, "@DIR@", filepath.Join(w.dir, "state"))
	}
	for i := 0; i < len(changes); i += 2 {
		w.site[changes[i]] = changes[i+1]
		w.zk = zookeepertest.New()
	}
	var file map[string]string
	if err := json.Unmarshal(steps[0].Queues, &file); err != nil {
		t.Fatal(err)
	}
	w.writeQueues(xml(file))
	p := &replayed{world: w}
	p.begin()
	t.Cleanup(func() { p.d.Stop() })
	for i := 1; i < len(steps) && !t.Failed(); i++ { // what follows a difference differs
		s := &steps[i]
		if s.Do == "cli" && s.Args[0] == "schedulerconf" { // the command's own: cli TestSchedulerConf
			continue
		}
		number, values := p.number, maps.Clone(p.values)
		p.step(i, s)
		p.number, p.values = p.look()
		if s.Version == nil {
			continue
		}
		accepted := s.Do == "http" && (s.Method == "PUT" && s.Path == "" || s.Path == "/format") && s.Status == http.StatusOK
		if status, answer, _ := expected(s); s.Method == "PUT" && status == http.StatusOK && s.Status != status {
			accepted = answer != ""
		}
		if want := number + map[bool]int64{true: 1}[accepted]; s.Do != "restart" && s.Do != "start" && p.number != want {
			t.Errorf("step %d: version %d, want %d", i, p.number, want)
		}
		for _, k := range s.Unset {
			delete(values, k)
		}
		if s.Do == "start" {
			values = map[string]string{}
		}
		maps.Copy(values, s.Set)
		if !maps.Equal(values, p.values) {
			t.Errorf("step %d %s %s: the values are %v, want %v", i, s.Do, s.Path, p.values, values)
		}
		var queues map[string]string
		if s.Do == "file" {
			continue
		}
		if err := json.Unmarshal(s.Queues, &queues); err != nil {
			t.Fatal(err)
		}
		if got := p.queues(); !maps.Equal(got, queues) {
			t.Errorf("step %d %v: the queues are %v, want %v", i, s.Do, got, queues)
		}
	}
}

func (p *replayed) begin() {
	p.t.Helper()
	d, err := p.start()
	if err != nil {
		p.t.Fatal(err)
	}
	p.d = d
}

func (p *replayed) step(i int, s *recordedStep) {
	t := p.t
	t.Helper()
	switch s.Do {
	case "start":
	case "file":
		p.writeQueues(xml(s.File))
	case "restart":
		p.d.Stop()
		p.begin()
	case "cli":
		_, err := p.admin(operator).raw("refreshQueues", &pb.RefreshQueuesRequest{})
		_, want, _ := strings.Cut(s.Err, "refreshQueues: ")
		want, _, _ = strings.Cut(want, "\n")
		if got := fmt.Sprint(err); (err == nil) != (s.Status == 0) || err != nil && !strings.Contains(got, want) {
			t.Errorf("step %d: refreshQueues: %v, want %q", i, err, want)
		}
	case "http":
		accept, user, method := s.Accept, s.User, s.Method
		if accept == "" {
			accept = "application/json"
		}
		if user == "" || user == "root" { // who ran Apache's
			user = operator
		}
		if method == "" {
			method = "GET"
		}
		status, kind, text := p.asked(method, "/scheduler-conf"+s.Path, user, accept, s.Type, s.Body)
		wantStatus, want, exact := expected(s)
		if strings.Contains(s.Answer, "already held by process") {
			wantStatus = status
		}
		if status != wantStatus || exact && !sameAnswer(t, text, want) || !exact && !strings.HasPrefix(text, want) {
			t.Errorf("step %d %s %s %v: %d %s\nwant %d %s", i, method, s.Path, text1(s.Body), status, text, wantStatus, want)
		}
		if s.AnswerType != "" && s.Status == status && text != "" && kind != s.AnswerType {
			t.Errorf("step %d %s %s: %s, want %s", i, method, s.Path, kind, s.AnswerType)
		}
	default:
		t.Fatalf("a step of kind %q", s.Do)
	}
}

func text1(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// sameAnswer compares answers; properties have no order.
func sameAnswer(t testing.TB, got, want string) bool {
	if strings.HasPrefix(want, `{"property"`) && strings.HasPrefix(got, `{"property"`) {
		return maps.Equal(propertiesOf(t, got), propertiesOf(t, want))
	}
	return got == want
}
