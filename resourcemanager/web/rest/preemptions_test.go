package rest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

// takings are two events, the youngest first.
func takings() []view.Preemption {
	of := func(app int32, number int64) yarn.ContainerID {
		return yarn.ContainerID{Attempt: yarn.AttemptID{Application: webtest.App(app), Attempt: 1}, Number: number}
	}
	return []view.Preemption{
		{At: 6000, Event: view.Noticed, Container: of(7, 3), Queue: "root.dev", Resource: yarn.NewResource(2048, 1), Master: true, Age: 5000, Rule: "balance", ForQueue: "root.prod",
			ForApp: webtest.App(8)},
		{At: 5000, Event: view.Preempted, Container: of(6, 2), Queue: "root.dev", Resource: yarn.NewResource(1024, 1), Age: 4000, Rule: "guarantee", ForQueue: "root.prod",
			ForApp: webtest.App(8)},
		{At: 4000, Event: view.Observed, Container: of(9, 2), Queue: "root.other", Resource: yarn.NewResource(1024, 1), Rule: "within-queue"},
	}
}

// stamped has the ids of the fixed cluster for those of cluster 1.
func stamped(text string) string {
	return strings.ReplaceAll(text, "_1_00", strings.TrimPrefix(webtest.App(1).String(), "application")[:15]+"00")
}

func TestPreemptions(t *testing.T) {
	s := webtest.New()
	s.Taken = takings()
	h := serve(t, s, &webtest.Controller{})
	for path, want := range map[string]string{
		"": `{"preemptions":{"preemption":[{"time":6000,"event":"noticed","containerId":"container_1_0007_01_000003","appId":"application_1_0007","queue":"root.dev",` +
			`"memoryMB":2048,"vCores":1,"master":true,"ageMillis":5000,"rule":"balance","forQueue":"root.prod","forAppId":"application_1_0008","lostMemorySeconds":0,` +
			`"lostVcoreSeconds":0},{"time":5000,"event":"preempted",`,
		"?queue=dev&limit=1":   `"appId":"application_1_0007"`,
		"?queue=root.prod":     `"lostMemorySeconds":4096,"lostVcoreSeconds":4}]}}`,
		"?queue=root&limit=50": `"event":"observed","containerId":"container_1_0009_01_000002","appId":"application_1_0009","queue":"root.other"`,
	} {
		w := get(h, "/preemptions"+path, "")
		want = stamped(want)
		if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s\nwant %s", path, w.Code, body, want)
		}
		valid(t, w.Body.String())
	}
	if body := get(h, "/preemptions?queue=dev&limit=1", "").Body.String(); strings.Count(body, "containerId") != 1 {
		t.Error(body)
	}
	for path, want := range map[string]int{"?queue=nowhere": 404, "?limit=x": 400, "?limit=0": 400} {
		if w := get(h, "/preemptions"+path, ""); w.Code != want {
			t.Errorf("%s: %d, want %d: %s", path, w.Code, want, w.Body)
		}
	}
	s.Err = errors.New("gone")
	if w := get(h, "/preemptions", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d", w.Code)
	}
}
