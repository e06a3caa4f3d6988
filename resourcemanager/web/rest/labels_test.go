package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

// labelled is the cluster with labels: the second node has gpu of its own, a
// host that was never here ssd.
func labelled() *webtest.Source {
	s := webtest.New()
	n := *s.Picture.Nodes[1]
	n.Labels = []string{"gpu"}
	s.Picture.Nodes[1] = &n
	s.Picture.Labels = &view.Labels{Known: []view.Label{{Name: "gpu", Exclusive: true}, {Name: "ssd"}},
		Nodes: []view.LabelledNode{{Node: yarn.NodeID{Host: "away"}, Label: "ssd"}}}
	return s
}

// TestPartitionMetrics: amounts are those of the default partition, but those
// that say that they are of all.
func TestPartitionMetrics(t *testing.T) {
	s := labelled()
	m := &s.Picture.Metrics
	m.Amounts = view.Amounts{ContainersAllocated: 5, ContainersPending: 6, Total: yarn.NewResource(8192, 8), Allocated: yarn.NewResource(5000, 5), Available: yarn.NewResource(3192, 3), PendingResource: yarn.NewResource(600, 6)}
	m.Default = view.Amounts{ContainersAllocated: 2, ContainersPending: 1, Total: yarn.NewResource(4096, 4), Allocated: yarn.NewResource(1000, 2), Available: yarn.NewResource(3096, 2), PendingResource: yarn.NewResource(100, 1)}
	body := get(serve(t, s, nil), "/metrics", "application/json").Body.String()
	for _, want := range []string{`"totalMB":4096`, `"allocatedMB":1000`, `"availableMB":3096`, `"pendingMB":100`, `"totalVirtualCores":4`, `"containersAllocated":2`, `"containersPending":1`,
		`"totalUsedResourcesAcrossPartition":{"memory":5000,`, `"totalClusterResourcesAcrossPartition":{"memory":8192,`, `"totalAllocatedContainersAcrossPartition":5`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
}

// TestUseByPartition: what an application uses in partitions with names is not in the row of the default one.
func TestUseByPartition(t *testing.T) {
	s := labelled()
	for i, a := range s.Picture.Applications {
		if a.ID == webtest.App(6) {
			b := *a
			b.UsedByLabel = map[string]yarn.Resource{"ssd": yarn.NewResource(256, 1), "gpu": yarn.NewResource(512, 2)}
			s.Picture.Applications[i] = &b
		}
	}
	body := get(serve(t, s, nil), "/apps/"+webtest.App(6).String(), "application/json").Body.String()
	from := 0
	for _, want := range []string{`"partitionName":"","used":{"memory":512,"vCores":1,`, `"partitionName":"gpu","used":{"memory":512,"vCores":2,`, `"partitionName":"ssd","used":{"memory":256,"vCores":1,`} {
		i := strings.Index(body[from:], want)
		if i < 0 {
			t.Fatalf("%s lacks %s after its character %d", body, want, from)
		}
		from += i
	}
}

func TestLabels(t *testing.T) {
	const gpu, ssd = `{"name":"gpu","exclusivity":true`, `{"name":"ssd","exclusivity":false`
	second := labelled().Picture.Nodes[1].ID.String()
	for _, c := range []struct {
		path string
		want []string
		not  string
	}{
		{"/get-node-labels", []string{`{"nodeLabelInfo":[` + gpu + `,"partitionInfo":{"resourceAvailable":{"memory":4096,`, ssd + `,"partitionInfo":{"resourceAvailable":{"memory":0,`}, "activeNMs"},
		{"/get-rm-node-labels", []string{`[{"name":"<DEFAULT_PARTITION>","exclusivity":true`, `"activeNMs":1},` + gpu, `"activeNMs":1},` + ssd, `"activeNMs":0}]}`}, ""},
		{"/get-node-to-labels", []string{`{"nodeToLabels":{"entry":[`, `{"key":"away:0","value":{"nodeLabelInfo":[` + ssd + `}]}}`, `{"key":"` + second + `","value":{"nodeLabelInfo":[` + gpu + `}]}}`}, ""},
		{"/label-mappings", []string{`{"labelsToNodes":{"entry":[{"key":` + gpu + `},"value":{"nodes":["` + second + `"],"partitionInfo":{`, `"nodes":["away:0"]`}, ""},
		{"/label-mappings?labels=ssd", []string{`[{"key":` + ssd}, "gpu"},
		{"/label-mappings?labels=none", []string{"{}"}, "entry"},
		{"/nodes/away/get-labels", []string{`{"nodeLabelInfo":[` + ssd + `}]}`}, ""},
		{"/nodes/away:7/get-labels", []string{`{"nodeLabelInfo":[` + ssd + `}]}`}, ""},
		{"/nodes/other:7/get-labels", []string{"{}"}, "name"},
		{"/nodes/other:x/get-labels", []string{`"exception":"IllegalArgumentException","message":"For input string: \"x\""`}, ""},
		{"/nodes/" + second, []string{`"nodeLabels":["gpu"]`}, ""},
	} {
		body := get(serve(t, labelled(), nil), c.path, "application/json").Body.String()
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: %s lacks %s", c.path, body, want)
			}
		}
		if c.not != "" && strings.Contains(body, c.not) {
			t.Errorf("%s: %s has %s", c.path, body, c.not)
		}
	}
	for path, want := range map[string]string{"/get-node-labels": "{}", "/get-node-to-labels": "{}", "/label-mappings": "{}"} {
		if body := get(serve(t, webtest.New(), nil), path, "application/json").Body.String(); body != want {
			t.Errorf("%s without labels: %s, want %s", path, body, want)
		}
	}
}

