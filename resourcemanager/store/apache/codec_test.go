package apache_test

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

var codec = apache.Codec{Types: storetest.Types()}

func encode(t testing.TB, r state.Record) []byte {
	t.Helper()
	b, err := codec.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode[R state.Record](t testing.TB, key state.Key, b []byte) R {
	t.Helper()
	r, err := codec.Decode(key, b)
	if err != nil {
		t.Fatal(err)
	}
	return r.(R)
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unknown is a field that nobody knows.
func unknown(number protowire.Number) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), "kept")
}

// TestContext: an application's queue and priority are in its submission context, as
// Hadoop has them; the context itself stays what it was.
func TestContext(t *testing.T) {
	id := storetest.AppID(7)
	context := marshal(t, &pb.ApplicationSubmissionContext{ApplicationId: convert.ToApplicationID(id), ApplicationName: proto.String("n"),
		Queue: proto.String("a"), Priority: &pb.Priority{Priority: proto.Int32(4)}})
	context = append(context, unknown(300)...)
	for _, c := range []struct {
		queue    string
		priority int32
		suffix   int
	}{{"a", 4, 0}, {"root.b", 4, 8}, {"root.b", 5, 12}} {
		app := state.Application{ID: id, Context: context, User: "alice", Queue: c.queue, Priority: c.priority}
		b := encode(t, app)
		stored, seen := &pb.StoredApplication{}, &pb.ApplicationSubmissionContext{}
		if err := proto.Unmarshal(b, stored); err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(stored.GetApplicationSubmissionContext(), seen); err != nil {
			t.Fatal(err)
		}
		if seen.GetQueue() != c.queue || seen.GetPriority().GetPriority() != c.priority || len(stored.GetApplicationSubmissionContext())-len(context) != c.suffix {
			t.Errorf("%+v: Hadoop sees %v", c, seen)
		}
		if got := decode[state.Application](t, app.Key(), b); !reflect.DeepEqual(got, app) {
			t.Errorf("%+v, want %+v", got, app)
		}
	}
	// One that Hadoop has stored.
	b := marshal(t, &pb.StoredApplication{User: proto.String("bob"), ApplicationSubmissionContext: context, ApplicationState: proto.Int32(10)})
	got := decode[state.Application](t, state.Application{ID: id}.Key(), b)
	if got.Queue != "a" || got.Priority != 4 || !bytes.Equal(got.Context, context) || got.Final != yarn.AppKilled {
		t.Errorf("%+v", got)
	}
	for want, m := range map[string]*pb.StoredApplication{
		"without a user":                      {ApplicationSubmissionContext: context},
		"its submission context says":         {User: proto.String("bob")},
		"its submission context: ":            {User: proto.String("bob"), ApplicationSubmissionContext: []byte{0xff}},
		"with 900 bytes appended":             {User: proto.String("bob"), ApplicationSubmissionContext: context, ContextSuffix: proto.Int32(900)},
		"application state 11 is not known":   {User: proto.String("bob"), ApplicationSubmissionContext: context, ApplicationState: proto.Int32(11)},
		"17 timeouts, at most 16 are allowed": {User: proto.String("bob"), ApplicationSubmissionContext: context, ApplicationTimeouts: make([]*pb.StoredTimeout, 17)},
	} {
		for i := range m.ApplicationTimeouts {
			m.ApplicationTimeouts[i] = &pb.StoredTimeout{ApplicationTimeoutType: proto.Int32(int32(i))}
		}
		if _, err := codec.Decode(state.Application{ID: id}.Key(), marshal(t, m)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestUnknown: what of Hadoop's records is not known here is written back.
func TestUnknown(t *testing.T) {
	app := storetest.Application(1, 0)
	b := append(encode(t, app), unknown(600)...)
	read := decode[state.Application](t, app.Key(), b)
	if got := encode(t, read); !bytes.Equal(got, b) {
		t.Errorf("application: %x, want %x", got, b)
	}

	attempt := storetest.Attempt(1, 1)
	m := &pb.StoredAttempt{}
	if err := proto.Unmarshal(encode(t, attempt), m); err != nil {
		t.Fatal(err)
	}
	m.AppAttemptTokens = []byte("HDTS\x00\x00\x01secret")
	m.MasterContainer.ContainerToken = &pb.Token{Identifier: []byte("id"), Password: []byte("pw"), Kind: proto.String("ContainerToken"), Service: proto.String("s")}
	m.MasterContainer.Version = proto.Int32(3)
	m.MasterContainer.Resource.ResourceValueMap = append(m.MasterContainer.Resource.ResourceValueMap, &pb.ResourceInformation{Key: proto.String("fpga"), Value: proto.Int64(2), Units: proto.String("")})
	m.ApplicationResourceUsageMap = append(m.ApplicationResourceUsageMap, &pb.StringLongMap{Key: proto.String("fpga"), Value: proto.Int64(9)})
	m.ProtoReflect().SetUnknown(unknown(700))
	was := decode[state.Attempt](t, attempt.Key(), marshal(t, m))
	was.Diagnostics = "changed"
	again := &pb.StoredAttempt{}
	if err := proto.Unmarshal(encode(t, was), again); err != nil {
		t.Fatal(err)
	}
	m.Diagnostics = proto.String("changed")
	if !proto.Equal(again, m) {
		t.Errorf("attempt\n%v, want\n%v", again, m)
	}

	keys := state.MasterKeys{Current: state.MasterKey{ID: 1, Bytes: []byte("a")}}
	b = append(encode(t, keys), unknown(9)...)
	if got := encode(t, decode[state.MasterKeys](t, keys.Key(), b)); !bytes.Equal(got, b) {
		t.Errorf("keys: %x, want %x", got, b)
	}
}

// TestVectors are bytes that Hadoop has written.
func TestVectors(t *testing.T) {
	key, err := hex.DecodeString("038a018bf3f1ec00080102030405060708")
	if err != nil {
		t.Fatal(err)
	}
	want := state.DelegationKey{ID: 3, ExpireAt: 1700604800000, Bytes: []byte{1, 2, 3, 4, 5, 6, 7, 8}}
	if got := decode[state.DelegationKey](t, want.Key(), key); !reflect.DeepEqual(got, want) || !bytes.Equal(encode(t, want), key) {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"", "03", "038a018bf3f1ec0008", "038a018bf3f1ec000801020304050607080a"} {
		b, _ := hex.DecodeString(bad)
		if r, err := codec.Decode(want.Key(), b); err == nil {
			t.Errorf("%s: %+v", bad, r)
		}
	}
	if v, err := apache.EncodeVersion(1, 5); err != nil || hex.EncodeToString(v) != "08011005" {
		t.Errorf("%x %v", v, err)
	}
	if v, err := apache.EncodeEpoch(1); err != nil || hex.EncodeToString(v) != "0801" {
		t.Errorf("%x %v", v, err)
	}
	if v := encode(t, state.DelegationSequence{Last: 1}); hex.EncodeToString(v) != "00000001" {
		t.Errorf("%x", v)
	}
}

// TestSettle: how an application of Hadoop's judged its end is known from its last attempt.
func TestSettle(t *testing.T) {
	ended := func(n int, final yarn.ApplicationState) *state.Application {
		return &state.Application{ID: storetest.AppID(n), Final: final}
	}
	attempt := storetest.Attempt(2, 1)
	first := storetest.Attempt(2, 1)
	attempt.ID.Attempt, first.FinalStatus = 2, yarn.FinalFailed
	s := &state.Snapshot{Applications: []*state.Application{ended(1, yarn.AppKilled), ended(2, yarn.AppFinished), ended(3, yarn.AppFailed), ended(4, yarn.AppNew)},
		Attempts: []state.Attempt{{ID: yarn.AttemptID{Application: storetest.AppID(1), Attempt: 1}}, first, attempt}} // the first was killed before it could say
	apache.Settle(s)
	for i, want := range []yarn.FinalStatus{yarn.FinalKilled, yarn.FinalSucceeded, yarn.FinalFailed, yarn.FinalUndefined} {
		if got := s.Applications[i].FinalStatus; got != want {
			t.Errorf("%s: %s, want %s", s.Applications[i].ID, got, want)
		}
	}
}

// TestReservationOfHadoop: Hadoop stores no id with a reservation, which its name is.
func TestReservationOfHadoop(t *testing.T) {
	want := storetest.Everything()[14].(state.Reservation)
	m := &pb.ReservationAllocationState{}
	if err := proto.Unmarshal(encode(t, want), m); err != nil {
		t.Fatal(err)
	}
	m.ReservationId = nil
	if got := decode[state.Reservation](t, want.Key(), marshal(t, m)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if r, err := codec.Decode(state.Key{Table: state.Reservations, Name: "x"}, marshal(t, m)); err == nil {
		t.Errorf("a reservation called x is %+v", r)
	}
}

// TestKeyWithoutBytes: nothing is signed with an empty key.
func TestKeyWithoutBytes(t *testing.T) {
	key := state.Key{Table: state.AMRMKeys, Name: "current"}
	for what, m := range map[string]*pb.StoredMasterKeys{
		"nothing":       {},
		"an empty key":  {CurrentMasterKey: &pb.MasterKey{KeyId: proto.Int32(1)}},
		"an empty next": {CurrentMasterKey: &pb.MasterKey{KeyId: proto.Int32(1), Bytes: []byte("k")}, NextMasterKey: &pb.MasterKey{KeyId: proto.Int32(2)}},
	} {
		if r, err := codec.Decode(key, marshal(t, m)); err == nil {
			t.Errorf("%s is %+v", what, r)
		}
	}
}

// TestFieldsMissing: a record of which any field is missing or empty, at any depth, is refused, or can be written and comes out the same.
func TestFieldsMissing(t *testing.T) {
	read := 0
	for _, r := range storetest.Everything() {
		for _, b := range without(encode(t, r)) {
			got, err := codec.Decode(r.Key(), b)
			if err != nil {
				continue
			}
			read++
			again, err := codec.Encode(got)
			if err != nil {
				continue
			}
			if back, err := codec.Decode(r.Key(), again); err != nil || !reflect.DeepEqual(back, got) {
				t.Errorf("%x: %+v, was %+v (%v)", b, back, got, err)
			}
		}
	}
	if read < 100 {
		t.Errorf("only %d could be read", read)
	}
}

// without is the message in all ways in which one field is missing, or has no bytes, at any depth. What is a message itself cannot be
// told from a text that looks like one; both are changed.
func without(b []byte) (all [][]byte) {
	for at := 0; at < len(b); {
		number, kind, n := protowire.ConsumeTag(b[at:])
		m := 0
		if n > 0 {
			m = protowire.ConsumeFieldValue(number, kind, b[at+n:])
		}
		if n < 0 || m < 0 {
			return nil
		}
		before, value, after := b[:at], b[at+n:at+n+m], b[at+n+m:]
		all = append(all, slices.Concat(before, after))
		if kind == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(value)
			for _, x := range append(without(inner), nil) {
				all = append(all, slices.Concat(before, protowire.AppendBytes(protowire.AppendTag(nil, number, kind), x), after))
			}
		}
		at += n + m
	}
	return all
}

// FuzzDecode: no bytes of a store are more than an error, and what is read can be written
// and comes out the same.
func FuzzDecode(f *testing.F) {
	for _, r := range storetest.Everything() {
		b, err := codec.Encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(r.Key().Table), r.Key().Name, b)
	}
	id := yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 2}, Attempt: 1}
	f.Add(string(state.Attempts), id.String(), marshal(f, &pb.StoredAttempt{AttemptId: convert.ToAttemptID(id),
		MasterContainer: &pb.Container{NodeHttpAddress: proto.String("n1:8042"), AllocationRequestId: proto.Int64(1)}}))
	f.Fuzz(func(t *testing.T, table, name string, b []byte) {
		key := state.Key{Table: state.Table(table), Name: name}
		r, err := codec.Decode(key, b)
		if err != nil {
			return
		}
		again, err := codec.Encode(r)
		if err != nil {
			return
		}
		if got, err := codec.Decode(key, again); err != nil || !reflect.DeepEqual(got, r) {
			t.Fatalf("%+v, was %+v (%v)", got, r, err)
		}
	})
}
