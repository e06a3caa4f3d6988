// Package activity tells what the ports of Hadoop RPC do, as beans for /jmx.
package activity

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/wire/ipc"
)

// Port is a port of Hadoop RPC.
type Port struct {
	Server *ipc.Server
	Name   string // of Hadoop's server, as it is told
}

// Beans are the activity of ports as Hadoop tells it: of each port, and of each of its methods. What has no meaning here is left out: see
// docs/metrics.md.
func Beans(service string, ports []Port, m *introspect.Means) []introspect.Bean {
	var out []introspect.Bean
	for _, p := range ports {
		at := p.Server.Addr().String()
		port := at[strings.LastIndexByte(at, ':')+1:]
		n, methods := p.Server.Stats(), p.Server.MethodStats()
		out = append(out, activity(service, port, p.Name, &n, methods, m), details(service, port, methods, m))
	}
	return out
}

func activity(service, port, server string, n *ipc.Stats, methods []ipc.MethodStats, m *introspect.Means) introspect.Bean {
	record := "RpcActivityForPort" + port
	var calls int64
	var took, waited time.Duration
	for _, x := range methods {
		calls, took, waited = calls+x.Calls, took+x.Took, waited+x.Waited
	}
	users, _ := json.Marshal(n.Users)
	_, speed := m.Of(record, calls, 0)
	b := introspect.Metrics(service, record, "rpc",
		introspect.Counter("ReceivedBytes", n.Received, "bytes of requests"),
		introspect.Counter("SentBytes", n.Sent, "bytes of answers"),
		introspect.Counter("RpcAuthenticationSuccesses", n.AuthOK, "logins that succeeded"),
		introspect.Counter("RpcAuthenticationFailures", n.AuthFailed, "logins that were refused"),
		introspect.Counter("RpcCallSuccesses", max(n.Calls-n.Failed-n.Dropped-int64(n.InFlight), 0), "calls that were answered, and not with an exception"),
		introspect.Counter("TotalRequests", n.Calls, "calls"),
		introspect.Gauge("TotalRequestsPerSecond", int64(speed+0.5), "calls a second, lately"),
		introspect.Gauge("CallQueueLength", n.Waiting, "calls that wait for their turn"),
		introspect.Gauge("NumInProcessHandler", n.InFlight, "calls that are not answered yet"),
		introspect.Gauge("NumOpenConnections", n.Connections, "open connections"),
		introspect.Counter("NumDroppedConnections", n.Rejected+n.SlowReaders, "connections that were closed because there were too many, or because their peer did not read"),
	)
	b.Record = "rpc"
	b.Attributes = append(b.Attributes, m.Timed(record, "RpcProcessingTime", calls, took, "calls")...)
	b.Attributes = append(b.Attributes, m.Timed(record, "RpcQueueTime", calls, waited, "calls, the wait for their turns")...)
	b.Attributes = append([]introspect.Attribute{{Name: "tag.port", Value: port}, {Name: "tag.serverName", Value: server}}, b.Attributes...)
	b.Attributes = append(b.Attributes, introspect.Attribute{Name: "tag.NumOpenConnectionsPerUser", Value: string(users)})
	return b
}

// details are the methods of a port. Hadoop's names begin with a capital.
func details(service, port string, methods []ipc.MethodStats, m *introspect.Means) introspect.Bean {
	record := "RpcDetailedActivityForPort" + port
	b := introspect.Metrics(service, record, "rpcdetailed")
	b.Record = "rpcdetailed"
	seen := map[string]bool{}
	for _, x := range methods {
		name := strings.ToUpper(x.Method[:1]) + x.Method[1:]
		if seen[name] || strings.HasPrefix(x.Protocol, "org.apache.hadoop.ipc.") { // Hadoop does not count the latter
			continue
		}
		seen[name] = true
		b.Attributes = append(b.Attributes, m.Timed(record, name, x.Calls, x.Took, "calls of "+x.Method)...)
		b.Attributes = append(b.Attributes, m.Timed(record, "Overall"+name, x.Calls, x.Took+x.Waited, "calls of "+x.Method+", with the wait for their turns")...)
	}
	b.Attributes = append([]introspect.Attribute{{Name: "tag.port", Value: port}}, b.Attributes...)
	return b
}
