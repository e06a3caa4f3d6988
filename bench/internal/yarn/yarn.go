// Package yarn encodes the YARN requests that the driver sends and scans the
// replies it must judge. Field numbers follow Hadoop 3.5's protocol files.
package yarn

import (
	"errors"
	"math"

	"github.com/heddle-project/heddle/bench/internal/pb"
	"github.com/heddle-project/heddle/bench/internal/rpc"
)

// Protocol interfaces.
const (
	ClientProtocol  = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	MasterProtocol  = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
	TrackerProtocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
)

// Methods.
var (
	GetNewApplication    = rpc.NewMethod(ClientProtocol, "getNewApplication")
	SubmitApplication    = rpc.NewMethod(ClientProtocol, "submitApplication")
	GetApplicationReport = rpc.NewMethod(ClientProtocol, "getApplicationReport")
	GetApplications      = rpc.NewMethod(ClientProtocol, "getApplications")
	GetClusterMetrics    = rpc.NewMethod(ClientProtocol, "getClusterMetrics")

	RegisterAM = rpc.NewMethod(MasterProtocol, "registerApplicationMaster")
	Allocate   = rpc.NewMethod(MasterProtocol, "allocate")

	RegisterNM = rpc.NewMethod(TrackerProtocol, "registerNodeManager")
	Heartbeat  = rpc.NewMethod(TrackerProtocol, "nodeHeartbeat")
)

// Container states.
const (
	Running  = 2
	Complete = 3
)

// Application states.
const (
	AppSubmitted = 3
	AppFinished  = 6
	AppFailed    = 7
	AppKilled    = 8
)

// ErrMalformed is the error for a reply that is not valid protocol data.
var ErrMalformed = errors.New("malformed reply")

// AppID names an application.
type AppID struct {
	TS int64
	ID int32
}

// Encode appends the ApplicationIdProto.
func (a AppID) Encode(b []byte) []byte { return pb.Int(pb.Int(b, 1, int64(a.ID)), 2, a.TS) }

// ScanAppID reads an ApplicationIdProto.
func ScanAppID(b []byte) (a AppID, ok bool) {
	s := pb.In(b)
	for s.Next() {
		switch s.F {
		case 1:
			a.ID = int32(s.V)
		case 2:
			a.TS = int64(s.V)
		}
	}
	return a, !s.Bad()
}

// AttemptBytes encodes an ApplicationAttemptIdProto.
func AttemptBytes(a AppID, attempt int32) []byte {
	b, m := pb.Open(nil, 1)
	b = a.Encode(b)
	b = pb.Close(b, m)
	return pb.Int(b, 2, int64(attempt))
}

// ContainerID is a container's full name.
type ContainerID struct {
	App     AppID
	Attempt int32
	ID      int64
}

// ScanContainerID reads a ContainerIdProto.
func ScanContainerID(b []byte) (c ContainerID, ok bool) {
	s := pb.In(b)
	ok = true
	for s.Next() {
		switch s.F {
		case 2:
			t := pb.In(s.B)
			for t.Next() {
				switch t.F {
				case 1:
					var k bool
					c.App, k = ScanAppID(t.B)
					ok = ok && k
				case 2:
					c.Attempt = int32(t.V)
				}
			}
			ok = ok && !t.Bad()
		case 3:
			c.ID = int64(s.V)
		}
	}
	return c, ok && !s.Bad()
}

// AppendContainerID appends field f as a ContainerIdProto whose attempt is
// already encoded.
func AppendContainerID(b []byte, f int, attempt []byte, id int64) []byte {
	b, m := pb.Open(b, f)
	b = pb.Blob(b, 2, attempt)
	b = pb.Int(b, 3, id)
	return pb.Close(b, m)
}

// Resource is memory in MB and virtual cores.
type Resource struct{ Mem, VC int64 }

// Append appends field f as a ResourceProto the way Hadoop's records do: the
// two old fields and the map of named values.
func (r Resource) Append(b []byte, f int) []byte {
	b, m := pb.Open(b, f)
	b = pb.Int(b, 1, r.Mem)
	b = pb.Int(b, 2, r.VC)
	b = resourceValue(b, "memory-mb", r.Mem, "Mi")
	b = resourceValue(b, "vcores", r.VC, "")
	return pb.Close(b, m)
}

