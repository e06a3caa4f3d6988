package introspect

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/xml"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/webgate"
)

// beans are a pool as Java tells one, and a record of metrics.
func beans(context.Context) []Bean {
	return []Bean{
		{Name: "java.lang:name=Survivor Space,type=MemoryPool", Type: "sun.management.MemoryPoolImpl", Attributes: []Attribute{
			{Name: "Usage", Value: []Attribute{{Name: "committed", Value: int64(13172736)}, {Name: "init", Value: 13172736}}},
			{Name: "MemoryManagerNames", Value: []string{"Copy", "MarkSweepCompact"}},
			{Name: "None", Value: []string{}},
			{Name: "UsageThresholdSupported", Value: false},
			{Name: "Nothing"},
			{Name: "Empty", Value: []Attribute{}},
		}},
		Metrics("NodeManager", "NodeManagerMetrics", "yarn",
			Gauge("AvailableVCores", 2, ""), Gauge("NodeCpuUtilization", 0.3730846, "cores"), Counter("ContainersLaunched", 2, "")),
		Metrics("NodeManager", "OddRecord", "yarn", Gauge("Ratio", math.NaN(), "a\nb"), Gauge("Text", "x", "")),
	}
}

// open is a whole port with nothing but this.
func open(change func(*Config)) http.Handler {
	c := Config{Service: "NodeManager", Beans: beans, StartedAt: time.Now(),
		Properties: func() []Property {
			return []Property{
				{Name: "a.password", Raw: "1234", Value: "1234", Source: "core-site.xml"},
				{Name: "b.text", Raw: "<${c.x}>", Value: "<9>", Source: "yarn-site.xml", Final: true},
				{Name: "d.indirect", Raw: "x${a.password}", Value: "x1234", Source: "yarn-site.xml"},
				{Name: "e.mine", Raw: "5678", Value: "5678", Source: "yarn-site.xml"},
				{Name: "f.empty"},
			}
		},
		Sensitive: []string{"", `\.mine$`}, Admin: func(c webgate.Caller) bool { return c.User == "ada" }}
	if change != nil {
		change(&c)
	}
	r := webgate.NewRouter("/", "")
	Add(r, c)
	return webgate.New(webgate.Config{}, r)
}

func get(h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestForm holds the form of /jmx to what a NodeManager of Hadoop 3.5.0 answers.
func TestForm(t *testing.T) {
	h := open(nil)
	for path, want := range map[string]string{
		"/jmx?qry=java.lang:name=Survivor*,type=MemoryPool": `{
  "beans" : [ {
    "name" : "java.lang:name=Survivor Space,type=MemoryPool",
    "modelerType" : "sun.management.MemoryPoolImpl",
    "Usage" : {
      "committed" : 13172736,
      "init" : 13172736
    },
    "MemoryManagerNames" : [ "Copy", "MarkSweepCompact" ],
    "None" : [ ],
    "UsageThresholdSupported" : false,
    "Nothing" : null,
    "Empty" : { }
  } ]
}`,
		"/jmx?get=java.lang:*::UsageThresholdSupported": "",
		"/jmx?get=Hadoop:name=NodeManagerMetrics,service=NodeManager::NodeCpuUtilization": `{
  "beans" : [ {
    "name" : "Hadoop:service=NodeManager,name=NodeManagerMetrics",
    "modelerType" : "NodeManagerMetrics",
    "NodeCpuUtilization" : 0.3730846
  } ]
}`,
		"/jmx?get=Hadoop:name=NodeManagerMetrics,service=NodeManager::Nix": `{
  "beans" : [ {
    "name" : "Hadoop:service=NodeManager,name=NodeManagerMetrics",
    "modelerType" : "NodeManagerMetrics",
    "result" : "ERROR",
    "message" : "No attribute with name Nix was found."
  } ]
}`,
		"/jmx?get=java.lang:type=Memory": `{
  "result" : "ERROR",
  "message" : "query format is not as expected."
}`,
		"/jmx?get=Hadoop:name=none::x": `{
  "beans" : [ ]
}`,
		"/jmx?qry=x": "{ }",
	} {
		w := get(h, strings.ReplaceAll(path, " ", "%20"))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json;charset=utf8" || want != "" && w.Body.String() != want {
			t.Errorf("%s: %d %v\n%s", path, w.Code, w.Header(), w.Body)
		}
	}
}

