package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// What the ResourceManager has to keep while its answers are asked for faster than they can be made or read.
const (
	answersPeak  = 300.0 // MB of resident memory
	answersBack  = 10 * time.Second
	answersPing  = 50 * time.Millisecond
	answersExtra = 40.0 // MB above what it was, or half of that again: near what it was
)

// scene is one way to ask for much.
type scene struct {
	name               string
	connections, calls int
	port, protocol     string
	methods            []string // by turns
	reads              bool
	pause              time.Duration // between two answers that are read
	everything         bool          // the calls are to be answered, all of them
}

// answers has thousands of large answers open at a time, and reads them or does not.
func answers(a *arena) {
	rm := a.declare("resourcemanager", "rm", nil, clientPort, masterPort, trackerPort, adminPort, webPort)
	const q = "yarn.scheduler.capacity."
	rm.write("capacity-scheduler.xml", properties(q+"root.queues", "default,waiting", q+"root.default.capacity", "99", q+"root.waiting.capacity", "1",
		q+"root.default.user-limit-factor", "100", q+"root.default.maximum-am-resource-percent", "1", q+"root.waiting.maximum-am-resource-percent", "0.0000001", q+"maximum-applications", "1000000"))
	rm.start()
	b := &besieged{arena: a, rm: rm}
	b.fill(pick(a, 3000, 1000), pick(a, 1000, 200))
	b.noteMemory()
	calls := pick(a, 1000, 150)
	list := []string{"getApplications"}
	for _, s := range []scene{
		{name: "1 connection that reads", connections: 1, calls: calls, methods: list, reads: true, everything: true},
		{name: "1 connection that never reads", connections: 1, calls: 1000, methods: list},
		{name: "50 connections that read", connections: 50, calls: calls, methods: list, reads: true},
		{name: "50 connections that never read", connections: 50, calls: 1000, methods: list},
		{name: "100 connections that never read", connections: 100, calls: 1000, methods: list},
		{name: "100 connections that read slowly", connections: 100, calls: 1000, methods: list, reads: true, pause: time.Second},
		{name: "2 × calls of one reader who keeps up", connections: 1, calls: 2 * calls, methods: list, reads: true, everything: true},
		{name: "20 × refreshQueues", connections: 20, calls: 1000, port: adminPort, protocol: adminProtocol, methods: []string{"refreshQueues"}, reads: true},
		{name: "20 × refreshNodes", connections: 20, calls: 1000, port: adminPort, protocol: adminProtocol, methods: []string{"refreshNodes"}, reads: true},
		{name: "20 × getClusterNodes", connections: 20, calls: 1000, methods: []string{"getClusterNodes"}, reads: true},
		{name: "100 × reports and kills of one", connections: 100, calls: 1000, methods: []string{"getApplicationReport", "forceKillApplication"}, reads: true},
	} {
		if a.short && (s.connections == 50 || s.pause > 0 || s.name == "20 × refreshNodes" || s.name == "100 × reports and kills of one") {
			continue
		}
		b.play(s)
	}
	b.master(1, true)
	b.master(pick(a, 60, 20), false)
	for range pick(a, 12, 1) {
		b.play(b.anything())
	}
}

// besieged is a ResourceManager with many applications.
type besieged struct {
	*arena
	rm       *daemon
	app      *pb.ApplicationId
	resident float64 // before all attacks
}

// fill submits applications and registers nodes.
func (b *besieged) fill(apps, nodes int) {
	var work sync.WaitGroup
	var broken atomic.Pointer[error]
	const users = 8
	for u := range users {
		work.Go(func() {
			p, err := dial(b.rm.address[clientPort], clientProtocol, fmt.Sprintf("user%d", u))
			for range apps / users {
				if err == nil {
					err = b.submit(p)
				}
			}
			if err != nil {
				broken.Store(&err)
				return
			}
			p.Close()
		})
	}
	work.Wait()
	if err := broken.Load(); err != nil {
		b.must(*err)
	}
	t, err := dial(b.rm.address[trackerPort], trackerProtocol, "nodes")
	b.must(err)
	defer t.Close()
	for i := range nodes {
		b.must(t.call("registerNodeManager", node(fmt.Sprintf("127.1.%d.%d", i/250, 1+i%250), 1024), &pb.RegisterNodeManagerResponse{}))
	}
}

