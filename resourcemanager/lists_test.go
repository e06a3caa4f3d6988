package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/hosts"
	"github.com/heddle-project/heddle/internal/hosts/hoststest"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

func lists(t testing.TB, include, exclude string) *hosts.Lists {
	t.Helper()
	in, err := hosts.ParseText([]byte(include))
	if err != nil {
		t.Fatal(err)
	}
	out, err := hosts.ParseJSON([]byte(exclude), hosts.Exclude, false)
	if err != nil {
		t.Fatal(err)
	}
	return &hosts.Lists{Include: in, Exclude: out}
}

func viewed(hosts ...string) (out []yarn.NodeID) {
	for _, h := range hosts {
		out = append(out, yarn.NodeID{Host: h, Port: 8041})
	}
	return out
}

// What an entry says of a node goes before the request; whoever stands in no list is untracked.
func TestExclusions(t *testing.T) {
	l := lists(t, "a b c d e f", `{"exclude":[{"host":"a"},{"host":"B","timeoutSecs":5},{"host":"c","deadline":"2026-11-24T18:00:00Z","reason":"disk"},
		{"host":"10.0.0.4","timeoutSecs":-1,"reason":"by address"}]}`)
	ips := map[string]string{"d": "10.0.0.4", "e": "10.0.0.5"}
	got := exclusions(l, viewed("a", "b", "c", "d", "e", "x"), func(h string) string { return ips[h] }, 60)
	want := map[string]engine.Exclusion{"a": {Timeout: 60}, "b": {Timeout: 5}, "c": {Timeout: 60, Deadline: 1795543200000, Reason: "disk"},
		"d": {Timeout: -1, Reason: "by address"}, "x": {Timeout: 60, Untracked: true}}
	for host, x := range want {
		if have, ok := got[yarn.NodeID{Host: host, Port: 8041}]; !ok || have != x {
			t.Errorf("%s: %+v, want %+v", host, have, x)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d nodes are excluded: %v", len(got), got)
	}
}

// Addresses are looked up for lists that have addresses alone, each host once, some at a time, and no longer than it is bearable.
func TestNodeAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 200 {
			names = append(names, fmt.Sprintf("n%d", i))
		}
		var asked, running, most atomic.Int64
		lookup := func(ctx context.Context, host string) (string, error) {
			asked.Add(1)
			now := running.Add(1)
			defer running.Add(-1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			time.Sleep(time.Millisecond) // all that may run do
			switch host {
			case "n7":
				return "", errors.New("no such host")
			case "n8", "n9":
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "10.0.0." + strings.TrimPrefix(host, "n"), nil
		}
		find := func(l *hosts.Lists, names ...string) *nodeAddresses {
			a := &nodeAddresses{lists: l, lookup: lookup, known: map[string]string{}, before: func(host string) string {
				if host == "n9" {
					return "10.9.9.9"
				}
				return ""
			}}
			ctx, cancel := context.WithTimeout(t.Context(), lookupPatience)
			defer cancel()
			a.find(ctx, viewed(names...))
			a.find(ctx, viewed(names...))
			return a
		}
		if find(lists(t, "n1 n2", `{"exclude":[{"host":"n3"}]}`), names...); asked.Load() != 0 {
			t.Errorf("%d hosts were looked up for lists of names", asked.Load())
		}
		by := lists(t, "", `{"exclude":[{"host":"10.0.0.5"},{"host":"n6"}]}`)
		a := find(by, append(names, "n5", "10.0.0.77")...)
		if asked.Load() != 199 || most.Load() > maxLookups || a.failed != 3 || a.unknown != 2 || a.of("n5") != "10.0.0.5" || a.of("n6") != "" || a.of("n7") != "" || a.of("n8") != "" || a.of("n9") != "10.9.9.9" {
			t.Errorf("asked for %d, %d at a time; %+v", asked.Load(), most.Load(), a)
		}
		var log strings.Builder
		a.warn(slog.New(slog.NewTextHandler(&log, nil)))
		if strings.Count(log.String(), "level=WARN") != 1 || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "hosts=3 withoutAddress=2 of=199 error=") {
			t.Errorf("the log: %s", log.String())
		}
	})
}

