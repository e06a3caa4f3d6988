package nodelogs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const container = "container_1_0001_01_000001"

// node is a NodeManager with one log file, and what it was asked.
func node(t *testing.T, log string) (address string, asked *[]string) {
	asked = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.RequestURI())
		switch {
		case strings.HasSuffix(r.URL.Path, "/logs"):
			fmt.Fprint(w, `{"containerLogsInfo":[{"containerLogInfo":[{"fileName":"stdout","fileSize":"12"},{"fileName":"a/b <x>","fileSize":7}],"nodeId":"n:1"}]}`)
		case strings.HasSuffix(r.URL.Path, "/stdout"):
			fmt.Fprintf(w, "Container: %s on n:1\nLogAggregationType: LOCAL\n====\nLogType:stdout\nLogLastModifiedTime:now\nLogLength:%d\nLogContents:\n%s\nEnd of LogType:stdout.This log file belongs to a running container\n*****\n", container, len(log), log)
		default:
			http.Error(w, `{"RemoteException":{"message":"Cannot find this log"}}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), asked
}

func TestTail(t *testing.T) {
	const log = "LogContents:\nEnd of LogType:stdout\n\xff\u202e last"
	at, asked := node(t, log)
	c := New("http", "", nil)
	text, length, err := c.Tail(context.Background(), at, container, "stdout", "ana&b=c", 100)
	if want := strings.ToValidUTF8(log, "\ufffd"); err != nil || text != want || length != int64(len(log)) {
		t.Errorf("%q of %d, %v; want %q", text, length, err, want)
	}
	if got, want := (*asked)[0], "/ws/v1/node/containers/"+container+"/logs/stdout?size=-100&user.name=ana%26b%3Dc"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	var refused *Refusal
	if _, _, err := c.Tail(context.Background(), at, container, "../x", "", 1<<30); !errors.As(err, &refused) || refused.Status != 404 || !strings.HasSuffix(refused.Text, ": Cannot find this log") {
		t.Errorf("a file that is not there: %v", err)
	}
	if got, want := (*asked)[1], fmt.Sprintf("/ws/v1/node/containers/%s/logs/..%%2Fx?size=-%d", container, MaxBytes); got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

func TestFiles(t *testing.T) {
	at, _ := node(t, "")
	files, err := New("http", "", nil).Files(context.Background(), at, container, "")
	if err != nil || fmt.Sprint(files) != "[{stdout 12} {a/b <x> 7}]" {
		t.Errorf("%v, %v", files, err)
	}
}

// A node sends readers to the server of collected logs, if that is the one that is configured, and nowhere else.
func TestElsewhere(t *testing.T) {
	at, asked := node(t, "collected")
	var to string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	c := New("http", "http://"+at+"/ws/v1/history/", nil)
	to = "http://" + at + "/ws/v1/history/containers/" + container + "/logs/stdout?redirected_from_node=true"
	if text, _, err := c.Tail(context.Background(), strings.TrimPrefix(s.URL, "http://"), container, "stdout", "", 10); err != nil || text != "collected" {
		t.Errorf("%q, %v", text, err)
	}
	if got, want := (*asked)[0], "/ws/v1/history/containers/"+container+"/logs/stdout?redirected_from_node=true"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	*asked = nil
	// The node does not say in whose name the server is asked.
	to += "&user.name=root"
	if _, _, err := c.Tail(context.Background(), strings.TrimPrefix(s.URL, "http://"), container, "stdout", "ana", 10); err != nil || len(*asked) != 1 || !strings.HasSuffix((*asked)[0], "?redirected_from_node=true&user.name=ana") {
		t.Errorf("asked %v, %v", *asked, err)
	}
	*asked = nil
	for _, to = range []string{"http://" + at + "/ws/v1/historyX/containers/" + container + "/logs/stdout", "http://" + at + "/ws/v1/history/../admin/stdout",
		"http://" + at + "/ws/v1/history/%2e%2e/admin/stdout", "http://" + at + "/ws/v1/history/x%2fy/../../stdout", "http://" + at + "/ws/v1/history", "https://" + at + "/ws/v1/history/stdout",
		"http://me:too@" + at + "/ws/v1/history/stdout", "//" + at + "/ws/v1/history/stdout", "/ws/v1/history/stdout", "http://elsewhere/ws/v1/history/stdout"} {
		if _, _, err := c.Tail(context.Background(), strings.TrimPrefix(s.URL, "http://"), container, "stdout", "", 10); err == nil || !strings.Contains(err.Error(), "another address") || len(*asked) != 0 {
			t.Errorf("%s: %v, asked %v", to, err, *asked)
		}
	}
}

// What a node registers as its address leads to its pages or nowhere, and to no port of the daemon itself.
func TestAddresses(t *testing.T) {
	at, asked := node(t, "x")
	c := New("http", "", nil)
	_, port, _ := strings.Cut(at, ":")
	for _, bad := range []string{at + "/internal/admin?x=:8042", "127.0.0.1/internal/admin?x=:" + port, "127.0.0.1#:" + port, "me@127.0.0.1:" + port, "127.0.0.1", "::1:" + port, ":" + port, "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:http", "a b:" + port, ""} {
		if _, err := c.Files(context.Background(), bad, container, ""); err == nil || len(*asked) != 0 {
			t.Errorf("%q: %v, asked %v", bad, err, *asked)
		}
	}
	own := New("http", "", func(p uint16) bool { return fmt.Sprint(p) == port })
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if _, err := own.Files(context.Background(), host+":"+port, container, ""); err == nil || !strings.Contains(err.Error(), "a port of this ResourceManager") || len(*asked) != 0 {
			t.Errorf("%s: %v, asked %v", host, err, *asked)
		}
	}
	if _, err := c.Files(context.Background(), at, container, ""); err != nil || len(*asked) != 1 {
		t.Errorf("%v, asked %v", err, *asked)
	}
}

func TestBounds(t *testing.T) {
	c := New("http", "", nil)
	for range atOnce {
		c.places <- struct{}{}
	}
	if _, err := c.Files(context.Background(), "127.0.0.1:1", container, ""); !errors.Is(err, ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "LogContents:\n")
		for range 10_000 {
			fmt.Fprint(w, strings.Repeat("x", 1000))
		}
	}))
	defer s.Close()
	text, _, err := New("http", "", nil).Tail(context.Background(), strings.TrimPrefix(s.URL, "http://"), container, "stdout", "", 1000)
	if err != nil || len(text) > 1000+margin {
		t.Errorf("%d bytes of a node that sends too many, %v", len(text), err)
	}
}

func FuzzContent(f *testing.F) {
	f.Add("LogLength:3\nLogContents:\nabc\nEnd of LogType:x\n")
	f.Fuzz(func(t *testing.T, body string) {
		if text, _ := content(body); len(text) > len(body) {
			t.Errorf("%q", text)
		}
	})
}
