package resourcemanager

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/wire/pb"
)

// corpus holds queue files, and the error of each that a scheduler at work refuses.
const corpus = "../scheduler/lint/testdata/"

// TestRefusedQueues refreshes a ResourceManager at work with every bad queue
// file: the administrator is told the exact error with the place in the file,
// the log has what yarn queue -lint says, and nothing changes for queues,
// applications and nodes.
func TestRefusedQueues(t *testing.T) {
	w := newWorld(t, `
		root.queues                 a,default
		root.a.capacity             50
		root.default.capacity       50
		maximum-am-resource-percent 1
		user-limit-factor           10`, "yarn.scheduler.minimum-allocation-mb", "1024")
	root, alice := w.admin(operator), w.as("alice")
	n := w.newNode()
	for _, queue := range []string{"default", "a"} {
		id := alice.submit(inQueue(queue))
		until(t, "its container", func() bool {
			n.beat()
			return alice.report(id).GetAppResource_Usage().GetNumUsedContainers() == 1
		})
	}
	must(root, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{}) // orders queues as later ones do
	before := w.seen()
	files, err := filepath.Glob(corpus + "bad/*.err")
	if err != nil || len(files) < 90 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	tried := 0
	for _, file := range files {
		xml := strings.TrimSuffix(file, ".err") + ".xml"
		text, err := os.ReadFile(xml)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "<!-- site ") {
			continue // it needs a ResourceManager with other settings
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tried++
		place := filepath.Join(w.dir, "capacity-scheduler.xml")
		w.writeQueues(string(text))
		logged := len(w.log.String())
		_, err = root.raw("refreshQueues", &pb.RefreshQueuesRequest{})
		refused(t, err, yarnException, strings.TrimSpace(strings.Replace(string(want), filepath.Base(xml), place, 1)))
		w.logs(logged, strings.TrimSuffix(file, ".err")+".txt", filepath.Base(xml), place)
		if after := w.seen(); !reflect.DeepEqual(before, after) {
			t.Fatalf("%s: it was\n%+v and is\n%+v", xml, before, after)
		}
	}
	if tried < 80 {
		t.Errorf("only %d files could be tried", tried)
	}
}

// logs wants every finding of yarn queue -lint in what was logged since.
func (w *world) logs(since int, findings, file, place string) {
	w.t.Helper()
	text, err := os.ReadFile(findings)
	if err != nil {
		w.t.Fatal(err)
	}
	log := w.log.String()[since:]
	for line := range strings.Lines(string(text)) {
		quoted := strconv.Quote(strings.Replace(strings.TrimSpace(line), file, place, 1))
		if !strings.Contains(log, quoted) {
			w.t.Errorf("%s: the log lacks %s:\n%s", findings, quoted, log)
		}
	}
}

// seen is what readers see of queues, applications and nodes.
func (w *world) seen() (s struct {
	Queues             *queue.Snapshot
	Applications       []any
	Nodes              []any
	MinMemory, MaxCore int64
}) {
	w.t.Helper()
	v, err := w.term().loop.Views(w.t.Context(), view.Everything)
	if err != nil {
		w.t.Fatal(err)
	}
	s.Queues = v.Queues()
	for _, a := range v.Applications() {
		s.Applications = append(s.Applications, []any{a.ID, a.State, a.Queue, a.Usage.Used, a.Usage.Containers, len(a.Attempts)})
	}
	for _, n := range v.Nodes() {
		s.Nodes = append(s.Nodes, []any{n.ID, n.State, n.Used, n.Available, n.Containers})
	}
	cfg := w.term().access.schedule.Load()
	s.MinMemory, s.MaxCore = cfg.Cluster.MinAllocation.MemoryMB(), cfg.Cluster.MaxAllocation.VCoreCount()
	return s
}
