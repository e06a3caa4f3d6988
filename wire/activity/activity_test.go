package activity_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/wire/activity"
	"github.com/heddle-project/heddle/wire/ipc"
)

const protocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

// TestBeans: calls are told by Hadoop's names, under /jmx and under /prom.
func TestBeans(t *testing.T) {
	s, err := ipc.Listen(ipc.ServerConfig{Name: "client", Address: "127.0.0.1:0", Methods: []ipc.Method{ipc.MethodSimple}, Protocols: []ipc.Protocol{{Name: protocol, Version: 1,
		Methods: map[string]ipc.Handler{"getQueueInfo": func(c *ipc.Call) { c.Reply(nil) }, "failing": func(c *ipc.Call) { c.Fail(&ipc.RemoteError{Class: ipc.ClassStandby, Message: "no"}) }}}}})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	c := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: "ann"}})
	for range 3 {
		if _, err := c.Call(t.Context(), s.Addr().String(), protocol, "getQueueInfo", nil); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = c.Call(t.Context(), s.Addr().String(), protocol, "failing", nil)
	more := func(m *introspect.Means) []introspect.Bean {
		return activity.Beans("ResourceManager", []activity.Port{{Server: s, Name: "ApplicationClientProtocolService"}}, m)
	}
	r := webgate.NewRouter("/", "")
	introspect.Add(r, introspect.Config{Service: "ResourceManager", More: more, Properties: func() []introspect.Property { return nil }})
	port := s.Addr().String()[strings.LastIndex(s.Addr().String(), ":")+1:]
	get := func(path string) string {
		w := httptest.NewRecorder()
		webgate.New(webgate.Config{}, r).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Body.String()
	}
	for path, want := range map[string][]string{
		"/jmx": {`"name" : "Hadoop:service=ResourceManager,name=RpcActivityForPort` + port + `"`, `"tag.serverName" : "ApplicationClientProtocolService"`, `"TotalRequests" : 4`,
			`"RpcCallSuccesses" : 3`, `"RpcProcessingTimeNumOps" : 4`, `"NumOpenConnections" : 1`, `"tag.NumOpenConnectionsPerUser" : "{\"ann\":1}"`,
			`"name" : "Hadoop:service=ResourceManager,name=RpcDetailedActivityForPort` + port + `"`, `"GetQueueInfoNumOps" : 3`, `"OverallGetQueueInfoNumOps" : 3`, `"FailingNumOps" : 1`},
		"/prom": {`rpc_rpc_processing_time_num_ops{port="` + port + `",servername="ApplicationClientProtocolService",context="rpc"`, `rpcdetailed_get_queue_info_num_ops{port="` + port + `"`},
	} {
		missing := ""
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) { // a call counts after its answer is sent
			body := get(path)
			missing = ""
			for _, x := range want {
				if !strings.Contains(body, x) {
					missing = x + " in " + body
				}
			}
			if missing == "" {
				break
			}
		}
		if missing != "" {
			t.Errorf("%s: no %.3000s", path, missing)
		}
	}
	if strings.Contains(get("/prom"), "numopenconnectionsperuser") {
		t.Error("numbers are labels")
	}
	c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
