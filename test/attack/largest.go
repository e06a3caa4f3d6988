package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// mostHeld is how long one call may hold the loop of the ResourceManager.
const mostHeld = 20.0 // ms

// largest sends every method of the ResourceManager its largest request, in a large cluster, and asks how long the loop was held by it:
// the ResourceManager's own figure, the best of several tries. Then requests of random sizes come at random.
func largest(a *arena) {
	t := newTown(a)
	held, over, longest := 0, []string{}, 0.0
	for _, m := range t.methods() {
		best, what := t.held(m)
		if best > 0 {
			a.figure(m.name+" ("+what+")", best, "ms")
		}
		longest = max(longest, best)
		if held++; best > mostHeld {
			over = append(over, fmt.Sprintf("%s %.1f ms by %s", m.name, best, what))
		}
	}
	a.figure("requests, of which all others held less than 5 ms", float64(held), "")
	for _, x := range over {
		fmt.Printf("     longer than its goal: %s\n", x)
	}
	a.goal(time.Duration(longest*float64(time.Millisecond)), time.Duration(mostHeld*float64(time.Millisecond)), "the longest hold of the loop by any method")
	t.random(pick(a, 200, 10))
}

// method is one request; its answer may be a refusal, but there must be one.
type method struct {
	name   string
	before func() error // each try; nil: nothing is to be done
	send   func() error
}

// hold is a row of LastHolds.
type hold struct {
	Number int64
	What   string
	Millis float64
}

// holds are what has held the loop for long since the hold with that number.
func (t *town) holds(since int64) (list []hold) {
	r, err := t.web.Get("http://" + t.rm.address[webPort] + "/jmx?qry=Hadoop:service=ResourceManager,name=LoopMetrics")
	t.must(err)
	defer r.Body.Close()
	var page struct{ Beans []struct{ LastHolds string } }
	t.must(json.NewDecoder(r.Body).Decode(&page))
	if len(page.Beans) != 1 {
		t.must(errors.New("the ResourceManager does not tell what holds its loop (LoopMetrics in /jmx)"))
	}
	var all []hold
	t.must(json.Unmarshal([]byte(page.Beans[0].LastHolds), &all))
	for _, h := range all {
		if h.Number > since {
			list = append(list, h)
		}
	}
	return list
}

// last is the number of the last hold. Looking at it publishes views, which the second look sees.
func (t *town) last() (n int64) {
	for range 2 {
		for _, h := range t.holds(n) {
			n = h.Number
		}
	}
	return n
}

// tries is how often a method is tried that holds the loop for too long: what else runs on the machine prolongs a hold, and nothing makes
// it shorter than it is.
const (
	tries      = 10
	triesShort = 3
)

// share is the part of a processor that a busy thread gets at this moment, beside whatever else runs on the machine.
func share() float64 {
	const busy = 30 * time.Millisecond
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var u syscall.Rusage
		if syscall.Getrusage(1, &u) != nil { // RUSAGE_THREAD
			return 0
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began, from := time.Now(), used()
	for used()-from < busy && time.Since(began) < time.Second {
	}
	return min(1, float64(used()-from)/float64(time.Since(began)))
}

// held is the longest hold in the best of some tries, as long as it would have been with a processor for itself. Holds of less than 5 ms
// are not told and count as none.
func (t *town) held(m method) (best float64, what string) {
	best = -1
	for range pick(t.arena, tries, triesShort) {
		if m.before != nil {
			t.must(m.before())
		}
		before := t.last()
		var remote *ipc.RemoteError
		if err := m.send(); err != nil && !errors.As(err, &remote) {
			t.check(false, m.name+" is answered", "%v", err)
			return 0, ""
		}
		time.Sleep(pick(t.arena, 300*time.Millisecond, 20*time.Millisecond)) // what goes on in slices
		longest, name := 0.0, "less than 5 ms"
		for _, h := range t.holds(before) {
			if h.Millis > longest {
				longest, name = h.Millis, h.What
			}
		}
		if longest > mostHeld {
			longest *= share()
		}
		if best < 0 || longest < best {
			best, what = longest, name
		}
		if best <= mostHeld {
			break
		}
	}
	return best, what
}

// random sends requests of methods at random, one after the other, while strangers read.
func (t *town) random(count int) {
	before, longest, list := t.last(), hold{}, t.methods()
	s := t.strangerAt(t.rm)
	for range count {
		var remote *ipc.RemoteError
		if err := list[t.arena.random.IntN(len(list))].send(); err != nil && !errors.As(err, &remote) {
			t.check(false, "random requests are answered", "%v", err)
			break
		}
		for _, h := range t.holds(before) {
			if before = h.Number; h.Millis > longest.Millis {
				longest = h
			}
		}
	}
	s.leave(t.arena, "random requests")
	t.figure("at the most by random requests ("+longest.What+")", longest.Millis, "ms")
	t.check(t.rm.running(), "the ResourceManager outlives random requests", "%v", t.rm.exit)
}

// town is a large cluster without a single machine.
type town struct {
	*arena
	rm     *daemon
	web    *http.Client
	yarn   *ipc.Client // the administrator, who is also a user
	nodes  int
	queues int
	apps   []*pb.ApplicationId
	master *ipc.Client // of the first application
	polls  int32
	turn   int
	beats  map[int32]int32
	live   []*pb.ContainerId
}

func newTown(a *arena) *town {
	t := &town{arena: a, nodes: pick(a, 2000, 300), queues: pick(a, 1000, 200), beats: map[int32]int32{}, web: &http.Client{Timeout: time.Minute}}
	t.rm = a.declare("resourcemanager", "rm", properties("yarn.node-labels.enabled", "true", "yarn.scheduler.minimum-allocation-mb", "16",
		"yarn.node-labels.fs-store.root-dir", "file://"+filepath.Join(a.dir, "labels"), "yarn.webapp.ui.static-user", me(),
		"yarn.resourcemanager.nodes.exclude-path", filepath.Join(a.dir, "excluded"), "yarn.cluster.max-application-priority", "10",
		"yarn.resourcemanager.webapp.rest-csrf.enabled", "false", "yarn.resourcemanager.system-metrics-publisher.enabled", "false"),
		clientPort, masterPort, trackerPort, adminPort, webPort)
	a.must(os.WriteFile(filepath.Join(a.dir, "excluded"), nil, 0o644))
	t.writeQueues(t.queues)
	t.rm.start()
	t.yarn = ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: me()}, Timeout: 2 * time.Minute})
	for i := range t.nodes {
		a.must(t.ask(trackerPort, "registerNodeManager", t.registration(int32(i), 0), nil))
	}
	for i := range pick(a, 10_000, 600) {
		id := t.newID()
		a.must(t.ask(clientPort, "submitApplication", submission(id, fmt.Sprintf("root.p%d.q%d", i%10, i/10%(t.queues/10)), true, nil), nil))
		t.apps = append(t.apps, id)
	}
	report := &pb.GetApplicationReportResponse{}
	a.must(t.ask(clientPort, "getApplicationReport", &pb.GetApplicationReportRequest{ApplicationId: t.apps[0]}, report))
	token := report.GetApplicationReport().GetAmRmToken()
	t.master = ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: me(), Tokens: func(string) *ipc.Token {
		return &ipc.Token{Identifier: token.GetIdentifier(), Password: token.GetPassword(), Kind: token.GetKind(), Service: token.GetService()}
	}}, Timeout: 2 * time.Minute})
	a.must(t.ask(masterPort, "registerApplicationMaster", &pb.RegisterApplicationMasterRequest{Host: proto.String("h")}, nil))
	return t
}

