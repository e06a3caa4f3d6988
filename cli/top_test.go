package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/wire/pb"
)

// topWorld is a fake with what yarn top shows, and its configuration.
func topWorld(t *testing.T) (*clienttest.RM, string) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"clusterInfo":{"startedOn":1795216710063}}`) // a day, an hour and some minutes before
	}))
	t.Cleanup(web.Close)
	apps := listed()[3:5]
	for i, a := range apps {
		n := int32(i + 1)
		a.StartTime, a.Progress, a.Priority = proto.Int64(1795306310063-int64(i)*90060000), proto.Float32(0.25*float32(n)), &pb.Priority{Priority: proto.Int32(n)}
		a.AppResource_Usage = &pb.ApplicationResourceUsageReport{NumUsedContainers: proto.Int32(n), NumReservedContainers: proto.Int32(0),
			UsedResources: &pb.Resource{Memory: proto.Int64(2048 * int64(n)), VirtualCores: proto.Int32(n)}, ApplicationResourceUsageMap: seconds("memory-mb", 1024000, "vcores", 700)}
	}
	apps[0].Name = text("evil\x1b[2J")
	root := tree()
	for i, child := range root.ChildQueues {
		child.QueueStatistics = &pb.QueueStatistics{NumAppsRunning: proto.Int64(int64(i)), NumActiveUsers: proto.Int64(1), AvailableMemoryMB: proto.Int64(1024), PendingVCores: proto.Int64(2)}
	}
	rm := clienttest.Start(t, methods{"getApplications": clienttest.Answer(&pb.GetApplicationsResponse{Applications: apps}), "getQueueInfo": queueAnswer(root),
		"getClusterMetrics": clienttest.Answer(&pb.GetClusterMetricsResponse{ClusterMetrics: &pb.YarnClusterMetrics{NumNodeManagers: proto.Int32(3), NumActiveNms: proto.Int32(2), NumLostNms: proto.Int32(1)}})})
	return rm, rm.ConfDir(t, "yarn.resourcemanager.webapp.address="+strings.TrimPrefix(web.URL, "http://"))
}

const topOnce = `YARN top - 00:11:50, up 1d, 0:53, 3 active users, queue(s): root
NodeManager(s): 3 total, 2 active, 0 unhealthy, 0 decommissioning, 0 decommissioned, 1 lost, 0 rebooted, 0 shutdown
Queue(s) Applications: 3 running, 0 submitted, 0 pending, 0 completed, 0 killed, 0 failed
Queue(s) Mem(GB): 3 available, 0 allocated, 0 pending, 0 reserved
Queue(s) VCores: 0 available, 0 allocated, 6 pending, 0 reserved
Queue(s) Containers: 0 allocated, 0 pending, 0 reserved

                  APPLICATIONID USER             TYPE      QUEUE PRIOR   #CONT  #RCONT  VCORES RVCORES     MEM    RMEM  VCORESECS    MEMSECS %PROGR       TIME NAME
 application_1795305251364_0006 alice            yarn root.prod.adhoc     2       2       0       2       0      4G      0G        700       1000  50.00   01:01:01 running2
 application_1795305251364_0005 carol            yarn root.prod.etl.slow     1       1       0       1       0      2G      0G        700       1000  25.00   00:00:00 evil\u001b[2J
`

func TestTopOnce(t *testing.T) {
	rm, dir := topWorld(t)
	got := newWorld().run("--config", dir, "top", "-once")
	same(t, "top -once", got.out, topOnce)
	if got.code != 0 || got.err != "" {
		t.Errorf("%+v", got)
	}
	// No terminal: the same.
	if again := newWorld().run("--config", dir, "top"); again != got {
		t.Errorf("%+v", again)
	}
	small := newWorld().run("--config", dir, "top", "-once", "-cols", "40", "-rows", "10")
	lines := strings.Split(strings.TrimSuffix(small.out, "\n"), "\n")
	if len(lines) != 9 || lines[8] != " application_1795305251364_0006 alice" {
		t.Errorf("%q", lines)
	}
	var x struct {
		Kind         string
		Applications []struct{ ID string }
		Nodes        struct{ Lost int }
	}
	doc := newWorld().run("--config", dir, "top", "--output", "json", "-users", "a, b", "-queues", "root.prod")
	if err := json.Unmarshal([]byte(doc.out), &x); err != nil || x.Kind != "top" || len(x.Applications) != 2 || x.Nodes.Lost != 1 {
		t.Errorf("%v %+v", err, doc)
	}
	if asked := rm.Methods(); !strings.Contains(asked, "getApplications") {
		t.Error(asked)
	}
	for _, line := range []string{"top -delay x", "top -cols -1"} {
		if got := newWorld().run(append([]string{"--config", dir}, strings.Fields(line)...)...); got.code != 1 || !strings.Contains(got.err, "not a number") {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// Keys come at once; Return, which the stock command wants after each, does nothing.
func TestTopKeys(t *testing.T) {
	_, dir := topWorld(t)
	w := newWorld()
	w.Terminal = func() (int, bool) { return 100, true }
	w.Rows = func() int { return 20 }
	restored := false
	w.Keyboard = func() (func(), error) { return func() { restored = true }, nil }
	w.Stdin = strings.NewReader("s\ra\rx\rR\rf\rt\r.\rh\r q")
	got := w.run("--config", dir, "top")
	if got.code != 0 || !restored || !strings.HasPrefix(got.out, topEnter) || !strings.HasSuffix(got.out, topLeave) {
		t.Fatalf("restored %v: %+v", restored, got)
	}
	screens := strings.Split(got.out, "\x1b[H")
	for i, want := range map[int]string{
		1:  "\x1b[7m                  APPLICATIONID USER             TYPE",
		2:  "* c: #CONT           = Containers",
		4:  "* a: APPLICATIONID   = Application id",
		6:  "0006 alice",
		8:  "0005 carol",
		10: "* t: TYPE            = Type",
		12: "  t: TYPE            = Type",
		14: "\x1b[7m                  APPLICATIONID USER            QUEUE",
		16: "Help for yarn top.",
		18: "YARN top - ",
	} {
		if i >= len(screens) || !strings.Contains(screens[i], want) {
			t.Errorf("screen %d of %d has no %q: %q", i, len(screens), want, screens[min(i, len(screens)-1)])
		}
	}
	if strings.Contains(got.out, "evil\x1b") {
		t.Error("an application's name steers the terminal")
	}
	for _, line := range strings.Split(strings.ReplaceAll(screens[1], "\x1b[K", ""), "\r\n") {
		if len(line) > 100+len("\x1b[7m\x1b[0m") {
			t.Errorf("a line is too long: %q", line)
		}
	}
}
