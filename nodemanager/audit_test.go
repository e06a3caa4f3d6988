package nodemanager

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-project/heddle/internal/audit"
)

// lockedBuffer is one that several may write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestAudit: each start, stop and end of a container has a line, and so has whoever reads its logs.
func TestAudit(t *testing.T) {
	w := quietWorld(t, "yarn.acl.enable", "true", "yarn.admin.acl", "yarn")
	out := &lockedBuffer{}
	w.audit = audit.New(out, audit.Options{Name: "nodemanager.NMAuditLogger"})
	t.Cleanup(w.audit.Close)
	w.start()
	good, bad, stopped := w.runs("exit 0"), w.runs("exit 3"), w.runs("echo ready; sleep 100")
	w.exits(good, 0)
	w.exits(bad, 3)
	w.printed(stopped, "ready")
	path := "/ws/v1/node/containers/" + stopped.String() + "/logs/stdout?user.name="
	if status, _, err := w.get(path + "mallory"); status != http.StatusForbidden || err != nil {
		t.Errorf("mallory: %d %v", status, err)
	}
	if status, _, err := w.get(path + "ann"); status != http.StatusOK || err != nil {
		t.Errorf("ann: %d %v", status, err)
	}
	w.stop(stopped)
	w.ended(stopped)
	again := w.request(good.Number, "exit 0")
	if answer, err := w.start1(again); err != nil || len(answer.FailedRequests) != 1 {
		t.Errorf("a second start: %v %v", answer, err)
	}
	w.audit.Close()
	line := func(id fmt.Stringer, user, operation, target, rest string) string {
		return strings.ReplaceAll(fmt.Sprintf("USER=%s OPERATION=%s TARGET=%s RESULT=%s APPID=%s CONTAINERID=%s", user, operation, target, rest, w.app, id), " OPERATION=", "\tOPERATION=")
	}
	master := w.attempt().String() + "\tIP=127.0.0.1"
	for _, want := range []string{
		line(good, master, "Start Container Request", "ContainerManageImpl", "SUCCESS"),
		line(bad, "ann", "Container Finished - Failed", "ContainerImpl", "FAILURE\tDESCRIPTION=Container failed with state: EXITED_WITH_FAILURE"),
		line(good, "ann", "Container Finished - Succeeded", "ContainerImpl", "SUCCESS"),
		line(stopped, "mallory\tIP=127.0.0.1", "View Container Logs", "NMWebServices", "FAILURE\tDESCRIPTION=Unauthorized user"),
		line(stopped, "ann\tIP=127.0.0.1", "View Container Logs", "NMWebServices", "SUCCESS"),
		line(stopped, master, "Stop Container Request", "ContainerManageImpl", "SUCCESS"),
		line(stopped, "ann", "Container Finished - Killed", "ContainerImpl", "SUCCESS"),
	} {
		for _, key := range []string{" TARGET=", " RESULT=", " APPID=", " CONTAINERID="} {
			want = strings.Replace(want, key, "\t"+key[1:], 1)
		}
		if strings.Count(out.String(), "NMAuditLogger: "+want+"\n") != 1 {
			t.Errorf("there is no line, or more than one\n%q\nin\n%s", want, out)
		}
	}
	if !strings.Contains(out.String(), "TARGET=ContainerManagerImpl\tRESULT=FAILURE\tDESCRIPTION=Unauthorized request to start container.\\n Attempt to relaunch the same container") {
		t.Errorf("there is no line of the start that was refused:\n%s", out)
	}
	if n := strings.Count(out.String(), "\n"); n != 10 {
		t.Errorf("%d lines instead of 10:\n%s", n, out)
	}
}
