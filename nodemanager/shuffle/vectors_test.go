package shuffle

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/heddle-project/heddle/wire/token"
)

// The vectors were made by Apache's own classes, 3.5.0.

func TestSignatures(t *testing.T) {
	newHash, err := algorithm("HmacSHA1")
	if err != nil {
		t.Fatal(err)
	}
	const url = "/mapOutput?job=job_1700000000000_0007&reduce=2&map=attempt_1700000000000_0007_m_000001_0"
	const urlHash, replyHash = "GZmVDFjPWsr88Mj0eOVsQ0xX8P0=", "+LPrPeStZ7bK/zGc/sreJvFRddQ="
	reply, ok := verify(newHash, jobKey, "13562", url, urlHash)
	if !ok || reply != replyHash {
		t.Errorf("reply %q, %v", reply, ok)
	}
	if _, ok := verify(newHash, jobKey, "13562", url+"#fragment", urlHash); !ok {
		t.Error("a fragment is no part of what is signed")
	}
	for name, try := range map[string]struct{ key, port, target, hash string }{
		"other key":    {"\x01\x02\x03\x04\x05\x06\x07\x09", "13562", url, urlHash},
		"other port":   {string(jobKey), "13563", url, urlHash},
		"other map":    {string(jobKey), "13562", url + ",attempt_1700000000000_0007_m_000002_0", urlHash},
		"reply's hash": {string(jobKey), "13562", url, replyHash},
		"shorter":      {string(jobKey), "13562", url, urlHash[:20]},
		"empty":        {string(jobKey), "13562", url, ""},
	} {
		if reply, ok := verify(newHash, []byte(try.key), try.port, try.target, try.hash); ok || reply != "" {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestAlgorithms(t *testing.T) {
	for name, size := range map[string]int{"": 20, "HmacSHA1": 20, "hmacsha224": 28, "HmacSHA256": 32, "HmacSHA384": 48, "HmacSHA512": 64} {
		if h, err := algorithm(name); err != nil || h().Size() != size {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := New(Config{LocalDirs: func() []string { return nil }, Address: "127.0.0.1:0", Algorithm: "HmacRot13"}); err == nil {
		t.Error("an unknown algorithm is accepted")
	}
}

func TestPartitionHeader(t *testing.T) {
	f := &fetch{reduce: 2}
	head := f.headOf(part{attempt: "attempt_1700000000000_0007_m_000001_0", rec: record{part: 300, raw: 1000}})
	want := append(append([]byte{0x25}, "attempt_1700000000000_0007_m_000001_0"...), unhex("8e012c 8e03e8 02")...)
	if !bytes.Equal(head, want) {
		t.Errorf("%x instead of %x", head, want)
	}
}

const indexVector = "000000000000000000000000000000640000000000000032 000000000000003200000000000000020000000000000006 00000000c26f0a2a"

func TestIndexVector(t *testing.T) {
	b := unhex(indexVector)
	for _, keep := range []int64{0, 1 << 10} {
		rec, all, err := readIndex(bytes.NewReader(b), int64(len(b)), 1, keep)
		if err != nil || rec != (record{50, 2, 6}) {
			t.Errorf("%+v, %v", rec, err)
		}
		if kept := keep > 0; kept != (all != nil) {
			t.Errorf("of %d bytes that may be kept are %x", keep, []byte(all))
		}
	}
	if got := hex.EncodeToString(indexOf(record{0, 100, 50}, record{50, 2, 6})); got != hex.EncodeToString(b) {
		t.Errorf("the tests write %s", got)
	}
}

func TestMetadata(t *testing.T) {
	s := &Server{port: 13562}
	if got := hex.EncodeToString(s.Metadata()); got != "000034fa" {
		t.Error(got)
	}
}

func TestServiceData(t *testing.T) {
	one, err := newJob(app, user, serviceData(jobKey))
	if err != nil || !bytes.Equal(one.key, jobKey) || one.User != user || jobID(one.App) != "job_1700000000000_0007" {
		t.Fatalf("%+v, %v", one, err)
	}
	again, err := newJob(app, user, one.Token)
	if err != nil || !bytes.Equal(again.key, jobKey) || !bytes.Equal(again.Token, one.Token) {
		t.Errorf("what is saved is read as %+v, %v", again, err)
	}
	short := token.Token{Identifier: []byte{1}, Kind: "mapreduce.job"}.Append(nil)
	for name, try := range map[string]struct {
		user string
		data []byte
	}{
		"empty":           {user, nil},
		"cut":             {user, serviceData(jobKey)[:12]},
		"no key":          {user, short},
		"long key":        {user, serviceData(make([]byte, maxKey+1))},
		"too much":        {user, append(serviceData(jobKey), make([]byte, MaxServiceData)...)},
		"nobody":          {"", serviceData(jobKey)},
		"parent":          {"..", serviceData(jobKey)},
		"path":            {"bob/../alice", serviceData(jobKey)},
		"negative length": {user, []byte{0xff, 0, 0, 0}},
	} {
		if one, err := newJob(app, try.user, try.data); err == nil {
			t.Errorf("%s is accepted: %+v", name, one)
		}
	}
}
