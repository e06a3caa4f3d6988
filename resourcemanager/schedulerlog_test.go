package resourcemanager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSchedulerLog: administrators have what the scheduler decides written to a file, one at a time, and nobody else.
func TestSchedulerLog(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.acl.enable", "true", "yarn.admin.acl", operator)
	for path, status := range map[string]int{"scheduler/logs?time=5&user.name=alice": 403, "scheduler/logs?time=5": 403, "scheduler/logs?time=x&user.name=" + operator: 400} {
		if got, text, _ := w.post(path, ""); got != status {
			t.Errorf("%s: %d %s", path, got, text)
		}
	}
	if status, text, _ := w.post("scheduler/logs?time=600&user.name="+operator, ""); status != 200 || text != "Capacity scheduler logs are being created." {
		t.Fatalf("%d %s", status, text)
	}
	if status, text, _ := w.post("scheduler/logs?time=1&user.name="+operator, ""); status != 503 || !strings.Contains(text, "Appender is already dumping logs") {
		t.Errorf("the second one: %d %s", status, text)
	}
	n := w.newNode()
	id := w.as("alice").submit()
	n.launched().register()
	want := []string{"DEBUG org.apache.hadoop.yarn.server.resourcemanager.scheduler: container allocated", "appId=" + id.String(), "memoryMB=", "attempt "}
	file := filepath.Join(w.records, "yarn-capacity-scheduler-debug.log")
	missing := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		missing = ""
		for _, x := range want {
			if !strings.Contains(string(text), x) {
				missing = x + " in " + string(text)
			}
		}
		if missing == "" {
			break
		}
	}
	if missing != "" {
		t.Errorf("no %s", missing)
	}
	until(t, "the audit log's lines", func() bool { return len(w.audits("dumpSchedulerLogs")) >= 3 })
	if got := strings.Join(w.audits("dumpSchedulerLogs"), "\n"); strings.Count(got, "RESULT=SUCCESS") != 1 || strings.Count(got, "RESULT=FAILURE") != 2 {
		t.Errorf("audit log:\n%s", got)
	}
}