func TestAllBeans(t *testing.T) {
	var answer struct {
		Beans []map[string]any `json:"beans"`
	}
	w := get(open(nil), "/jmx")
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v\n%s", err, w.Body)
	}
	byName := map[string]map[string]any{}
	var names []string
	for _, b := range answer.Beans {
		byName[b["name"].(string)] = b
		names = append(names, b["name"].(string))
	}
	if !slices.IsSorted(names) || len(names) != 9 {
		t.Errorf("%q", names)
	}
	jvm := byName["Hadoop:service=NodeManager,name=JvmMetrics"]
	if jvm["tag.ProcessName"] != "NodeManager" || jvm["MemHeapUsedM"].(float64) <= 0 || jvm["ThreadsRunnable"].(float64) < 1 {
		t.Errorf("%v", jvm)
	}
	host, _ := os.Hostname()
	if jvm["tag.Hostname"] != host || byName["Hadoop:service=NodeManager,name=NodeManagerMetrics"]["tag.Hostname"] != host {
		t.Errorf("host %q: %v", host, jvm)
	}
	if byName["java.lang:type=Memory"]["HeapMemoryUsage"].(map[string]any)["used"].(float64) <= 0 {
		t.Errorf("%v", byName["java.lang:type=Memory"])
	}
	if byName["Hadoop:service=NodeManager,name=OddRecord"]["Ratio"] != "NaN" {
		t.Errorf("what JSON has no word for is quoted: %v", byName["Hadoop:service=NodeManager,name=OddRecord"])
	}
}

func TestQueries(t *testing.T) {
	const name = `Hadoop:service=RM,name=QueueMetrics,q0=root,q1="a,b"`
	for q, want := range map[string]bool{
		"*:*": true, "Hadoop:*": true, "H?doop:*": true, "*:name=QueueMetrics,*": true, `Hadoop:q0=root,*,name=Queue*,service=??,q1="a,b"`: true,
		name: true, "Hadoop:service=RM,name=QueueMetrics": false, "Hadoop:name=Queue,*": false, "hadoop:*": false, "*:q2=*,*": false,
		"Hadoop:service=[R]M,*": false,
	} {
		parsed, ok := parseQuery(q)
		if !ok || parsed.has(name) != want {
			t.Errorf("%s: %v %v", q, ok, !want)
		}
	}
	for value, want := range map[string]string{"al-ice.b c": "al-ice.b c", `a\b`: `a\b`, "a,user=b": `"a,user=b"`, "*": `"\*"`, "?:": `"\?:"`, "\n=": `"\n="`, `",\`: `"\",\\"`} {
		got := KeyValue(value)
		if got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
		if q, ok := parseQuery("x:user=" + got + ",a=1"); !ok || !q.has("x:a=1,user="+got) || q.has("x:a=1,user=bob") || len(splitKeys("user="+got+",a=1")) != 2 {
			t.Errorf("%s is not one value", got)
		}
	}
	for _, q := range []string{"", "x", "x:", "x:a", "x:a=1,a=2", "x:=1", "x:*,*", "x:" + strings.Repeat("a", maxQuery), "x:a=1" + strings.Repeat(",*", 40)} {
		if _, ok := parseQuery(q); ok {
			t.Errorf("%.40s was taken", q)
		}
	}
}

// FuzzQuery: no query does harm.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"*:*", `a:b="`, "a:b=[", "a:b=\\", "::", "a:*,b=?*"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		if q, ok := parseQuery(s); ok {
			q.has("Hadoop:service=RM,name=Queue[Metrics]/\\")
		}
	})
}

// TestPromNames: names of Hadoop's own endpoint.
func TestPromNames(t *testing.T) {
	for want, c := range map[string][2]string{
		"node_manager_metrics_available_v_cores":           {"NodeManagerMetrics", "AvailableVCores"},
		"node_manager_metrics_node_used_v_mem_gb":          {"NodeManagerMetrics", "NodeUsedVMemGB"},
		"node_manager_metrics_node_used_mem_gb":            {"NodeManagerMetrics", "NodeUsedMemGB"},
		"jvm_metrics_mem_non_heap_max_m":                   {"JvmMetrics", "MemNonHeapMaxM"},
		"cluster_metrics_am_launch_delay_avg_time":         {"ClusterMetrics", "AMLaunchDelayAvgTime"},
		"cluster_metrics_num_active_n_ms":                  {"ClusterMetrics", "NumActiveNMs"},
		"rpcdetailed_increase_containers_resource_num_ops": {"rpcdetailed", "IncreaseContainersResourceNumOps"},
		"queue_metrics_running_60":                         {"QueueMetrics", "running_60"},
	} {
		if got := promName(c[0], c[1]); got != want {
			t.Errorf("%v: %s, want %s", c, got, want)
		}
	}
}

