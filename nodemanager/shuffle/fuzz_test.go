package shuffle

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

func FuzzQuery(f *testing.F) {
	f.Add("job=job_1700000000000_0007&reduce=2&map=attempt_1700000000000_0007_m_000001_0")
	f.Add("map=attempt_1_1,attempt_1_2,&reduce=0;job=x&keepAlive=TRUE&map=attempt_%41")
	f.Add("job=%&reduce=-1&map=../x")
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parseQuery(raw)
		if err != nil {
			return
		}
		if q.reduce < 0 || len(q.maps) == 0 || len(q.maps) > MaxMaps {
			t.Fatalf("%q is %+v", raw, q)
		}
		for _, m := range q.maps {
			if filepath.Join("/a/b", m) != "/a/b/"+m || !filepath.IsLocal(m) || len(m) > maxAttempt {
				t.Fatalf("%q asks for %q", raw, m)
			}
		}
	})
}

func FuzzServiceData(f *testing.F) {
	f.Add(user, serviceData(jobKey))
	f.Add("../x", []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		one, err := newJob(app, name, b)
		if err != nil {
			return
		}
		if len(one.key) == 0 || filepath.Join("/a/b", name) != "/a/b/"+name {
			t.Fatalf("%q, %x is %+v", name, b, one)
		}
		again, err := newJob(app, name, one.Token)
		if err != nil || !bytes.Equal(again.key, one.key) || !bytes.Equal(again.Token, one.Token) {
			t.Fatalf("%x is saved as %x, which is read as %+v, %v", b, one.Token, again, err)
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add(unhex(indexVector), int32(1))
	f.Add(indexOf(), int32(0))
	f.Fuzz(func(t *testing.T, b []byte, partition int32) {
		if partition < 0 {
			return
		}
		rec, none, err := readIndex(bytes.NewReader(b), int64(len(b)), partition, -1)
		same, all, again := readIndex(bytes.NewReader(b), int64(len(b)), partition, 1<<20)
		if rec != same || (err == nil) != (again == nil) || none != nil {
			t.Fatalf("read in pieces: %+v, %v; at once: %+v, %v", rec, err, same, again)
		}
		if err != nil {
			return
		}
		if kept, err := all.record(partition); err != nil || kept != rec {
			t.Fatalf("%+v, but %+v from the table, %v", rec, kept, err)
		}
		if rec.check(100) == nil && (rec.start+rec.part > 100 || rec.start < 0 || rec.part < 0) {
			t.Fatalf("%+v is within 100 bytes", rec)
		}
		if errors.Is(err, errChecksum) {
			t.Fatal(err)
		}
	})
}
