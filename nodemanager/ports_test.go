package nodemanager

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/ipc"
)

// While no ResourceManager takes its reports a NodeManager says so once a minute, and once that one takes them again.
func TestNobodyTakesReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := &Daemon{settings: &conf.NodeManager{}}
		d.Log = slog.New(slog.NewTextHandler(&out, nil))
		d.settings.Tracker.Attempts = 31
		retried, answered := d.unanswered()
		said := func(nobody, again int) {
			t.Helper()
			if strings.Count(out.String(), "no ResourceManager takes") != nobody || strings.Count(out.String(), "takes the node's reports again") != again {
				t.Fatalf("want %d and %d:\n%s", nobody, again, out.String())
			}
		}
		failed := ipc.Retry{Address: "rm:8031", Attempt: 1, Err: errors.New("refused")}
		answered("rm:8031")
		retried(failed) // another one may take it
		answered("rm:8031")
		said(0, 0)
		failed.Attempt, failed.Nobody = 2, true
		for second := range 150 {
			retried(failed)
			said(1+second/60, 0)
			time.Sleep(time.Second)
		}
		answered("rm:8031")
		answered("rm:8031")
		said(3, 1)
		retried(failed) // 30 s after the last warning
		said(3, 1)
		time.Sleep(time.Minute)
		retried(failed)
		said(4, 1)
		if !strings.Contains(out.String(), "the NodeManager ends after 31 attempts (yarn.resourcemanager.connect.max-wait.ms)") || !strings.Contains(out.String(), "last=rm:8031 error=refused") {
			t.Error(out.String())
		}
		out.Reset()
		d.settings.Tracker.Attempts = math.MaxInt
		retried, _ = d.unanswered()
		retried(failed)
		if said(1, 0); strings.Contains(out.String(), "ends") {
			t.Error(out.String())
		}
	})
}

// A ResourceManager that hangs is waited for as long as ipc.client.rpc-timeout.ms says.
func TestAResourceManagerThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	rm := ipc.NewClient(reporting(&conf.Tracker{CallTimeout: 20 * time.Millisecond}, "yarn"))
	defer rm.Close()
	if _, err := rm.Call(t.Context(), hangs.Addr().String(), "p", "nodeHeartbeat", nil); err == nil || !strings.Contains(err.Error(), "no answer within 20ms") {
		t.Error(err)
	}
}
