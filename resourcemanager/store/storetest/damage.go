package storetest

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/record"
	"github.com/heddle-project/heddle/yarn"
)

// damages are values with a right checksum that are no record of the second attempt, by
// the reason. The stores have their own tests of damaged bytes.
func damages(other []byte) map[string][]byte {
	body := other[:len(other)-crc32.Size]
	return map[string][]byte{
		"record format 2":              summed(append([]byte{record.Version + 1}, body[1:]...)),
		"field tag":                    summed(append(slices.Clone(body), 0)),
		"is not a complete attempt id": summed([]byte{record.Version}),
		"record says that it is":       other,
	}
}

// summed appends the checksum of a value to it.
func summed(body []byte) []byte {
	return binary.BigEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

func testQuarantine(t *testing.T, sub Subject) {
	codec, bads := sub.codec(), damages
	if sub.Damages != nil {
		bads = sub.Damages
	}
	records := Everything()
	for reason, bad := range bads(mustEncode(t, codec, Attempt(1, 1))) {
		s, _ := opened(t, sub, options)
		commit(t, s, Puts(records...)...)
		closing(t, s)
		sub.Overwrite(t, Attempt(1, 2).Key(), bad)
		s, snapshot := opened(t, sub, options)
		q := snapshot.Quarantined
		if len(q) != 1 || q[0].Key != Attempt(1, 2).Key() || !strings.Contains(q[0].Reason, reason) || len(snapshot.Attempts) != 2 {
			t.Fatalf("%s: quarantined %v, attempts %d", reason, q, len(snapshot.Attempts))
		}
		commit(t, s, state.Put(Attempt(1, 2))) // heals
		closing(t, s)
	}
	testQuarantineAll(t, sub, records)
}

// testQuarantineAll damages every record: the store still loads and takes more.
func testQuarantineAll(t *testing.T, sub Subject, records []state.Record) {
	for _, r := range records {
		sub.Overwrite(t, r.Key(), summed([]byte{record.Version, 0xff}))
	}
	s, snapshot := opened(t, sub, options)
	epoch := snapshot.Epoch
	if len(snapshot.Quarantined) != len(records) || len(snapshot.Applications) != 0 {
		t.Fatalf("quarantined %v", snapshot.Quarantined)
	}
	commit(t, s, state.RemoveApplication(AppID(1)), state.Put(Application(2, 9)))
	closing(t, s)
	sub.Overwrite(t, state.Key{Table: state.Applications, Name: "no id at all"}, summed([]byte{record.Version}))
	sub.Overwrite(t, Attempt(3, 1).Key(), mustEncode(t, sub.codec(), Attempt(3, 1)))
	s, snapshot = opened(t, sub, options)
	closing(t, s)
	if snapshot.Epoch != epoch+1 || len(snapshot.Applications) != 1 {
		t.Fatalf("epoch %d, applications %v", snapshot.Epoch, snapshot.Applications)
	}
	// All records were damaged. Application 1 was removed with its two attempts, and
	// application 2 was stored again; a bad key and an attempt without application came.
	if got, want := len(snapshot.Quarantined), len(records)-4+2; got != want {
		t.Fatalf("%d quarantined, want %d: %v", got, want, snapshot.Quarantined)
	}
	reasons := map[state.Key]string{}
	for _, q := range snapshot.Quarantined {
		reasons[q.Key] = q.Reason
	}
	if !strings.Contains(reasons[Attempt(3, 1).Key()], "is missing or quarantined") {
		t.Fatalf("an attempt without application: %v", reasons)
	}
}

func mustEncode(t testing.TB, c store.Codec, r state.Record) []byte {
	t.Helper()
	b, err := c.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// testTypes reopens the store for a cluster with other resource types.
func testTypes(t *testing.T, sub Subject) {
	s, _ := opened(t, sub, options)
	a := Attempt(1, 1)
	commit(t, s, Puts(Application(1, 0), a)...)
	closing(t, s)

	other := options
	other.Types = append(yarn.BasicResourceTypes(), yarn.ResourceType{Name: "fpga"}, yarn.ResourceType{Name: "yarn.io/gpu"})
	s, snapshot := opened(t, sub, other)
	closing(t, s)
	if got, want := snapshot.Attempts[0].MasterResource, (yarn.Resource{2048, 1, 0, 1}); got != want {
		t.Fatalf("after a change of positions: %v, want %v", got, want)
	}

	other.Types = yarn.BasicResourceTypes() // the type is gone for a while
	s, snapshot = opened(t, sub, other)
	if got, want := snapshot.Attempts[0].MasterResource, (yarn.Resource{2048, 1}); got != want {
		t.Fatalf("without the type: %v, want %v", got, want)
	}
	commit(t, s, state.Put(snapshot.Attempts[0]))
	snapshot = reload(t, sub, s)
	want := Model{}
	want.Apply(Puts(Application(1, 0), a))
	same(t, snapshot, want.Snapshot(3))
}

func testEpochs(t *testing.T, sub Subject) {
	o := options
	o.Epochs = state.Epochs{Base: 40, Range: 3}
	for _, want := range []int64{40, 41, 42, 40, 41} {
		s, snapshot := opened(t, sub, o)
		closing(t, s)
		if snapshot.Epoch != want {
			t.Fatalf("epoch %d, want %d", snapshot.Epoch, want)
		}
	}
}

// ApacheDamages are the damages of a store whose form is Hadoop's.
func ApacheDamages(other []byte) map[string][]byte {
	return map[string][]byte{
		"an attempt without an id":   {},
		"final status 77":            append(slices.Clone(other), 0x40, 77),
		"record says that it is":     other,
		"invalid wire-format data":   {0xff},
		"belongs to another attempt": append(slices.Clone(other), 0x12, 6, 0x0a, 4, 0x12, 2, 0x10, 9),
	}
}
