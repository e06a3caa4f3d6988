package memory

import (
	"errors"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(testing.TB) storetest.Subject {
		d := NewDisk()
		return storetest.Subject{
			Open:      func(_ testing.TB, o store.Options) store.Store { return d.Open(o) },
			Overwrite: func(_ testing.TB, key state.Key, value []byte) { d.Overwrite(key, value) },
		}
	})
}

func TestLastLoaderOwnsTheDisk(t *testing.T) {
	d := NewDisk()
	first, second := d.Open(store.Options{}), d.Open(store.Options{})
	if _, err := first.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ops := storetest.Puts(storetest.Application(1, 10))
	if err := first.Commit(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	snapshot, err := second.Load(t.Context())
	if err != nil || snapshot.Epoch != 1 || len(snapshot.Applications) != 1 {
		t.Fatalf("second load: %+v, %v", snapshot, err)
	}
	for range 2 {
		if err := first.Commit(t.Context(), ops); !errors.Is(err, store.ErrFenced) {
			t.Fatalf("commit of the first: %v, want fenced", err)
		}
	}
	if err := second.Commit(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
}
