package cli

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/internal/aggregated"
	goldens "github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/wire/pb"
)

var section = regexp.MustCompile(`^Container: (\S+) on (\S+)\nLogAggregationType: AGGREGATED\n=+\nLogType:(\S+)\nLogLastModifiedTime:(.*)\nLogLength:(\d+)\nLogContents:\n`)

// refill writes what a real cluster had collected, as its own yarn logs printed it.
func refill(t *testing.T, w *logsWorld, printed string) {
	t.Helper()
	const dir = "alice/bucket-logs-tfile/0001/application_1795305251364_0001"
	nodes, times := map[string][]loggedContainer{}, map[string]int64{}
	for printed != "" {
		m := section.FindStringSubmatch(printed)
		if m == nil {
			t.Fatalf("no log file begins with %.80q", printed)
		}
		size, _ := strconv.Atoi(m[5])
		text := printed[len(m[0]) : len(m[0])+size]
		printed = strings.TrimPrefix(printed[len(m[0])+size:], aggregated.Ending(m[3]))
		at, err := time.Parse("Mon Jan 02 15:04:05 -0700 2006", m[4])
		if err != nil {
			t.Fatal(err)
		}
		times[m[2]] = at.UnixMilli()
		all := nodes[m[2]]
		if len(all) == 0 || all[len(all)-1].id != m[1] {
			all = append(all, loggedContainer{id: m[1]})
		}
		k := &all[len(all)-1]
		k.files = append(k.files, logged{m[3], text})
		nodes[m[2]] = all
	}
	for name, all := range nodes {
		w.put(t, filepath.Join(dir, name), times[name], aggregated.Uncompressed, all...)
	}
}

// The logs of a real application print as Hadoop's command printed them.
func TestRecordedLogs(t *testing.T) {
	set, err := goldens.Open("capacity")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := fs.ReadFile(set, name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	attempts := read("http/get-app-finished-attempts.json")
	w := &logsWorld{root: t.TempDir()}
	w.web = httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) { fmt.Fprint(to, attempts) }))
	defer w.web.Close()
	w.rm = clienttest.Start(t, methods{"getApplicationReport": report(&pb.ApplicationReport{ApplicationId: appID(cluster1, 1), User: text("alice"),
		YarnApplicationState: pb.YarnApplicationState_FINISHED.Enum(), LogAggregationStatus: pb.LogAggregationStatus_LOG_SUCCEEDED.Enum()})})
	refill(t, w, read("cli/logs-finished.out"))
	for name, line := range map[string]string{"": "", "-info": "-show_application_log_info", "-containerinfo": "-show_container_log_info", "-nodes": "-list_nodes",
		"-files": "-log_files stdout", "-size": "-log_files prelaunch.out -size 10", "-am": "-am 1 -log_files prelaunch.out"} {
		got := w.run(t, append([]string{"-applicationId", "application_1795305251364_0001"}, strings.Fields(line)...)...)
		same(t, "logs-finished"+name, got.out, read("cli/logs-finished"+name+".out"))
		if got.err != "" || got.code != 0 {
			t.Errorf("logs-finished%s: exit code %d, %q", name, got.code, got.err)
		}
	}
}
