package audit

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/heddle-project/heddle/yarn"
)

var (
	app       = yarn.ApplicationID{ClusterTimestamp: 1700000000000, Sequence: 7}
	attempt   = yarn.AttemptID{Application: app, Attempt: 1}
	container = yarn.ContainerID{Attempt: attempt, Number: 2}
	here      = netip.MustParseAddr("10.0.0.7")
)

// written is what a log writes of entries.
func written(o Options, entries ...Entry) string {
	var out bytes.Buffer
	o.Now = func() time.Time { return time.Date(2026, 11, 22, 2, 10, 4, 123e6, time.UTC) }
	l := New(&out, o)
	for _, e := range entries {
		l.Write(e)
	}
	l.Close()
	return out.String()
}

// TestLines: keys, order and words are those of Hadoop's loggers.
func TestLines(t *testing.T) {
	rm := Options{Name: "resourcemanager.RMAuditLogger", Permissions: true}
	nm := Options{Name: "nodemanager.NMAuditLogger"}
	const rmInfo, rmWarn = "2026-11-22 02:10:04,123+0000 INFO resourcemanager.RMAuditLogger: ", "2026-11-22 02:10:04,123+0000 WARN resourcemanager.RMAuditLogger: "
	for _, c := range []struct {
		o     Options
		entry Entry
		want  string
	}{
		{rm, Entry{User: "alice", From: here, Operation: Submit, Target: "ClientRMService", Application: app, Caller: "CLI", Queue: "default", Label: "gpu"},
			rmInfo + "USER=alice\tIP=10.0.0.7\tOPERATION=Submit Application Request\tTARGET=ClientRMService\tRESULT=SUCCESS\tAPPID=application_1700000000000_0007\tCALLERCONTEXT=CLI\tQUEUENAME=default\tNODELABEL=gpu"},
		{rm, Entry{User: "bob", From: netip.MustParseAddr("::ffff:10.0.0.7"), Operation: Kill, Target: "ClientRMService", Failed: true, Description: Unauthorized, Permissions: "User doesn't have permissions to MODIFY_APP", Application: app},
			rmWarn + "USER=bob\tIP=10.0.0.7\tOPERATION=Kill Application Request\tTARGET=ClientRMService\tRESULT=FAILURE\tDESCRIPTION=Unauthorized user\tPERMISSIONS=User doesn't have permissions to MODIFY_APP\tAPPID=application_1700000000000_0007"},
		{rm, Entry{User: "root", From: netip.IPv4Unspecified(), Operation: "refreshQueues", Target: "AdminService", Failed: true},
			rmWarn + "USER=root\tOPERATION=refreshQueues\tTARGET=AdminService\tRESULT=FAILURE\tDESCRIPTION=\tPERMISSIONS="},
		{rm, Entry{User: "alice", Operation: Register, Target: "ApplicationMasterService", Application: app, Attempt: attempt},
			rmInfo + "USER=alice\tOPERATION=Register App Master\tTARGET=ApplicationMasterService\tRESULT=SUCCESS\tAPPID=application_1700000000000_0007\tAPPATTEMPTID=appattempt_1700000000000_0007_000001"},
		{nm, Entry{User: "alice", Operation: EndFailed, Target: "ContainerImpl", Failed: true, Description: "Container failed with state: EXITED_WITH_FAILURE", Permissions: "not told", Application: app, Container: container},
			"2026-11-22 02:10:04,123+0000 WARN nodemanager.NMAuditLogger: USER=alice\tOPERATION=Container Finished - Failed\tTARGET=ContainerImpl\tRESULT=FAILURE\tDESCRIPTION=Container failed with state: EXITED_WITH_FAILURE\tAPPID=application_1700000000000_0007\tCONTAINERID=container_1700000000000_0007_01_000002"},
	} {
		if got := written(c.o, c.entry); got != c.want+"\n" {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// TestNobodyForgesLines: whatever stands in names, there is one line with the fields that we wrote.
func TestNobodyForgesLines(t *testing.T) {
	evil := "x\tRESULT=SUCCESS\n2026-11-22 02:10:04,123+0000 INFO resourcemanager.RMAuditLogger: USER=root\r\u2028\u202e\x1b[2J\xff\u0085"
	got := written(Options{Name: "rm", Permissions: true}, Entry{User: evil, Operation: Submit, Target: "ClientRMService", Failed: true, Description: evil, Permissions: evil, Application: app, Caller: evil, Queue: evil, Label: evil})
	if strings.Count(got, "\n") != 1 || strings.Count(got, "\t") != 9 || strings.ContainsAny(got, "\r\u2028\u202e\x1b\u0085") || !utf8.ValidString(got) {
		t.Errorf("%q", got)
	}
	var keys []string
	for _, f := range strings.Split(got[strings.Index(got, "USER="):], "\t") {
		key, _, _ := strings.Cut(f, "=")
		keys = append(keys, key)
	}
	if want := "USER OPERATION TARGET RESULT DESCRIPTION PERMISSIONS APPID CALLERCONTEXT QUEUENAME NODELABEL"; strings.Join(keys, " ") != want {
		t.Errorf("fields %q, want %q", keys, want)
	}
	if got := written(Options{}, Entry{User: strings.Repeat("x", 1<<20)}); len(got) > 2*maxValue {
		t.Errorf("a line of %d bytes", len(got))
	}
}

// TestLevels: at WARN only failures are told, and the nil log tells nothing.
func TestLevels(t *testing.T) {
	if got := written(Options{Least: slog.LevelWarn}, Entry{User: "good"}, Entry{User: "bad", Failed: true}); strings.Contains(got, "good") || !strings.Contains(got, "bad") {
		t.Errorf("%q", got)
	}
	var none *Log
	none.Write(Entry{})
	none.Close()
}

// stuck is a disk that answers only when it may.
type stuck struct {
	may    chan bool
	mu     sync.Mutex
	lines  int
	writes int
}

func (s *stuck) Write(b []byte) (int, error) {
	if !<-s.may {
		return 0, errors.New("the disk is full")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines += bytes.Count(b, []byte("\n"))
	s.writes++
	return len(b), nil
}

// TestNobodyWaits: a disk that hangs or refuses costs lines, which are counted, and nobody's time.
func TestNobodyWaits(t *testing.T) {
	out, told := &stuck{may: make(chan bool)}, &bytes.Buffer{}
	l := New(out, Options{Log: slog.New(slog.NewTextHandler(told, nil))})
	const more = 10
	for range MaxWaiting + together + more { // some of them may have been taken from the queue
		l.Write(Entry{User: "x"})
	}
	out.may <- false
	go func() {
		for {
			select {
			case out.may <- true:
			case <-l.done:
				return
			}
		}
	}()
	l.Close()
	if n := MaxWaiting + together + more - out.lines; n < more+1 || n > more+together || !strings.Contains(told.String(), "audit log are lost") {
		t.Errorf("%d lines lost; told: %s", n, told)
	}
	if most := MaxWaiting/together + 2; out.writes > most {
		t.Errorf("%d writes, want %d at the most: lines that wait go out together", out.writes, most)
	}
	l.Write(Entry{User: "late"})
}

// TestLongLines: lines that wait are bounded in bytes, too, and room comes back when they are written.
func TestLongLines(t *testing.T) {
	out := &stuck{may: make(chan bool)}
	l := New(out, Options{})
	long := Entry{User: strings.Repeat("\x01", maxValue), Failed: true, Description: strings.Repeat("\x01", maxValue)}
	for range MaxWaitingBytes / (10 * maxValue) { // each of them takes twelve times as much
		l.Write(long)
	}
	l.mu.Lock()
	if l.waiting > MaxWaitingBytes || l.dropped == 0 {
		t.Errorf("%d bytes wait, %d lines are lost", l.waiting, l.dropped)
	}
	l.mu.Unlock()
	close(out.may) // every write fails from now on
	l.Close()
	if l.waiting != 0 {
		t.Errorf("%d bytes wait after all are written", l.waiting)
	}
}

// TestLossIsTold: also of lines that were lost soon after the last telling, when the log is closed.
func TestLossIsTold(t *testing.T) {
	out, told := &stuck{may: make(chan bool)}, &bytes.Buffer{}
	l := New(out, Options{Log: slog.New(slog.NewTextHandler(told, nil))})
	for range 2 {
		l.Write(Entry{User: "x"})
		out.may <- false
	}
	l.Close()
	if n := strings.Count(told.String(), "lines=1"); n != 2 {
		t.Errorf("told %d times: %s", n, told)
	}
}
