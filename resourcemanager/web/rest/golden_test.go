package rest_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/nodelogs"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

var version = rest.Version{Number: "3.5.0", Build: "revision", Date: "2026-03-24T17:01Z"}

// serve is the services without the gate before them; the caller is alice.
func serve(t testing.TB, s *webtest.Source, c *webtest.Controller) http.Handler {
	t.Helper()
	return serveWith(t, s, c, nil)
}

// serveWith is serve with a client for logs.
func serveWith(t testing.TB, s *webtest.Source, c *webtest.Controller, logs *nodelogs.Client) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	for _, r := range rest.Routes(rest.Config{Source: s, Controller: c, Version: version, Largest: yarn.NewResource(4096, 4), Logs: logs,
		Links: access.Links{Scheme: "http", Address: "localhost:22050"},
		Now:   func() time.Time { return time.UnixMilli(webtest.Moment) }}) {
		mux.HandleFunc(r.Method+" "+r.Pattern, r.Handler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(webgate.WithCaller(r.Context(), webgate.Caller{User: "alice", Address: "127.0.0.1"})))
	})
}

func get(h http.Handler, path, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, rest.Prefix+path, nil)
	r.Host = "127.0.0.1:22050"
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// What is masked on both sides: it depends on the moment, on the machine, or on
// texts that are the scheduler's.
var volatile = []string{"timestamp", "dateTime", "elapsedTime", "lastHealthUpdate", "memUtilization", "cpuUtilization", "resourceManagerBuildVersion", "hadoopBuildVersion",
	"hadoopVersionBuiltOn", "nodePhysicalMemoryMB", "nodeVirtualMemoryMB", "nodeCPUUsage", "aggregatedContainersPhysicalMemoryMB",
	"aggregatedContainersVirtualMemoryMB", "containersCPUUsage", "diagnostics", "diagnosticsInfo", "utilizedMB", "utilizedVirtualCores",
	"utilizedMBPercent", "utilizedVirtualCoresPercent", "rmSchedulerBusyPercent", "schedulerBusy", "startedTime", "host", "rmLoginUser"}

// What is known to differ, and why.
var different = []string{
	"logAggregationStatus",   // the view does not have it once the application has ended
	"appNodeLabelExpression", // the view cannot tell "not given" from "given as empty"
}

// A row of zeros for the pseudo-partition "*", which asking for all partitions
// leaves behind in Hadoop's books.
var phantoms = map[*regexp.Regexp]string{
	regexp.MustCompile(`,\{"partitionName":"\*".*\]\}\}\}\]\}`):                                                       "]}",
	regexp.MustCompile(`<resourceUsagesByPartition><partitionName>\*</partitionName>.*?</resourceUsagesByPartition>`): "",
}

var (
	jsonMasks, xmlMasks   []*regexp.Regexp
	jsonAbsent, xmlAbsent []*regexp.Regexp
)

func init() {
	for _, name := range volatile {
		jsonMasks = append(jsonMasks, regexp.MustCompile(`"(`+name+`)":("(?:[^"\\]|\\.)*"|[^,}\]]*)`))
		xmlMasks = append(xmlMasks, regexp.MustCompile(`<(`+name+`)>[^<]*</`+name+`>`))
	}
	for _, name := range different {
		jsonAbsent = append(jsonAbsent, regexp.MustCompile(`"`+name+`":("[^"]*"),?`))
		xmlAbsent = append(xmlAbsent, regexp.MustCompile(`<`+name+`>[^<]*</`+name+`>`))
	}
}

func mask(text string) string {
	text = strings.Replace(text, ` standalone="yes"`, "", 1)
	for re, by := range phantoms {
		text = re.ReplaceAllString(text, by)
	}
	for _, re := range append(jsonAbsent, xmlAbsent...) {
		text = re.ReplaceAllString(text, "")
	}
	for _, re := range jsonMasks {
		text = re.ReplaceAllString(text, `"$1":~`)
	}
	for _, re := range xmlMasks {
		text = re.ReplaceAllString(text, `<$1>~</$1>`)
	}
	return text
}

