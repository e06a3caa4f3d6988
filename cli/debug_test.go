package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client/clienttest"
)

func TestDebugRecord(t *testing.T) {
	const whole = `{"recording":{"commands":120,"missing":0,"file":"/logs/a\u202e.blackbox","allBytes":77}}`
	var asked, answer string
	status := http.StatusOK
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = fmt.Sprintf("%s %s %s", r.Method, r.URL, body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer web.Close()
	rm := clienttest.Start(t, nil)
	dir := rm.ConfDir(t, "yarn.resourcemanager.webapp.address="+strings.TrimPrefix(web.URL, "http://"))
	const path = "/ws/v1/cluster/recording?user.name=alice"
	for _, c := range []struct {
		args          []string
		status        int
		answer, asked string
		code          int
		says          string
	}{
		{nil, 200, whole, `PUT ` + path + ` {"action":"save"}`, 0, "has written /logs/a\\u202e.blackbox: 120 commands\nPlay it with the same build: yarn sim rerun FILE\n"},
		{nil, 200, `{"recording":{"commands":120,"missing":20,"file":"/f"}}`, `PUT ` + path + ` {"action":"save"}`, 0, "/f: 100 commands\nThe first 20 commands are missing"},
		{[]string{"-start"}, 200, whole, `PUT ` + path + ` {"action":"start"}`, 0, "writes all commands to /logs"},
		{[]string{"-stop"}, 200, whole, `PUT ` + path + ` {"action":"stop"}`, 0, "77 bytes, all commands"},
		{[]string{"-stop"}, 200, `{"recording":{"file":"/f","allClosed":"the file is full"}}`, `PUT ` + path + ` {"action":"stop"}`, 0, "ended early: the file is full"},
		{[]string{"-status"}, 200, `{"recording":{"commands":120,"missing":20,"all":"/all","allBytes":5}}`, `GET ` + path + ` `, 0,
			"has applied 120 commands since its start and keeps the last 100\nAll of them go to /all: 5 bytes so far\n"},
		{[]string{"-status", "--output", "json"}, 200, whole, `GET ` + path + ` `, 0, `"commands": 120`},
		{nil, 401, `{"RemoteException":{"message":"Recordings are for administrators"}}`, `PUT ` + path + ` {"action":"save"}`, 1, "Recordings are for administrators"},
		{nil, 404, `<html>`, `PUT ` + path + ` {"action":"save"}`, 1, "no ResourceManager of Heddle, or an older one"},
		{nil, 500, ``, `PUT ` + path + ` {"action":"save"}`, 1, "answered 500"},
		{nil, 200, `nonsense`, `PUT ` + path + ` {"action":"save"}`, 1, "something else"},
		{[]string{"-start", "-stop"}, 200, whole, ``, 255, "Invalid Command Usage"},
		{[]string{"more"}, 200, whole, ``, 255, "Invalid Command Usage"},
	} {
		asked, answer, status = "", c.answer, c.status
		got := newWorld().run(append([]string{"--config", dir, "debug", "record"}, c.args...)...)
		if asked != c.asked || got.code != c.code || !strings.Contains(got.out+got.err, c.says) {
			t.Errorf("%q: asked %q, exit %d, want %q, %d\n%s%s", c.args, asked, got.code, c.asked, c.code, got.out, got.err)
		}
	}
}