func TestChangeLabels(t *testing.T) {
	for _, c := range []struct {
		path, kind, body string
		err              error
		status           int
		want             string // the call, or what the answer has
	}{
		{"/add-node-labels", "json", `{"nodeLabelInfo":[{"name":"a","exclusivity":"true"},{"name":"b","exclusivity":false},{"name":"c"}]}`, nil, 200, "add labels by alice: [{a true} {b false} {c false}]"},
		{"/add-node-labels", "json", `{"nodeLabelInfo":{"name":"a","exclusivity":true}}`, nil, 200, "add labels by alice: [{a true}]"},
		{"/add-node-labels", "xml", `<nodeLabelsInfo><nodeLabelInfo><name>a</name><exclusivity>true</exclusivity></nodeLabelInfo></nodeLabelsInfo>`, nil, 200, "add labels by alice: [{a true}]"},
		{"/add-node-labels", "json", `{}`, nil, 200, "add labels by alice: []"},
		{"/add-node-labels", "json", `x`, nil, 400, "WebApplicationException"},
		{"/add-node-labels", "json", ``, nil, 400, "WebApplicationException"},
		{"/add-node-labels", "json", `null`, nil, 400, "WebApplicationException"},
		{"/add-node-labels", "json", `{"nodeLabelInfo":[7]}`, nil, 400, "WebApplicationException"},
		{"/add-node-labels", "xml", `<other/>`, nil, 400, "BadRequestException"},
		{"/add-node-labels", "xml", `<!DOCTYPE a [<!ENTITY e "a">]><nodeLabelsInfo><nodeLabelInfo><name>&e;</name></nodeLabelInfo></nodeLabelsInfo>`, nil, 400, "BadRequestException"},
		{"/add-node-labels", "json", `{}`, answer.Errorf(answer.Unauthorized, "not you"), 401, `"exception":"AuthorizationException","message":"not you"`},
		{"/remove-node-labels?labels=a&labels=b", "json", "", nil, 200, "remove labels by alice: [a b]"},
		{"/remove-node-labels", "json", "", answer.Errorf(answer.WrongState, "in use"), 400, `"exception":"BadRequestException","message":"in use"`},
		{"/replace-node-to-labels", "json", `{"nodeToLabels":[{"nodeId":"h:1","labels":["a"]},{"nodeId":"g","labels":"b"},{"nodeId":"f:2"}]}`, nil, 200,
			"replace-node-to-labels by alice: [{h:1 [a]} {g:0 [b]} {f:2 []}]"},
		{"/replace-node-to-labels", "xml", `<nodeToLabelsEntryList><nodeToLabels><nodeId>h:1</nodeId><labels>a</labels></nodeToLabels></nodeToLabelsEntryList>`, nil, 200,
			"replace-node-to-labels by alice: [{h:1 [a]}]"},
		{"/replace-node-to-labels", "json", `{"nodeToLabels":[{"nodeId":"h:x"}]}`, nil, 400, "IllegalArgumentException"},
		{"/nodes/h:1/replace-labels?labels=a", "json", "", nil, 200, "nodes/nodeid/replace-labels by alice: [{h:1 [a]}]"},
		{"/nodes/h:99999999999/replace-labels?labels=a", "json", "", nil, 400, "IllegalArgumentException"},
	} {
		fake := &webtest.Controller{Err: c.err}
		w := send(serve(t, webtest.New(), fake), http.MethodPost, c.path, c.kind, c.body)
		got := strings.Join(fake.Calls(), ";")
		if w.Code != 200 {
			got = w.Body.String()
		}
		if w.Code != c.status || !strings.Contains(got, c.want) || w.Code == 200 && (got != c.want || w.Body.Len() > 0 || w.Header().Get("Content-Type") != "") {
			t.Errorf("%s %s: %d %s %s, want %d %s", c.path, c.body, w.Code, got, w.Body, c.status, c.want)
		}
	}
}