// TestRecorded compares answers with those of Hadoop 3.5.0, byte by byte after
// masking.
func TestRecorded(t *testing.T) {
	recorded, err := golden.Open("capacity")
	if err != nil {
		t.Fatal(err)
	}
	s := webtest.New()
	h := serve(t, s, &webtest.Controller{})
	for name, path := range map[string]string{
		"get-info":                          "/info",
		"get-cluster":                       "",
		"get-metrics":                       "/metrics",
		"get-node":                          "/nodes/localhost:26839",
		"get-nodes":                         "/nodes",
		"get-app-running2":                  "/apps/" + webtest.App(6).String(),
		"get-app-finished":                  "/apps/" + webtest.App(1).String(),
		"get-app-killed":                    "/apps/" + webtest.App(4).String(),
		"get-app-failed":                    "/apps/" + webtest.App(3).String(),
		"get-app-rejected":                  "/apps/" + webtest.App(9).String(),
		"get-app-running2-attempts":         "/apps/" + webtest.App(6).String() + "/appattempts",
		"get-app-finished-attempts":         "/apps/" + webtest.App(1).String() + "/appattempts",
		"get-app-pending-attempts":          "/apps/" + webtest.App(8).String() + "/appattempts",
		"get-app-rejected-attempts":         "/apps/" + webtest.App(9).String() + "/appattempts",
		"get-app-running2-container":        "/apps/" + webtest.App(6).String() + "/appattempts/appattempt_1795305251364_0006_000001/containers/container_1795305251364_0006_01_000001",
		"get-app-finished-containers":       "/apps/" + webtest.App(1).String() + "/appattempts/appattempt_1795305251364_0001_000001/containers",
		"get-app-finished-container":        "/apps/" + webtest.App(1).String() + "/appattempts/appattempt_1795305251364_0001_000001/containers/container_1795305251364_0001_01_000001",
		"get-app-running2-state":            "/apps/" + webtest.App(6).String() + "/state",
		"get-app-running2-queue":            "/apps/" + webtest.App(6).String() + "/queue",
		"get-app-running2-priority":         "/apps/" + webtest.App(6).String() + "/priority",
		"get-app-running2-timeouts":         "/apps/" + webtest.App(6).String() + "/timeouts",
		"get-app-running2-timeout-LIFETIME": "/apps/" + webtest.App(6).String() + "/timeouts/LIFETIME",
		"get-apps-none":                     "/apps?user=nobody",
		"get-scheduler-overview":            "/scheduler-overview",
		"err-queue-access-bad-acl":          "/queues/root/access?user=alice&queue-acl-type=BOGUS",
		"err-app-badid":                     "/apps/bogus",
		"err-app-badid-attempts":            "/apps/bogus/appattempts",
		"err-app-unknown":                   "/apps/application_1_0001",
		"err-app-unknown-state":             "/apps/application_1_0001/state",
		"err-app-unknown-attempts":          "/apps/application_1_0001/appattempts",
		"err-apps-deselects-bad":            "/apps?deSelects=bogus",
		"err-apps-finalstatus-bad":          "/apps?finalStatus=BOGUS",
		"err-apps-limit-text":               "/apps?limit=x",
		"err-apps-limit-zero":               "/apps?limit=0",
		"err-apps-queue-unknown":            "/apps?queue=nowhere",
		"err-apps-started-negative":         "/apps?startedTimeBegin=-1",
		"err-apps-started-reversed":         "/apps?startedTimeBegin=5&startedTimeEnd=4",
		"err-apps-started-text":             "/apps?startedTimeBegin=x",
		"err-apps-state-bad":                "/apps?state=BOGUS",
		"err-apps-states-bad":               "/apps?states=BOGUS",
		"err-appstatistics-state-bad":       "/appstatistics?states=BOGUS",
		"err-appstatistics-two-types":       "/appstatistics?applicationTypes=a,b",
		"err-attempt-badid":                 "/apps/" + webtest.App(6).String() + "/appattempts/bogus",
		"err-attempt-unknown":               "/apps/" + webtest.App(6).String() + "/appattempts/appattempt_1_0001_000001",
		"err-container-unknown":             "/apps/" + webtest.App(6).String() + "/appattempts/appattempt_1795305251364_0006_000001/containers/container_1_0001_01_000001",
		"err-node-badid":                    "/nodes/nowhere",
		"err-node-unknown":                  "/nodes/nowhere:1",
		"err-nodes-state-bad":               "/nodes?states=BOGUS",
		"err-activities-node-unknown":       "/scheduler/activities?nodeId=nowhere:1",
		"err-app-activities-maxtime-bad":    "/scheduler/app-activities/" + webtest.App(5).String() + "?maxTime=x",
		"get-app-finished-app-activities":   "/scheduler/app-activities/" + webtest.App(1).String(),
		"get-app-rejected-app-activities":   "/scheduler/app-activities/" + webtest.App(9).String(),
		"get-app-pending-app-activities":    "/scheduler/app-activities/" + webtest.App(8).String(),
		"err-timeout-type-bad":              "/apps/" + webtest.App(6).String() + "/timeouts/BOGUS",
	} {
		for suffix, accept := range map[string]string{".json": "application/json", ".xml.xml": "application/xml"} {
			t.Run(name+suffix, func(t *testing.T) { compare(t, recorded, "http/"+name+suffix, get(h, path, accept)) })
		}
	}
	s.Doing = doing()
	for file, accept := range map[string]string{"get-scheduler-activities-grouped.json": "application/json", "get-scheduler-activities-2.xml.xml": "application/xml"} {
		t.Run(file, func(t *testing.T) {
			compare(t, recorded, "http/"+file, get(h, "/scheduler/activities?nodeId=localhost:26839&groupBy=diagnostic", accept))
		})
	}
	t.Run("queue-access.xml", func(t *testing.T) { // as JSON Apache fails
		w := get(h, "/queues/root/access?user=alice&queue-acl-type=SUBMIT_APPLICATIONS", "application/xml")
		compare(t, recorded, "http/get-queue-access.xml.xml", w)
		if !strings.Contains(w.Body.String(), "<diagnostics></diagnostics>") {
			t.Errorf("without diagnostics, which are masked: %s", w.Body)
		}
	})
	t.Run("attempt.xml", func(t *testing.T) {
		path := "/apps/" + webtest.App(6).String() + "/appattempts/appattempt_1795305251364_0006_000001"
		compare(t, recorded, "http/get-app-running2-attempt.xml.xml", get(h, path, "application/xml"))
	})
}

