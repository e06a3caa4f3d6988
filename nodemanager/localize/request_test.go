package localize

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/javaregexp"
	"github.com/heddle-project/heddle/wire/pb"
)

func wired(scheme, user, host string, port int32, file string) *pb.LocalResource {
	u := &pb.URL{File: &file, Port: &port}
	for at, v := range map[**string]string{&u.Scheme: scheme, &u.UserInfo: user, &u.Host: host} {
		if v != "" {
			*at = proto.String(v)
		}
	}
	return &pb.LocalResource{Resource: u, Size: proto.Int64(7), Timestamp: proto.Int64(1_700_000_000_000),
		Type: pb.LocalResourceType_FILE.Enum(), Visibility: pb.LocalResourceVisibility_PRIVATE.Enum()}
}

func TestFromWire(t *testing.T) {
	for _, k := range []struct {
		m    *pb.LocalResource
		want string
	}{
		{wired("hdfs", "", "nn", 8020, "/user/a/job.jar"), "hdfs://nn:8020/user/a/job.jar"},
		{wired("hdfs", "bob", "cluster", -1, "/a/../b c%20"), "hdfs://bob@cluster/b c%20"},
		{wired("file", "", "", -1, "/tmp/x"), "file:/tmp/x"},
		{wired("", "", "", 0, "/tmp//x/"), "/tmp/x"},
	} {
		r, err := FromWire(k.m)
		if err != nil || r.URL.String() != k.want || r.Timestamp != 1_700_000_000_000 || r.Size != 7 || r.Type != File || r.Visibility != Private {
			t.Errorf("%v: %+v %v", k.m, r, err)
		}
	}
	change := func(f func(*pb.LocalResource)) *pb.LocalResource {
		m := wired("file", "", "", -1, "/tmp/x")
		f(m)
		return m
	}
	for why, m := range map[string]*pb.LocalResource{
		"not absolute":               wired("file", "", "", -1, "x"),
		"without a file's name":      wired("file", "", "", -1, "/a/.."),
		"not a host":                 wired("hdfs", "", "a/b", -1, "/x"),
		"zero byte":                  wired("hdfs", "", "a", -1, "/x\x00"),
		"a file name of more":        wired("file", "", "", -1, "/"+strings.Repeat("n", 256)),
		"not a type of resources":    change(func(m *pb.LocalResource) { m.Type = pb.LocalResourceType(9).Enum() }),
		"visibility 9 is not":        change(func(m *pb.LocalResource) { m.Visibility = pb.LocalResourceVisibility(9).Enum() }),
		"a pattern of more than":     change(func(m *pb.LocalResource) { m.Pattern = proto.String(strings.Repeat("p", javaregexp.MaxLength+1)) }),
		"the resource's URL: \"\": ": {},
	} {
		if r, err := FromWire(m); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %+v %v", why, r, err)
		}
	}
}

func TestSharing(t *testing.T) {
	base := Request{URL: filesystem.URL{Scheme: "hdfs", Authority: "nn:8020", Path: "/a"}, Timestamp: 5, Size: 3, Type: File, Visibility: Public}
	same := base
	same.URL.Scheme, same.URL.Authority, same.Size, same.Visibility = "HDFS", "NN:8020", 4, Private
	if base.Key() != same.Key() {
		t.Error(base.Key(), same.Key())
	}
	for i, change := range []func(*Request){
		func(r *Request) { r.Timestamp++ }, func(r *Request) { r.Type = Archive }, func(r *Request) { r.Pattern = "x" },
		func(r *Request) { r.URL.Path = "/A" }, func(r *Request) { r.URL.Authority = "nn" },
	} {
		other := base
		change(&other)
		if base.Key() == other.Key() {
			t.Error(i, other)
		}
	}
	base.Pattern = "a b"
	if got := base.String(); got != "{ hdfs://nn:8020/a, 5, FILE, a b }" {
		t.Error(got)
	}
	base.Pattern = ""
	if got := base.String(); got != "{ hdfs://nn:8020/a, 5, FILE, null }" {
		t.Error(got)
	}
}