func node(host string, memory int64) *pb.RegisterNodeManagerRequest {
	return &pb.RegisterNodeManagerRequest{NodeId: &pb.NodeId{Host: &host, Port: proto.Int32(1)}, HttpPort: proto.Int32(2), NmVersion: proto.String("3.5.0"),
		Resource: &pb.Resource{Memory: &memory, VirtualCores: proto.Int32(1 << 20)}}
}

// submit hands in an application that waits: its queue has no room for masters.
func (b *besieged) submit(p *peer) error {
	var id pb.GetNewApplicationResponse
	if err := p.call("getNewApplication", &pb.GetNewApplicationRequest{}, &id); err != nil {
		return err
	}
	b.mu.Lock()
	b.app = id.ApplicationId
	b.mu.Unlock()
	return p.call("submitApplication", &pb.SubmitApplicationRequest{ApplicationSubmissionContext: &pb.ApplicationSubmissionContext{
		ApplicationId: id.ApplicationId, ApplicationName: proto.String("an application with a name of a usual length"), Queue: proto.String("waiting"),
		ApplicationTags: []string{"attack", "answers"},
		AmContainerSpec: &pb.ContainerLaunchContext{}, Resource: &pb.Resource{Memory: proto.Int64(1024), VirtualCores: proto.Int32(1)}}}, &pb.SubmitApplicationResponse{})
}

// noteMemory notes how much memory the daemon has at rest.
func (b *besieged) noteMemory() {
	b.rm.rests(10 * time.Second)
	time.Sleep(pick(b.arena, 5*time.Second, 100*time.Millisecond)) // what the preparations have left is given back
	b.resident = b.rm.resident()
	b.figure("resident memory at rest", b.resident, "MB")
}

// body is a request of a method.
func (b *besieged) body(method string) []byte {
	var m proto.Message = &pb.GetApplicationsRequest{}
	switch method {
	case "getApplicationReport":
		m = &pb.GetApplicationReportRequest{ApplicationId: b.app}
	case "forceKillApplication":
		m = &pb.KillApplicationRequest{ApplicationId: &pb.ApplicationId{Id: proto.Int32(1 << 30), ClusterTimestamp: b.app.ClusterTimestamp}}
	case "getQueueInfo":
		m = &pb.GetQueueInfoRequest{QueueName: proto.String("root"), IncludeApplications: proto.Bool(true), IncludeChildQueues: proto.Bool(true), Recursive: proto.Bool(true)}
	}
	out, err := proto.Marshal(m)
	b.must(err)
	return out
}

// play has one scene played while a stranger asks, and judges what it cost.
func (b *besieged) play(s scene) {
	if s.port == "" {
		s.port, s.protocol = clientPort, clientProtocol
	}
	f := &flood{}
	bodies := map[string][]byte{}
	for _, m := range s.methods {
		bodies[m] = b.body(m)
	}
	b.suffer(s.name, func(limit time.Duration) {
		begun := time.Now()
		if s.everything {
			limit = 2 * time.Minute
		}
		want := int64(0)
		for more := true; more; more = !s.everything && time.Since(begun) < limit && b.ctx.Err() == nil { // what is answered soon comes again
			want += int64(s.connections * s.calls)
			for range s.connections {
				p, err := dial(b.rm.address[s.port], s.protocol, "mallory")
				b.must(err)
				n := 0
				f.pour(p, s.calls, func() []byte {
					m := s.methods[n%len(s.methods)]
					n++
					return p.requestBytes(m, bodies[m])
				}, s.reads, s.pause)
			}
			b.until(limit-time.Since(begun), func() bool { return f.answered.Load() >= want })
		}
		b.figure(s.name+": answers", float64(f.answered.Load()), fmt.Sprintf("of %d in %.1f s", want, time.Since(begun).Seconds()))
		if why := f.example.Load(); why != nil {
			b.figure(s.name+": exceptions among them", float64(f.refused.Load()), *why)
		}
		if s.everything {
			b.check(f.answered.Load() == want && f.refused.Load() == 0, s.name+": every call is answered", "%d of %d, %d refused", f.answered.Load(), want, f.refused.Load())
		}
		if s.reads && s.pause == 0 {
			b.check(f.cut.Load() == 0, s.name+": no reader is cut", "%d", f.cut.Load())
		}
	}, f.leave)
}

