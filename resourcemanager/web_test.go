package resourcemanager

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// web asks a web service of the cluster, path is below /ws/v1/cluster/, and decodes the answer.
func (w *world) web(method, path, body string, into any) (status int) {
	w.t.Helper()
	r, err := http.NewRequest(method, "http://"+w.d.webAddr+"/ws/v1/cluster/"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		w.t.Fatalf("%d %s: %v", answer.StatusCode, text, err)
	}
	return answer.StatusCode
}
