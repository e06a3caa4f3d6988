package view

import (
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

func TestSecondsCountLiveContainers(t *testing.T) {
	a := &Application{Usage: &Usage{ResourceSeconds: yarn.NewResource(1000, 2)}}
	if got := a.SecondsAt(5000); got != yarn.NewResource(1000, 2) {
		t.Errorf("without an attempt: %v", got)
	}
	a.Usage.LiveAmount, a.Usage.LiveSeconds, a.Usage.LiveAt = yarn.NewResource(512, 3), yarn.NewResource(600, 1), 2000
	for now, want := range map[int64]yarn.Resource{1500: yarn.NewResource(1600, 3), 2000: yarn.NewResource(1600, 3), 4500: yarn.NewResource(1600+2*512, 3+6)} {
		if got := a.SecondsAt(now); got != want {
			t.Errorf("at %d: %v, want %v", now, got, want)
		}
	}
}

func TestLogsAreNotAwaitedForEver(t *testing.T) {
	a := &Application{State: yarn.AppFinished, FinishTime: 1000, Common: &Common{LogPatience: 500}, LogNodes: 1, Logs: LogsRunning}
	if got := a.LogStatusAt(9000); got != 0 {
		t.Errorf("without an attempt: %d", got)
	}
	a.Attempts = []*Attempt{{}}
	if got := a.LogStatusAt(1500); got != LogsRunning {
		t.Errorf("in time: %d", got)
	}
	if got := a.LogStatusAt(1501); got != LogsTimedOut {
		t.Errorf("late: %d", got)
	}
	a.Logs = LogsSucceeded
	if got := a.LogStatusAt(9000); got != LogsSucceeded {
		t.Errorf("done: %d", got)
	}
}

func TestTrackingURLs(t *testing.T) {
	p := Places{Pages: "http://rm:8088", Proxy: "http://proxy:9099"}
	a := &Application{ID: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 7}}
	for _, c := range []struct {
		name               string
		attempt            *Attempt
		unmanaged          bool
		tracking, original string
	}{
		{"none", nil, false, "http://proxy:9099/proxy/application_1_0007/", NotAvailable},
		{"silent", &Attempt{State: yarn.AttemptLaunched, Master: &Master{}}, false, "http://proxy:9099/proxy/application_1_0007/", NotAvailable},
		{"told", &Attempt{State: yarn.AttemptRunning, Master: &Master{OriginalTrackingURL: "http://am:1/"}}, false, "http://proxy:9099/proxy/application_1_0007/", "http://am:1/"},
		{"failed", &Attempt{State: yarn.AttemptFailed, Master: &Master{OriginalTrackingURL: "http://am:1/"}}, false, "http://rm:8088/cluster/app/application_1_0007", "http://rm:8088/cluster/app/application_1_0007"},
		{"unmanaged", &Attempt{State: yarn.AttemptRunning, Master: &Master{OriginalTrackingURL: "http://am:1/"}}, true, "http://am:1/", "http://am:1/"},
	} {
		a.Unmanaged = c.unmanaged
		if got := p.TrackingURL(a, c.attempt); got != c.tracking {
			t.Errorf("%s: %s", c.name, got)
		}
		if got := p.OriginalURL(a, c.attempt); got != c.original {
			t.Errorf("%s: original %s", c.name, got)
		}
	}
}