func compare(t *testing.T, recorded fs.FS, file string, got *httptest.ResponseRecorder) {
	t.Helper()
	want, err := fs.ReadFile(recorded, file)
	if err != nil {
		t.Fatal(err)
	}
	head, err := fs.ReadFile(recorded, strings.TrimSuffix(strings.TrimSuffix(file, ".json"), ".xml")+".head")
	if err != nil {
		t.Fatal(err)
	}
	if status := fmt.Sprintf("\nHTTP/1.1 %d ", got.Code); !strings.Contains(strings.ReplaceAll(string(head), "\r", ""), status) {
		t.Errorf("status %d, recorded is\n%s", got.Code, head)
	}
	if kind := "Content-Type: " + got.Header().Get("Content-Type"); !strings.Contains(string(head), kind) {
		t.Errorf("%s is not what was recorded:\n%s", kind, head)
	}
	diff(t, file, mask(string(want)), mask(got.Body.String()))
}

// TestNegotiation: what callers accept decides the form of the answer.
func TestNegotiation(t *testing.T) {
	h := serve(t, webtest.New(), &webtest.Controller{})
	for accept, want := range map[string]string{
		"":                 "application/json;charset=utf-8",
		"*/*":              "application/json;charset=utf-8",
		"application/*":    "application/json;charset=utf-8",
		"application/json": "application/json;charset=utf-8",
		"application/xml":  "application/xml;charset=utf-8",
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": "application/xml;charset=utf-8",
		"application/xml;q=0.2, application/json;q=0.1":                   "application/xml;charset=utf-8",
	} {
		w := get(h, "/info", accept)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != want {
			t.Errorf("Accept %q: %d %s, want %s", accept, w.Code, w.Header().Get("Content-Type"), want)
		}
	}
	w := get(h, "/info", "text/plain")
	if w.Code != http.StatusNotAcceptable || !strings.Contains(w.Body.String(), `"exception":"NotAcceptableException"`) {
		t.Errorf("Accept text/plain: %d %s", w.Code, w.Body)
	}
}

// valid fails unless the text is JSON.
func valid(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
	return out
}