func resourceValue(b []byte, key string, v int64, units string) []byte {
	b, m := pb.Open(b, 3)
	b = pb.Str(b, 1, key)
	b = pb.Int(b, 2, v)
	b = pb.Str(b, 3, units)
	b = pb.Int(b, 4, 0)
	return pb.Close(b, m)
}

// ScanResource reads a ResourceProto.
func ScanResource(b []byte) (r Resource, ok bool) {
	s := pb.In(b)
	for s.Next() {
		switch s.F {
		case 1:
			r.Mem = int64(s.V)
		case 2:
			r.VC = int64(int32(s.V))
		}
	}
	return r, !s.Bad()
}

// Submission describes an application to submit.
type Submission struct {
	App       AppID
	Name      string
	Queue     string
	Unmanaged bool
	AM        Resource
	Context   []byte // encoded ContainerLaunchContextProto
}

// Append appends a SubmitApplicationRequestProto.
func (s *Submission) Append(b []byte) []byte {
	b, m := pb.Open(b, 1)
	var n int
	b, n = pb.Open(b, 1)
	b = s.App.Encode(b)
	b = pb.Close(b, n)
	b = pb.Str(b, 2, s.Name)
	b = pb.Str(b, 3, s.Queue)
	b, n = pb.Open(b, 4)
	b = pb.Int(b, 1, 0)
	b = pb.Close(b, n)
	b = pb.Blob(b, 5, s.Context)
	b = pb.Int(b, 6, 1)
	if s.Unmanaged {
		b = pb.Int(b, 7, 1)
	}
	b = pb.Int(b, 8, 1)
	b = s.AM.Append(b, 9)
	b = pb.Str(b, 10, "BENCH")
	return pb.Close(b, m)
}

// LaunchContext makes a ContainerLaunchContextProto of about size bytes in
// the shape a client sends: local resources, environment and a command.
func LaunchContext(size int) []byte {
	var b []byte
	if size <= 0 {
		return b
	}
	res := func(name string) {
		var m, v, u int
		b, m = pb.Open(b, 1)
		b = pb.Str(b, 1, name)
		b, v = pb.Open(b, 2)
		b, u = pb.Open(b, 1)
		b = pb.Str(b, 1, "hdfs")
		b = pb.Str(b, 2, "namenode.example.com")
		b = pb.Int(b, 3, 8020)
		b = pb.Str(b, 4, "/user/bench/.staging/application/"+name)
		b = pb.Close(b, u)
		b = pb.Int(b, 2, 123456)
		b = pb.Int(b, 3, 1700000000000)
		b = pb.Int(b, 4, 2)
		b = pb.Int(b, 5, 3)
		b = pb.Close(b, v)
		b = pb.Close(b, m)
	}
	env := func(k, v string) {
		var m int
		b, m = pb.Open(b, 4)
		b = pb.Str(b, 1, k)
		b = pb.Str(b, 2, v)
		b = pb.Close(b, m)
	}
	res("job.jar")
	res("job.xml")
	res("app.conf")
	env("CLASSPATH", "$PWD:$HADOOP_CONF_DIR:$HADOOP_COMMON_HOME/share/hadoop/common/*:$HADOOP_YARN_HOME/share/hadoop/yarn/*")
	env("USER", "bench")
	cmd := []byte("$JAVA_HOME/bin/java -Xmx1024m org.example.Master 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr")
	for len(b)+len(cmd)+4 < size {
		cmd = append(cmd, " --option=0123456789"[:min(20, size-len(b)-len(cmd)-4)]...)
	}
	return pb.Blob(b, 5, cmd)
}

// AppendReportRequest appends a GetApplicationReportRequestProto.
func AppendReportRequest(b []byte, a AppID) []byte {
	b, m := pb.Open(b, 1)
	b = a.Encode(b)
	return pb.Close(b, m)
}

// Report is the part of an application report that the driver uses.
type Report struct {
	State   int
	Attempt int32
	Diag    string
	Token   *rpc.Token // AM-RM token, when it is there
}