// suffer attacks for a while and judges memory and what a stranger waited.
func (b *besieged) suffer(name string, attack func(limit time.Duration), leave func()) {
	b.rm.forgetPeak()
	s := b.strangerAt(b.rm)
	attack(pick(b.arena, 8*time.Second, 800*time.Millisecond))
	leave()
	gone := time.Now()
	w := s.leave(b.arena, name)
	peak := b.rm.peak()
	b.figure(name+": peak of resident memory", peak, "MB")
	near := max(b.resident+answersExtra, 1.5*b.resident)
	back := b.until(answersBack-time.Since(gone), func() bool { return b.rm.resident() <= near })
	b.figure(name+": seconds until memory is back", time.Since(gone).Seconds(), "s")
	b.check(peak <= answersPeak, name+": at most 300 MB", "%.0f MB", peak)
	b.check(back, name+": memory is back after 10 s", "%.0f MB, before all attacks %.0f MB", b.rm.resident(), b.resident)
	b.check(b.rm.rests(max(0, answersBack-time.Since(gone))+time.Second), name+": calls of connections that have gone do not run", "%v of processor time so far", b.rm.busy())
	b.check(w.failed == 0, name+": a stranger is served", "%d of %d calls failed: %v", w.failed, w.asked, w.example)
	b.goal(w.p99, answersPing, name+": a stranger's p99")
}

// anything is a scene by chance.
func (b *besieged) anything() scene {
	all := []string{"getApplications", "getClusterNodes", "getApplicationReport", "getQueueInfo", "getNewApplication", "getClusterMetrics", "getQueueUserAcls", "forceKillApplication"}
	s := scene{connections: 1 + b.random.IntN(120), calls: 1 + b.random.IntN(1500), reads: b.random.IntN(2) == 0}
	if s.reads && b.random.IntN(3) == 0 {
		s.pause = time.Duration(b.random.IntN(500)) * time.Millisecond
	}
	for range 1 + b.random.IntN(4) {
		s.methods = append(s.methods, all[b.random.IntN(len(all))])
	}
	s.name = fmt.Sprintf("%d × %d × %v, reads %v, pauses %v", s.connections, s.calls, s.methods, s.reads, s.pause)
	return s
}

