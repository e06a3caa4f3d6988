package resourcemanager

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
)

// What happens to an application is told in order, and the stream goes on after the id that was last seen.
func TestFollow(t *testing.T) {
	w := newWorld(t, twoQueues)
	n := w.newNode()
	alice := w.as("alice")
	app := alice.submit()
	n.launched().register()
	read := func(query string) (steps []string, last string) {
		res, err := http.Get("http://" + w.d.webAddr + "/ws/v1/cluster/events?follow=false&" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			var e struct{ ID, Type, AppID, To, Event string }
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			if last = e.ID; e.Type != "start" && e.Type != "gap" {
				steps = append(steps, e.Type+" "+e.To+e.Event)
			} else {
				steps = append(steps, e.Type)
			}
		}
		return steps, last
	}
	all, last := read("since=1-0&type=application,container&application=" + app.String())
	want := "gap|application NEW_SAVING|application SUBMITTED|application ACCEPTED|container allocated|application RUNNING"
	if got := strings.Join(all, "|"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	kill := &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(app)}
	until(t, "the application is killed", func() bool {
		return must(alice, "forceKillApplication", kill, &pb.KillApplicationResponse{}).GetIsKillCompleted()
	})
	more, _ := read("since=" + last + "&type=container")
	if got := strings.Join(more, "|"); got != "start|container ended" {
		t.Errorf("then %s", got)
	}
}