func TestProm(t *testing.T) {
	w := get(open(nil), "/prom")
	host, _ := os.Hostname()
	labels := `{context="yarn",hostname="` + host + `"}`
	for _, want := range []string{
		"# HELP node_manager_metrics_available_v_cores AvailableVCores\n# TYPE node_manager_metrics_available_v_cores gauge\n" +
			"node_manager_metrics_available_v_cores" + labels + " 2\n",
		"# TYPE node_manager_metrics_containers_launched counter\n",
		"node_manager_metrics_node_cpu_utilization" + labels + " 0.3730846\n",
		"# HELP odd_record_ratio a\\nb\n",
		"odd_record_ratio" + labels + " NaN\n",
		`jvm_metrics_gc_count{context="jvm",hostname="` + host + `",processname="NodeManager"} `,
		"# TYPE heddle_build_info gauge\nheddle_build_info{version=\"" + release.Version + `",commit="` + release.Own().Commit + `",hadoop="3.5.0",goversion="` + runtime.Version() + "\"} 1\n",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(w.Body.String(), "survivor") || strings.Contains(w.Body.String(), "odd_record_text") {
		t.Error("what is no number of Hadoop's was told")
	}
	lines := bufio.NewScanner(w.Body)
	for lines.Scan() {
		if line := lines.Text(); strings.Count(line, "\"")%2 != 0 || line == "" {
			t.Errorf("line %q", line)
		}
	}
	if w := get(open(func(c *Config) { c.PrometheusOff = true }), "/prom"); w.Code != http.StatusNotFound {
		t.Errorf("switched off: %d", w.Code)
	}
}

func TestConf(t *testing.T) {
	h := open(nil)
	w := get(h, "/conf")
	const asXML = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?><configuration>\n" +
		"<property><name>a.password</name><value>******</value><final>false</final><source>core-site.xml</source></property>\n" +
		"<property><name>b.text</name><value>&lt;${c.x}&gt;</value><final>true</final><source>yarn-site.xml</source></property>\n" +
		"<property><name>d.indirect</name><value>******</value><final>false</final><source>yarn-site.xml</source></property>\n" +
		"<property><name>e.mine</name><value>******</value><final>false</final><source>yarn-site.xml</source></property>\n" +
		"<property><name>f.empty</name><value></value><final>false</final><source></source></property>\n</configuration>\n"
	if w.Body.String() != asXML || w.Header().Get("Content-Type") != "text/xml;charset=utf-8" {
		t.Errorf("%v\n%s", w.Header(), w.Body)
	}
	if err := xml.Unmarshal(w.Body.Bytes(), new(any)); err != nil && !strings.Contains(err.Error(), "unknown type") {
		t.Error(err)
	}
	const one = `{"property":{"key":"b.text","value":"<9>","isFinal":true,"resource":"yarn-site.xml"}}` + "\n"
	for _, c := range []struct {
		path, accept string
		status       int
		want         string
	}{
		{"/conf?name=b.text", "application/json", 200, one},
		{"/conf?name=b.text&format=json", "", 200, one},
		{"/conf?name=b.text&format=xml", "application/json", 200, "<value>&lt;${c.x}&gt;</value>"},
		{"/conf?name=a.password&format=json", "", 200, `"value":"<redacted>"`},
		{"/conf?format=json", "", 200, `{"properties":[{"key":"a.password","value":"<redacted>","isFinal":false,"resource":"core-site.xml"},{"key":"b.text"`},
		{"/conf?name=none.such", "", 404, "none.such"},
		{"/conf?name=f.empty", "", 404, "f.empty"},
		{"/conf?format=bad", "", 400, "json or xml"},
	} {
		w := get(h, c.path, "Accept", c.accept)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), "1234") || strings.Contains(w.Body.String(), "5678") {
			t.Errorf("%s tells a secret: %s", c.path, w.Body)
		}
	}
}

// TestBadExpression: an expression that cannot be read hides everything.
func TestBadExpression(t *testing.T) {
	h := open(func(c *Config) { c.Sensitive = []string{"(?<!x)y"} })
	if body := get(h, "/conf").Body.String(); strings.Contains(body, "c.x") || strings.Count(body, "******") != 5 {
		t.Error(body)
	}
}

func TestAdministrators(t *testing.T) {
	for _, c := range []struct {
		only   bool
		path   string
		status int
	}{
		{false, "/jmx", 200}, {false, "/conf", 200}, {false, "/prom", 200},
		{false, "/stacks", 403}, {false, "/stacks?user.name=bob", 403}, {false, "/stacks?user.name=ada", 200},
		{true, "/jmx", 403}, {true, "/conf?user.name=bob", 403}, {true, "/prom?user.name=ada", 200},
	} {
		w := get(open(func(o *Config) { o.AdminOnly = c.only }), c.path)
		if w.Code != c.status {
			t.Errorf("%s with requires.admin %v: %d", c.path, c.only, w.Code)
		}
		if w.Code == http.StatusForbidden && !strings.Contains(w.Body.String(), "yarn.admin.acl") {
			t.Errorf("%s does not say what to do: %s", c.path, w.Body)
		}
	}
	if w := get(open(nil), "/stacks?user.name=ada"); !strings.Contains(w.Body.String(), "introspect.(*server).stacks") {
		t.Errorf("%.300s", w.Body)
	}
	if w := get(open(func(o *Config) { o.Admin = func(webgate.Caller) bool { return true } }), "/stacks"); w.Code != http.StatusForbidden {
		t.Errorf("whoever did not say who he is: %d", w.Code)
	}
}