// ScanReport reads a GetApplicationReportResponseProto.
func ScanReport(b []byte) (Report, error) {
	var r Report
	o := pb.In(b)
	for o.Next() {
		if o.F != 1 {
			continue
		}
		s := pb.In(o.B)
		for s.Next() {
			switch s.F {
			case 8:
				r.State = int(s.V)
			case 10:
				r.Diag = string(s.B)
			case 16:
				t := pb.In(s.B)
				for t.Next() {
					if t.F == 2 {
						r.Attempt = int32(t.V)
					}
				}
			case 19:
				r.Token = new(rpc.Token)
				t := pb.In(s.B)
				for t.Next() {
					switch t.F {
					case 1:
						r.Token.Identifier = append([]byte(nil), t.B...)
					case 2:
						r.Token.Password = append([]byte(nil), t.B...)
					}
				}
			}
		}
		if s.Bad() {
			return r, ErrMalformed
		}
	}
	if o.Bad() || r.State == 0 {
		return r, ErrMalformed
	}
	return r, nil
}

// ScanNewApp reads a GetNewApplicationResponseProto.
func ScanNewApp(b []byte) (a AppID, err error) {
	s := pb.In(b)
	for s.Next() {
		if s.F == 1 {
			var ok bool
			if a, ok = ScanAppID(s.B); !ok {
				return a, ErrMalformed
			}
		}
	}
	if s.Bad() || a.ID == 0 || a.TS == 0 {
		return a, ErrMalformed
	}
	return a, nil
}

// AppendRegisterAM appends a RegisterApplicationMasterRequestProto.
func AppendRegisterAM(b []byte, host string) []byte {
	b = pb.Str(b, 1, host)
	b = pb.Int(b, 2, -1)
	return pb.Str(b, 3, "")
}

// AppendAsk appends one ask of an AllocateRequestProto: count containers
// anywhere in the cluster, in absolute number.
func AppendAsk(b []byte, priority int64, r Resource, count int) []byte {
	return appendAsk(b, priority, "*", r, count, true)
}

// AppendAskOn appends the three asks that together want count containers on
// one host and nowhere else.
func AppendAskOn(b []byte, priority int64, host string, r Resource, count int) []byte {
	b = appendAsk(b, priority, host, r, count, true)
	b = appendAsk(b, priority, "/default-rack", r, count, false)
	return appendAsk(b, priority, "*", r, count, false)
}

func appendAsk(b []byte, priority int64, where string, r Resource, count int, relax bool) []byte {
	b, m := pb.Open(b, 1)
	var n int
	b, n = pb.Open(b, 1)
	b = pb.Int(b, 1, priority)
	b = pb.Close(b, n)
	b = pb.Str(b, 2, where)
	b = r.Append(b, 3)
	b = pb.Int(b, 4, int64(count))
	if relax {
		b = pb.Int(b, 5, 1)
	} else {
		b = pb.Int(b, 5, 0)
	}
	b, n = pb.Open(b, 7)
	b = pb.Int(b, 1, 1)
	b = pb.Int(b, 2, 0)
	b = pb.Close(b, n)
	b = pb.Int(b, 8, 0)
	return pb.Close(b, m)
}

// AppendAllocate appends the rest of an AllocateRequestProto.
func AppendAllocate(b []byte, responseID int32, progress float32) []byte {
	b = pb.Int(b, 4, int64(responseID))
	return pb.Float(b, 5, math.Float32bits(progress))
}

// Grant is one allocated container as scanned; the slices point into the
// reply.
type Grant struct {
	ID        ContainerID
	Host      []byte
	Port      int32
	Res       Resource
	Priority  int64
	AskID     int64
	TokenID   []byte
	TokenPass []byte
}

// ScanGrant reads a ContainerProto.
func ScanGrant(b []byte) (g Grant, ok bool) {
	g.AskID = -1
	s := pb.In(b)
	ok = true
	for s.Next() {
		k := true
		switch s.F {
		case 1:
			g.ID, k = ScanContainerID(s.B)
		case 2:
			t := pb.In(s.B)
			for t.Next() {
				switch t.F {
				case 1:
					g.Host = t.B
				case 2:
					g.Port = int32(t.V)
				}
			}
			k = !t.Bad()
		case 4:
			g.Res, k = ScanResource(s.B)
		case 5:
			t := pb.In(s.B)
			for t.Next() {
				g.Priority = int64(int32(t.V))
			}
			k = !t.Bad()
		case 6:
			t := pb.In(s.B)
			for t.Next() {
				switch t.F {
				case 1:
					g.TokenID = t.B
				case 2:
					g.TokenPass = t.B
				}
			}
			k = !t.Bad()
		case 8:
			g.AskID = int64(s.V)
		}
		ok = ok && k
	}
	return g, ok && !s.Bad()
}