// master has the master of an unmanaged application granted thousands of containers, and ask for that answer again and again, on one
// connection or on many.
func (b *besieged) master(connections int, reads bool) {
	containers := pick(b.arena, 5000, 2000)
	name := fmt.Sprintf("allocate on %d connections, reads %v", connections, reads)
	alice := b.rm.client("alice")
	defer alice.Close()
	app, err := submitUnmanaged(b.ctx, alice)
	b.must(err)
	login := b.login(b.rm, "alice", app)
	creds := ipc.Credentials{User: "alice", Tokens: func(string) *ipc.Token { return login }}
	own := ipc.NewClient(ipc.ClientConfig{Credentials: creds})
	call := func(method string, in, out proto.Message) {
		body, err := proto.Marshal(in)
		b.must(err)
		got, err := own.Call(b.ctx, b.rm.address[masterPort], masterProtocol, method, body)
		b.must(err)
		b.must(proto.Unmarshal(got, out))
	}
	call("registerApplicationMaster", &pb.RegisterApplicationMasterRequest{Host: proto.String("h"), RpcPort: proto.Int32(1), TrackingUrl: proto.String("")}, &pb.RegisterApplicationMasterResponse{})
	t, err := dial(b.rm.address[trackerPort], trackerProtocol, "nodes")
	b.must(err)
	defer t.Close()
	big := fmt.Sprintf("127.2.0.%d", connections) // an address needs no look-up
	b.must(t.call("registerNodeManager", node(big, 20_000_000), &pb.RegisterNodeManagerResponse{}))
	ask := &pb.AllocateRequest{ResponseId: proto.Int32(0), Progress: proto.Float32(0), Ask: []*pb.ResourceRequest{{Priority: &pb.Priority{Priority: proto.Int32(1)}, ResourceName: proto.String("*"),
		Capability: &pb.Resource{Memory: proto.Int64(1024), VirtualCores: proto.Int32(1)}, NumContainers: proto.Int32(int32(containers)), RelaxLocality: proto.Bool(true)}}}
	var got pb.AllocateResponse
	call("allocate", ask, &got)
	granted := len(got.AllocatedContainers)
	last := int32(0)
	for i := 0; granted < containers/2 && i < 200; i++ {
		beat := &pb.NodeHeartbeatRequest{NodeStatus: &pb.NodeStatus{NodeId: &pb.NodeId{Host: &big, Port: proto.Int32(1)}, ResponseId: proto.Int32(int32(i)),
			NodeHealthStatus: &pb.NodeHealthStatus{IsNodeHealthy: proto.Bool(true)}}}
		b.must(t.call("nodeHeartbeat", beat, &pb.NodeHeartbeatResponse{}))
		time.Sleep(50 * time.Millisecond)
		last = got.GetResponseId()
		got.Reset()
		call("allocate", &pb.AllocateRequest{ResponseId: &last, Progress: proto.Float32(0)}, &got)
		granted = max(granted, len(got.AllocatedContainers))
	}
	again, err := proto.Marshal(&pb.AllocateRequest{ResponseId: &last, Progress: proto.Float32(0)})
	b.must(err)
	b.noteMemory()
	b.figure(name+": containers in the answer", float64(granted), fmt.Sprintf("%d bytes", proto.Size(&got)))
	var (
		answered, failed atomic.Int64
		work             sync.WaitGroup
		list             []*ipc.Client
		example          atomic.Pointer[error]
	)
	calls := pick(b.arena, 1000, 100)
	b.suffer(name, func(limit time.Duration) {
		ctx, stop := context.WithTimeout(b.ctx, max(limit, pick(b.arena, 30*time.Second, 15*time.Second)))
		if !reads {
			stop()
			ctx, stop = context.WithTimeout(b.ctx, limit)
		}
		defer stop()
		var deaf atomic.Bool
		for range connections {
			c := ipc.NewClient(ipc.ClientConfig{Credentials: creds, Timeout: time.Minute, Connect: ipc.Connect{Dial: func(ctx context.Context, address string) (net.Conn, error) {
				var d net.Dialer
				nc, err := d.DialContext(ctx, "tcp", address)
				return &deafConn{Conn: nc, deaf: &deaf, closed: make(chan struct{})}, err
			}}})
			list = append(list, c)
			_, err := c.Call(ctx, b.rm.address[masterPort], masterProtocol, "allocate", again)
			b.must(err)
		}
		deaf.Store(!reads)
		for _, c := range list {
			for range calls {
				work.Go(func() {
					_, err := c.Call(ctx, b.rm.address[masterPort], masterProtocol, "allocate", again)
					if err != nil {
						failed.Add(1)
						example.Store(&err)
						return
					}
					answered.Add(1)
				})
			}
		}
		if reads {
			work.Wait()
			why := ""
			if err := example.Load(); err != nil {
				why = (*err).Error()
			}
			b.check(answered.Load() == int64(calls*connections), name+": every call is answered", "%d of %d %s", answered.Load(), calls*connections, why)
			return
		}
		<-ctx.Done()
	}, func() {
		for _, c := range list {
			c.Close()
		}
		work.Wait()
		own.Close()
	})
}

// deafConn is a connection that at some moment stops reading.
type deafConn struct {
	net.Conn
	deaf   *atomic.Bool
	once   sync.Once
	closed chan struct{}
}

func (c *deafConn) Read(b []byte) (int, error) {
	if c.deaf.Load() {
		<-c.closed
	}
	return c.Conn.Read(b)
}

func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
