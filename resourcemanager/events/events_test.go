package events

import (
	"context"
	"testing"
)

func TestLog(t *testing.T) {
	l := New(7)
	more, ended := l.More(0)
	if ended {
		t.Fatal("ended at once")
	}
	select {
	case <-more:
		t.Fatal("there is nothing yet")
	default:
	}
	l.Add(&Event{What: "first"})
	<-more
	for range Kept + 9 {
		l.Add(&Event{})
	}
	last := int64(Kept + 10)
	if got := l.Last(); got != (ID{7, last}) {
		t.Fatal(got)
	}
	out, missed := l.Read(3, 2, nil)
	if missed != 7 || len(out) != 2 || out[0].Number != 11 || out[1].Number != 12 {
		t.Errorf("missed %d, then %v", missed, out)
	}
	if out, missed := l.Read(last-1, 5, nil); missed != 0 || len(out) != 1 || out[0].Number != last {
		t.Errorf("at the end: %d, %v", missed, out)
	}
	if out, missed := l.Read(last, 5, nil); missed != 0 || len(out) != 0 {
		t.Errorf("after the end: %d, %v", missed, out)
	}
	if len(l.ring) != Kept {
		t.Errorf("%d are kept", len(l.ring))
	}
	more, _ = l.More(last)
	l.Close()
	<-more
	if _, ended := l.More(last); !ended {
		t.Error("it has not ended")
	}
}

func TestIDs(t *testing.T) {
	for _, id := range []ID{{1700000000000, 42}, {}, {1<<63 - 1, 1<<63 - 1}} {
		if got, err := ParseID(id.String()); err != nil || got != id {
			t.Errorf("%v: %v %v", id, got, err)
		}
	}
	for _, bad := range []string{"", "1", "-", "1-", "-1", "1--1", "x-1", "1-1-1", "1-99999999999999999999", "+1-2", " 1-2"} {
		if got, err := ParseID(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

// The peer with the most readers makes room, and nobody else.
func TestPlaces(t *testing.T) {
	var p Places
	alone, free := p.Take(context.Background(), "alone")
	var crowd []context.Context
	for range MaxReaders {
		ctx, _ := p.Take(context.Background(), "crowd")
		crowd = append(crowd, ctx)
	}
	if alone.Err() != nil || crowd[0].Err() == nil || crowd[1].Err() != nil {
		t.Errorf("alone: %v, the first two of the crowd: %v, %v", alone.Err(), crowd[0].Err(), crowd[1].Err())
	}
	free()
	free()
	if alone.Err() == nil || len(p.readers) != MaxReaders-1 {
		t.Errorf("%v, %d readers", alone.Err(), len(p.readers))
	}
	if _, _ = p.Take(context.Background(), "late"); crowd[1].Err() != nil {
		t.Error("there was a free place")
	}
}

func BenchmarkAdd(b *testing.B) {
	l := New(1)
	e := Event{What: "allocated", Queue: "root.a"}
	b.ReportAllocs()
	for b.Loop() {
		l.Add(&e)
	}
}
