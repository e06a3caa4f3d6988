package client

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/scan"
	"github.com/heddle-project/heddle/yarn"
)

// The context that is stored and launched is the one that was sent, byte for
// byte, with the fields that nobody here knows.
func TestContextBytes(t *testing.T) {
	context, err := proto.Marshal(&pb.ApplicationSubmissionContext{ApplicationName: proto.String("x")})
	if err != nil {
		t.Fatal(err)
	}
	context = protowire.AppendString(protowire.AppendTag(context, 4711, protowire.BytesType), "of a later release")
	request := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 5)
	request = protowire.AppendBytes(protowire.AppendTag(request, 1, protowire.BytesType), context)
	got, err := contextBytes(request)
	if err != nil || !bytes.Equal(got, context) {
		t.Errorf("got %x, want %x (%v)", got, context, err)
	}
	for name, b := range map[string][]byte{"nothing": nil, "no context": request[:4], "cut short": request[:len(request)-1], "a bad tag": {0xff}, "a lone tag": {0x0a},
		"another type": protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5)} {
		if got, err := contextBytes(b); err == nil {
			t.Errorf("%s: %x", name, got)
		}
	}
}

// FuzzContextBytes reads hostile submissions: what would be posted to the engine is
// within the bounds.
func FuzzContextBytes(f *testing.F) {
	for _, m := range []*pb.ApplicationSubmissionContext{
		{ApplicationId: &pb.ApplicationId{Id: proto.Int32(1)}, AmContainerSpec: &pb.ContainerLaunchContext{Tokens: []byte("HDTS\x00\x00\x00")}, Resource: &pb.Resource{Memory: proto.Int64(5)}},
		{UnmanagedAm: proto.Bool(true), Resource: convert.ToResource(yarn.NewResource(1024, 2), yarn.BasicResourceTypes())},
		{UnmanagedAm: proto.Bool(true), Resource: &pb.Resource{ResourceValueMap: []*pb.ResourceInformation{{Key: proto.String("gpu"), Value: proto.Int64(1)}}}},
		{ApplicationTags: []string{"a", "B"}, UnmanagedAm: proto.Bool(true), ApplicationTimeouts: []*pb.ApplicationTimeoutMap{{
			ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), Timeout: proto.Int64(9)}}},
		{AmContainerSpec: &pb.ContainerLaunchContext{Application_ACLs: []*pb.ApplicationACLMap{{}}}, AmContainerResourceRequest: []*pb.ResourceRequest{{ResourceName: proto.String("*")}, {ResourceName: proto.String("h")}}},
	} {
		b, err := proto.Marshal(&pb.SubmitApplicationRequest{ApplicationSubmissionContext: m})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	s := &client{Config: Config{Types: yarn.BasicResourceTypes(), Access: nobody{}, MaxTags: 3, MaxTagLength: 10}}
	f.Fuzz(func(t *testing.T, body []byte) {
		raw, err := contextBytes(body)
		if err != nil {
			return
		}
		m := &scan.Submission{}
		if err := m.Scan(raw, s.Types, maxAMAsks); err != nil {
			return
		}
		whole := &pb.ApplicationSubmissionContext{}
		if proto.Unmarshal(raw, whole) == nil {
			want, refused := convert.Resource(whole.GetResource(), s.Types)
			if (m.SizeRefused != nil) != (refused != nil) || refused == nil && m.Size != want {
				t.Errorf("the master's container has %v (%v), want %v (%v)", m.Size, m.SizeRefused, want, refused)
			}
		}
		sub, class, err := s.submission(Submitter{User: "alice"}, m, askAnywhere, nil)
		if err != nil {
			if class == "" {
				t.Errorf("refused without an exception: %v", err)
			}
			return
		}
		if len(sub.Name) > MaxName || len(sub.Queue) > maxQueueName || len(sub.Type) > maxType || len(sub.Tags) > 3 || len(sub.AMAsks) > maxAMAsks || sub.User != "alice" {
			t.Errorf("passed: %+v", sub)
		}
		if !sub.Unmanaged && (len(sub.AMAsks) == 0 || sub.AMAsks[0].Where != yarn.AnyHost) {
			t.Errorf("asks for the master: %+v", sub.AMAsks)
		}
	})
}

// Of an unmanaged application, whose master needs no container, the requests for one are not looked at, however many there are; one
// that is stored is recovered.
func TestManyRequestsOfUnmanaged(t *testing.T) {
	for _, unmanaged := range []bool{true, false} {
		raw, err := proto.Marshal(&pb.ApplicationSubmissionContext{ApplicationId: &pb.ApplicationId{Id: proto.Int32(1)}, UnmanagedAm: &unmanaged, AmContainerSpec: &pb.ContainerLaunchContext{},
			AmContainerResourceRequest: slices.Repeat([]*pb.ResourceRequest{{ResourceName: proto.String("h")}}, maxAMAsks+1)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Stored(Config{Types: yarn.BasicResourceTypes(), Access: nobody{}}, Submitter{User: "alice"}, raw); (err == nil) != unmanaged {
			t.Errorf("unmanaged %t: %v", unmanaged, err)
		}
	}
}

// nobody has groups or rights.
type nobody struct{ Access }

func (nobody) Groups(string) []string { return nil }

// Moments travel as ISO-8601, as Java and the REST interface write them.
func TestParseTimeout(t *testing.T) {
	want := time.Date(2026, 11, 22, 3, 4, 5, 678e6, time.UTC)
	for _, s := range []string{"2026-11-22T03:04:05.678+0000", "2026-11-22T04:04:05.678+0100", "2026-11-22T03:04:05.678Z"} {
		if got, err := ParseTimeout(s); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s (%v)", s, got, err)
		}
	}
	for _, s := range []string{"", "soon", "2026-11-22", strings.Repeat("9", 1000)} {
		if got, err := ParseTimeout(s); err == nil {
			t.Errorf("%q: %s", s, got)
		}
	}
}
