package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/wire/pb"
)

func TestMain(m *testing.M) {
	if os.Getenv(beDaemon) != "" {
		os.Exit(standIn())
	}
	goleak.VerifyTestMain(m)
}

// world is an Env with captured output.
type world struct {
	Env
	out, err bytes.Buffer
	vars     map[string]string
}

func newWorld(vars ...string) *world {
	w := &world{vars: map[string]string{}}
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		w.vars[name] = value
	}
	w.Env = Env{Stdin: strings.NewReader(""), Stdout: &w.out, Stderr: &w.err, User: "alice", Zone: time.UTC,
		Now: func() time.Time { return time.UnixMilli(1795306310063) }, Program: "/opt/heddle/bin/yarn",
		LookupEnv: func(n string) (string, bool) { v, ok := w.vars[n]; return v, ok },
		Environ: func() (all []string) {
			for name, value := range w.vars {
				all = append(all, name+"="+value)
			}
			return all
		},
		Replace: func(string, []string, []string) error { return os.ErrPermission }}
	return w
}

// result of one command line.
type result struct {
	out, err string
	code     int
}

func (w *world) run(args ...string) result {
	w.out.Reset()
	w.err.Reset()
	code := w.Run(context.Background(), args)
	return result{w.out.String(), w.err.String(), code}
}

// against runs a command line with the fake's configuration.
func against(t *testing.T, rm *clienttest.RM, args ...string) result {
	t.Helper()
	return newWorld().run(append([]string{"--config", rm.ConfDir(t)}, args...)...)
}

func golden(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".out"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// same fails with the first line that differs.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("%s, line %d:\n got %q\nwant %q", what, i+1, a, b)
			return
		}
	}
}

func text(s string) *string { return &s }

func appID(cluster int64, n int32) *pb.ApplicationId {
	return &pb.ApplicationId{ClusterTimestamp: &cluster, Id: &n}
}

func attemptID(cluster int64, n, attempt int32) *pb.ApplicationAttemptId {
	return &pb.ApplicationAttemptId{ApplicationId: appID(cluster, n), AttemptId: &attempt}
}

func containerID(cluster int64, n, attempt int32, number int64) *pb.ContainerId {
	return &pb.ContainerId{AppAttemptId: attemptID(cluster, n, attempt), Id: &number}
}

func nodeID(port int32) *pb.NodeId { return &pb.NodeId{Host: text("localhost"), Port: &port} }

func amount(memory int64, vcores int32, others ...*pb.ResourceInformation) *pb.Resource {
	list := []*pb.ResourceInformation{{Key: text("memory-mb"), Value: &memory, Units: text("Mi")}, {Key: text("vcores"), Value: proto.Int64(int64(vcores))}}
	return &pb.Resource{Memory: &memory, VirtualCores: &vcores, ResourceValueMap: append(list, others...)}
}

func seconds(pairs ...any) []*pb.StringLongMap {
	var out []*pb.StringLongMap
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, &pb.StringLongMap{Key: text(pairs[i].(string)), Value: proto.Int64(int64(pairs[i+1].(int)))})
	}
	return out
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