// listed is a world with one node, both lists in files of their own, and whoever refreshes.
type listed struct {
	*world
	include, exclude string
}

func newListed(t *testing.T, ending string) *listed {
	w := newWorld(t, twoQueues)
	l := &listed{w, filepath.Join(w.dir, "include"+ending), filepath.Join(w.dir, "exclude"+ending)}
	l.name()
	return l
}

func (l *listed) name() {
	l.set("yarn.resourcemanager.nodes.include-path", l.include)
	l.set("yarn.resourcemanager.nodes.exclude-path", l.exclude)
}

func (l *listed) write(path, text string) {
	l.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *listed) refresh(how pb.DecommissionType) error {
	_, err := l.admin(operator).raw("refreshNodes", &pb.RefreshNodesRequest{DecommissionType: how.Enum(), DecommissionTimeout: proto.Int32(600)})
	return err
}

// A refresh that cannot have both lists changes nothing, whichever of them is broken, and in either mode; what HUP starts neither.
func TestBrokenLists(t *testing.T) {
	l := newListed(t, "")
	n := l.newNode()
	l.write(l.include, "127.0.0.1 n1")
	l.write(l.exclude, "n2")
	if err := l.refresh(pb.DecommissionType_DECOMMISSION_TYPE_NORMAL); err != nil {
		t.Fatal(err)
	}
	before := l.d.lists.Load()
	pipe := filepath.Join(l.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// Whoever took a broken list for an empty one would shut the node down: the other list has changed, too.
	for name, content := range map[string]string{"bytes": "127.0.0.1\n\xff", "x.xml": "<hosts>\n<host>", "doctype.xml": "<!DOCTYPE a><a/>", "timeout.xml": "<a><host><name>n</name><timeout>x</timeout></host></a>",
		"x.json": "{\"exclude\":[],\n}", "date.json": `{"exclude":[{"host":"n1","deadline":"soon"}]}`, "both.json": `{"include":[],"exclude":[]}`,
		"large": strings.Repeat("\n", hosts.MaxFile+1), "": "", "pipe": "", "missing": ""} {
		path := filepath.Join(l.dir, name)
		if content != "" {
			l.write(path, content)
		}
		for _, include := range []bool{true, false} {
			l.name()
			if include {
				l.set("yarn.resourcemanager.nodes.include-path", path)
				l.write(l.exclude, "127.0.0.1")
			} else {
				l.set("yarn.resourcemanager.nodes.exclude-path", path)
				l.write(l.include, "n9")
			}
			for _, how := range []pb.DecommissionType{pb.DecommissionType_DECOMMISSION_TYPE_NORMAL, pb.DecommissionType_GRACEFUL} {
				refused(t, l.refresh(how), yarnException, "refreshNodes failed and changed nothing: cannot read the "+map[bool]string{true: "include", false: "exclude"}[include]+" list")
				refused(t, l.refresh(how), yarnException, path)
			}
			l.d.Reread(t.Context())
			if l.d.lists.Load() != before {
				t.Fatalf("%s: other lists are in force", name)
			}
			l.write(l.include, "127.0.0.1 n1")
			l.write(l.exclude, "n2")
		}
	}
	report := must(l.as("alice"), "getClusterNodes", &pb.GetClusterNodesRequest{}, &pb.GetClusterNodesResponse{}).NodeReports
	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL || len(report) != 1 || report[0].GetNodeState() != pb.NodeState_NS_RUNNING {
		t.Errorf("the node is told %v, and is %v", r, report)
	}
}

// Each list that is broken leaves those in force alone, in either mode.
func TestEachBrokenList(t *testing.T) {
	l := newListed(t, "")
	l.write(l.include, "n1")
	before := l.d.lists.Load()
	for i, c := range hoststest.Lists() {
		l.exclude = filepath.Join(t.TempDir(), c.File)
		l.write(l.exclude, c.Content)
		l.name()
		for _, how := range []engine.Decommission{engine.AtOnce, engine.Graceful} {
			_, err := l.term().RefreshNodes(how, nil)
			if err == nil || !strings.Contains(err.Error(), c.Want) || !strings.Contains(err.Error(), l.exclude) || l.d.lists.Load() != before {
				t.Errorf("%d: %v; want %q", i, err, c.Want)
			}
		}
	}
}

// A list that no property names any more is gone.
func TestListNoLongerNamed(t *testing.T) {
	l := newListed(t, "")
	l.write(l.include, "n1")
	l.write(l.exclude, "127.0.0.1")
	if err := l.refresh(pb.DecommissionType_DECOMMISSION_TYPE_NORMAL); err != nil {
		t.Fatal(err)
	}
	l.include, l.exclude = "", ""
	l.name()
	if err := l.refresh(pb.DecommissionType_DECOMMISSION_TYPE_NORMAL); err != nil {
		t.Fatal(err)
	}
	l.newNode()
}

// A deadline and a reason of a list in JSON come to the drain, and lists of any length do.
func TestListsInJSON(t *testing.T) {
	l := newListed(t, ".json")
	l.newNode()
	l.exclude = l.include // one file for both
	l.name()
	var many strings.Builder
	for i := range 100000 {
		fmt.Fprintf(&many, `{"host":"n%d"},`, i)
	}
	l.write(l.include, `{"include":[`+many.String()+`{"host":"127.0.0.1"}],"exclude":[`+many.String()+`{"host":"127.0.0.1","deadline":"2999-01-01T00:00:00Z","reason":"a new disk"}]}`)
	cmd, err := l.term().RefreshNodes(engine.Graceful, proto.Int32(5))
	if err != nil || len(cmd.Excluded) != 1 {
		t.Fatalf("%+v, %v", cmd, err)
	}
	for _, x := range cmd.Excluded {
		if x.Deadline != 32472144000000 || x.Reason != "a new disk" || x.Untracked {
			t.Errorf("%+v", x)
		}
	}
	if err := l.refresh(pb.DecommissionType_GRACEFUL); err != nil {
		t.Fatal(err)
	}
	r := must(l.as("alice"), "getClusterNodes", &pb.GetClusterNodesRequest{}, &pb.GetClusterNodesResponse{}).NodeReports[0]
	if r.GetDecommissioningTimeout() < 1<<30 {
		t.Errorf("the node's timeout is %d", r.GetDecommissioningTimeout())
	}
}

// Refreshes that come together leave the lists that were read last in force.
func TestRefreshesTogether(t *testing.T) {
	l := newListed(t, "")
	l.write(l.include, "")
	var calls sync.WaitGroup
	for i := range 20 {
		text := strings.Repeat("x\n", i) + "n" + fmt.Sprint(i)
		if err := os.WriteFile(l.exclude+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(l.exclude+".new", l.exclude); err != nil {
			t.Fatal(err)
		}
		calls.Go(func() {
			if _, err := l.term().RefreshNodes(engine.AtOnce, nil); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if _, ok := l.d.lists.Load().Excluded("n19", ""); !ok {
		t.Errorf("other lists are in force: %v", l.d.lists.Load().Exclude.Entries())
	}
}

// A node that registers while addresses are looked up, still by the old lists, is judged by the new ones.
func TestRegisteredMeanwhile(t *testing.T) {
	l := newListed(t, "")
	l.write(l.include, "")
	l.write(l.exclude, "10.0.0.9 127.0.0.1")
	named := l.unregistered()
	named.id.Host = "localhost"
	if r := named.register(8192, 8); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL {
		t.Fatal(r)
	}
	late := l.unregistered()
	l.d.lookup = func(_ context.Context, host string) (string, error) {
		if r := late.register(8192, 8); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL {
			t.Error(r)
		}
		return "10.0.0.8", nil
	}
	cmd, err := l.term().RefreshNodes(engine.AtOnce, nil)
	if _, ok := cmd.Excluded[late.id]; err != nil || !ok || len(cmd.Excluded) != 1 {
		t.Errorf("excluded are %v (%v)", cmd.Excluded, err)
	}
}

// A refresh that the loop does not answer changes nothing either.
func TestRefreshWithoutLoop(t *testing.T) {
	l := newListed(t, "")
	l.write(l.include, "n1")
	l.write(l.exclude, "n2")
	term, before := l.term(), l.d.lists.Load()
	l.d.Stop()
	if _, err := term.RefreshNodes(engine.AtOnce, nil); err == nil || l.d.lists.Load() != before {
		t.Errorf("%v; the lists are %v", err, l.d.lists.Load())
	}
}
