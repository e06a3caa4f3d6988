package rpc

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/ipc/ipctest"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every kind of refusal has the exception by which Hadoop's clients know it.
func TestFail(t *testing.T) {
	const exception = "org.apache.hadoop.yarn.exceptions."
	errs := map[string]error{}
	methods := map[string]ipc.Handler{}
	for want, err := range map[string]error{
		exception + "ApplicationNotFoundException":             &engine.Error{Kind: engine.UnknownApplication, Text: "text"},
		exception + "ApplicationAttemptNotFoundException":      &engine.Error{Kind: engine.UnknownAttempt, Text: "text"},
		exception + "ContainerNotFoundException":               &engine.Error{Kind: engine.UnknownContainer, Text: "text"},
		exception + "InvalidResourceRequestException":          &engine.Error{Kind: engine.InvalidRequest, Text: "text"},
		exception + "InvalidLabelResourceRequestException":     &engine.Error{Kind: engine.InvalidLabel, Text: "text"},
		exception + "InvalidApplicationMasterRequestException": &engine.Error{Kind: engine.InvalidMaster, Text: "text"},
		exception + "ApplicationMasterNotRegisteredException":  &engine.Error{Kind: engine.NotRegistered, Text: "text"},
		exception + "InvalidContainerReleaseException":         &engine.Error{Kind: engine.InvalidRelease, Text: "text"},
		exception + "InvalidResourceBlacklistRequestException": &engine.Error{Kind: engine.InvalidBlacklist, Text: "text"},
		exception + "YarnException":                            fmt.Errorf("wrapped: %w", &engine.Error{Kind: engine.Failed, Text: "text"}),
		"org.apache.hadoop.ipc.StandbyException":               loop.ErrClosed,
		"java.io.IOException":                                  errors.New("text"),
	} {
		errs[want] = err
		methods[want] = func(c *ipc.Call) { Fail(c, err) }
	}
	methods["denied"] = func(c *ipc.Call) { Fail(c, &engine.Error{Kind: engine.AccessDenied, Text: "text"}) }
	call := ipctest.Serve(t, methods)
	for want := range errs {
		_, err := call(want, nil)
		var remote *ipc.RemoteError
		if !errors.As(err, &remote) || remote.Class != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	_, err := call("denied", nil)
	var remote *ipc.RemoteError
	if !errors.As(err, &remote) || remote.Class != exception+"YarnException" || !strings.HasPrefix(remote.Message, "org.apache.hadoop.security.AccessControlException: text") {
		t.Errorf("denied: %v", err)
	}
	for kind := engine.Failed; kind <= engine.NotStored; kind++ {
		if classes[kind] == "" {
			t.Errorf("refusals of kind %d have no exception", kind)
		}
	}
}

// Records that every answer is made of.
func TestRecords(t *testing.T) {
	p := ToToken(token.Token{Kind: "K"})
	if p.Identifier == nil || p.Password == nil || p.Kind == nil || p.Service == nil {
		t.Errorf("fields of a token are left out: %v", p)
	}
	types := append(yarn.BasicResourceTypes(), yarn.ResourceType{Name: "gpu"})
	if got := ToTypes(types); len(got) != 3 || got[0].GetName() != "memory-mb" || got[0].GetUnits() != "Mi" || got[2].GetName() != "gpu" {
		t.Errorf("types: %v", got)
	}
	if got := ACLs("", ""); got != nil {
		t.Errorf("no lists: %v", got)
	}
	if got := ACLs("a", "b"); len(got) != 2 || got[0].GetAccessType() != pb.ApplicationAccessType_APPACCESS_VIEW_APP || got[1].GetAcl() != "b" {
		t.Errorf("lists: %v", got)
	}
}
