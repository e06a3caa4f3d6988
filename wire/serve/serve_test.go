package serve

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/ipc/ipctest"
	"github.com/heddle-project/heddle/wire/pb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A list is the same bytes as the message that has all of it at once.
func TestList(t *testing.T) {
	whole := &pb.GetClusterNodesResponse{}
	for i := range int32(5000) {
		whole.NodeReports = append(whole.NodeReports, &pb.NodeReport{NodeId: &pb.NodeId{Host: proto.String(strings.Repeat("h", int(i)%90)), Port: &i}})
	}
	call := ipctest.Serve(t, map[string]ipc.Handler{
		"whole": func(c *ipc.Call) { Answer(c, whole) },
		"list": func(c *ipc.Call) {
			l := NewList(c)
			for _, n := range whole.NodeReports {
				if !l.Add(1, n) {
					break
				}
			}
			l.Send()
		},
		"none": func(c *ipc.Call) { NewList(c).Send() },
		"partial": func(c *ipc.Call) {
			l := NewList(c)
			if l.Add(1, &pb.GetGroupsForUserRequest{}) {
				t.Error("a message without what it requires was added")
			}
			l.Send()
		},
	})
	want, err := proto.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"whole", "list"} {
		if got, err := call(method, nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d (%v)", method, len(got), len(want), err)
		}
	}
	if got, err := call("none", nil); err != nil || len(got) != 0 {
		t.Errorf("an empty list: %x %v", got, err)
	}
	var remote *ipc.RemoteError
	if _, err := call("partial", nil); !errors.As(err, &remote) || !strings.Contains(remote.Message, "cannot write the answer") {
		t.Errorf("an answer that cannot be written: %v", err)
	}
}

// Requests are bounded in depth, and bad ones are answered.
func TestDecode(t *testing.T) {
	call := ipctest.Serve(t, map[string]ipc.Handler{
		"groups":  With(func() *pb.GetGroupsForUserRequest { return &pb.GetGroupsForUserRequest{} }, func(c *ipc.Call, m *pb.GetGroupsForUserRequest) { Answer(c, m) }),
		"missing": Missing("tea"),
		"partial": func(c *ipc.Call) { Answer(c, &pb.GetGroupsForUserRequest{}) },
		"denied":  func(c *ipc.Call) { Deny(c, "%s has no right to %q", "bob", "x") },
	})
	good, err := proto.Marshal(&pb.GetGroupsForUserRequest{User: proto.String("alice")})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := call("groups", good); err != nil || !bytes.Equal(got, good) {
		t.Errorf("got %x, want %x (%v)", got, good, err)
	}
	for name, b := range map[string][]byte{"rubbish": {0xff}, "without what it requires": nil, "deep": bytes.Repeat([]byte{0x0b}, MaxDepth+1)} {
		var remote *ipc.RemoteError
		if _, err := call("groups", b); !errors.As(err, &remote) || remote.Class != ipc.ClassServer || !strings.Contains(remote.Message, "cannot read the request of groups") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var remote *ipc.RemoteError
	if _, err := call("missing", nil); !errors.As(err, &remote) || remote.Class != YarnException || !strings.Contains(remote.Message, "tea") {
		t.Errorf("missing: %v", err)
	}
	if _, err := call("denied", nil); !errors.As(err, &remote) || remote.Class != YarnException || !strings.HasPrefix(remote.Message, ipc.ClassAccessControl+`: bob has no right to "x"`) {
		t.Errorf("denied: %v", err)
	}
	if _, err := call("partial", nil); !errors.As(err, &remote) || !strings.Contains(remote.Message, "cannot write the answer") {
		t.Errorf("an answer that cannot be written: %v", err)
	}
}