// TokenClaim is what a container token says.
type TokenClaim struct {
	ID   ContainerID
	Addr []byte
	Res  Resource
	User []byte
	Key  int32
}

// ScanTokenClaim reads a ContainerTokenIdentifierProto.
func ScanTokenClaim(b []byte) (c TokenClaim, ok bool) {
	s := pb.In(b)
	ok = true
	for s.Next() {
		k := true
		switch s.F {
		case 1:
			c.ID, k = ScanContainerID(s.B)
		case 2:
			c.Addr = s.B
		case 3:
			c.User = s.B
		case 4:
			c.Res, k = ScanResource(s.B)
		case 6:
			c.Key = int32(s.V)
		}
		ok = ok && k
	}
	return c, ok && !s.Bad()
}

// Ended is one completed container status.
type Ended struct {
	ID    ContainerID
	State int
	Exit  int32
}

// ScanEnded reads a ContainerStatusProto.
func ScanEnded(b []byte) (e Ended, ok bool) {
	e.Exit = -1000
	s := pb.In(b)
	ok = true
	for s.Next() {
		switch s.F {
		case 1:
			var k bool
			e.ID, k = ScanContainerID(s.B)
			ok = ok && k
		case 2:
			e.State = int(s.V)
		case 4:
			e.Exit = int32(s.V)
		}
	}
	return e, ok && !s.Bad()
}

// NodeBytes encodes a NodeIdProto.
func NodeBytes(host string, port int) []byte { return pb.Int(pb.Str(nil, 1, host), 2, int64(port)) }

// AppendRegisterNM appends a RegisterNodeManagerRequestProto.
func AppendRegisterNM(b, node []byte, total Resource) []byte {
	b = pb.Blob(b, 1, node)
	b = pb.Int(b, 3, 8042)
	b = total.Append(b, 4)
	b = pb.Str(b, 5, "3.5.0")
	b = total.Append(b, 9)
	return b
}

// Key is a master key as handed to a node.
type Key struct {
	ID    int32
	Bytes []byte
}

// ScanRegisterNM reads a RegisterNodeManagerResponseProto: the action, any
// diagnostics and the container token key.
func ScanRegisterNM(b []byte) (action int, diag string, key Key, err error) {
	s := pb.In(b)
	action = -1
	for s.Next() {
		switch s.F {
		case 1:
			t := pb.In(s.B)
			for t.Next() {
				switch t.F {
				case 1:
					key.ID = int32(t.V)
				case 2:
					key.Bytes = append([]byte(nil), t.B...)
				}
			}
		case 3:
			action = int(s.V)
		case 5:
			diag = string(s.B)
		}
	}
	if s.Bad() {
		return action, diag, key, ErrMalformed
	}
	return action, diag, key, nil
}

// AppendHeartbeat appends a NodeHeartbeatRequestProto; statuses is already
// encoded as fields 3 of the NodeStatusProto.
func AppendHeartbeat(b, node []byte, responseID int32, statuses []byte, now int64) []byte {
	var m, n int
	b, m = pb.Open(b, 1)
	b = pb.Blob(b, 1, node)
	b = pb.Int(b, 2, int64(responseID))
	b = append(b, statuses...)
	b, n = pb.Open(b, 4)
	b = pb.Int(b, 1, 1)
	b = pb.Str(b, 2, "")
	b = pb.Int(b, 3, now)
	b = pb.Close(b, n)
	for f := 6; f <= 7; f++ {
		b, n = pb.Open(b, f)
		b = pb.Int(b, 1, 2048)
		b = pb.Int(b, 2, 4096)
		b = pb.Float(b, 3, math.Float32bits(1.5))
		b = pb.Close(b, n)
	}
	return pb.Close(b, m)
}

// AppendStatus appends one container status as field 3.
func AppendStatus(b, attempt []byte, id int64, state int, r Resource) []byte {
	b, m := pb.Open(b, 3)
	b = AppendContainerID(b, 1, attempt, id)
	b = pb.Int(b, 2, int64(state))
	b = pb.Str(b, 3, "")
	exit := int64(-1000)
	if state == Complete {
		exit = 0
	}
	b = pb.Int(b, 4, exit)
	b = r.Append(b, 5)
	b = pb.Int(b, 6, 1)
	return pb.Close(b, m)
}