func me() string {
	if u := os.Getenv("USER"); u != "" {
		return u
	}
	return "root"
}

var protocolOf = map[string]string{clientPort: clientProtocol, masterPort: masterProtocol, trackerPort: trackerProtocol, adminPort: adminProtocol}

// ask calls a method; out may be nil.
func (t *town) ask(port, method string, in, out proto.Message) error {
	body, err := proto.Marshal(in)
	if err != nil {
		return err
	}
	return t.send(port, method, body, out)
}

func (t *town) send(port, method string, body []byte, out proto.Message) error {
	c := t.yarn
	if port == masterPort {
		c = t.master
	}
	ctx, cancel := context.WithTimeout(t.ctx, 2*time.Minute)
	defer cancel()
	b, err := c.Call(ctx, t.rm.address[port], protocolOf[port], method, body)
	if err != nil || out == nil {
		return err
	}
	return proto.Unmarshal(b, out)
}

// rest calls the web port with a body of JSON.
func (t *town) rest(verb, path, body string) error {
	q, err := http.NewRequestWithContext(t.ctx, verb, "http://"+t.rm.address[webPort]+"/ws/v1/cluster/"+path+"?user.name="+me(), bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	r, err := t.web.Do(q)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

// writeQueues writes a tree of so many leaves below ten parents.
func (t *town) writeQueues(leaves int) {
	const p = "yarn.scheduler.capacity."
	q := properties(p+"maximum-am-resource-percent", "1.0", p+"maximum-applications", "1000000", p+"root.accessible-node-labels", "*")
	var top []string
	for i := range 10 {
		parent := fmt.Sprintf("p%d", i)
		top = append(top, parent)
		var below []string
		for j := range leaves / 10 {
			below = append(below, fmt.Sprintf("q%d", j))
			leaf := fmt.Sprintf("%sroot.%s.q%d.", p, parent, j)
			q[leaf+"capacity"], q[leaf+"user-limit-factor"] = "1w", "1000"
		}
		q[p+"root."+parent+".queues"], q[p+"root."+parent+".capacity"] = strings.Join(below, ","), "1w"
	}
	q[p+"root.queues"] = strings.Join(top, ",")
	t.must(os.MkdirAll(t.rm.confDir(), 0o755))
	t.rm.write("capacity-scheduler.xml", q)
}

func (t *town) newID() *pb.ApplicationId {
	out := &pb.GetNewApplicationResponse{}
	t.must(t.ask(clientPort, "getNewApplication", &pb.GetNewApplicationRequest{}, out))
	return out.GetApplicationId()
}

func size(memory int64) *pb.Resource {
	return &pb.Resource{Memory: &memory, VirtualCores: proto.Int32(1)}
}

func submission(id *pb.ApplicationId, queue string, unmanaged bool, more func(*pb.ApplicationSubmissionContext)) *pb.SubmitApplicationRequest {
	m := &pb.ApplicationSubmissionContext{ApplicationId: id, ApplicationName: proto.String("a"), Queue: &queue, Resource: size(16),
		UnmanagedAm: &unmanaged, AmContainerSpec: &pb.ContainerLaunchContext{}}
	if more != nil {
		more(m)
	}
	return &pb.SubmitApplicationRequest{ApplicationSubmissionContext: m}
}
