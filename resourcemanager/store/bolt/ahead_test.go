package bolt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
	"github.com/heddle-project/heddle/yarn"
)

// gathered is a store whose Load waits for what the stream brings.
type gathered struct {
	store.Store
	stream *store.Stream
}

func (g gathered) Load(ctx context.Context) (*state.Snapshot, error) {
	s, err := g.Store.Load(ctx)
	if err != nil {
		return nil, err
	}
	err = g.stream.Each(ctx, func(p store.Part) {
		s.Applications = append(s.Applications, p.Applications...)
		s.Quarantined = append(s.Quarantined, p.Quarantined...)
		s.Made = append(s.Made, p.Made...)
	})
	if err != nil {
		return nil, err
	}
	s.Coming = state.Coming{}
	s.Finish()
	return s, nil
}

// A store whose applications come by a stream is a store like all others.
func TestConformanceAhead(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Subject {
		path := file(t)
		return storetest.Subject{
			Open: func(t testing.TB, o store.Options) store.Store {
				o.Stream = store.NewStream()
				s, err := Open(path, Options{Options: o})
				if err != nil {
					t.Fatal(err)
				}
				return gathered{s, o.Stream}
			},
			Overwrite: func(t testing.TB, key state.Key, value []byte) {
				rewrite(t, path, func(tx *sealed.Tx) error { return tx.Put(string(key.Table), key.Name, value) })
			},
		}
	})
}

// withApps is a file with so many applications, each with an attempt.
func withApps(t *testing.T, apps int) (path string) {
	path = file(t)
	s := mustOpen(t, path)
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ops []state.Op
	for i := range apps {
		id := yarn.ApplicationID{ClusterTimestamp: 1_700_000_000_000 + int64(i%2), Sequence: int32(i + 1)}
		ops = append(ops, state.Put(state.Application{ID: id, User: "ada", Queue: "root.default", Context: []byte("context")}),
			state.Put(state.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}}))
	}
	for part := range slices.Chunk(ops, store.MaxOps) {
		if err := s.Commit(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func openAhead(t *testing.T, path string) (Store, *store.Stream, error) {
	stream := store.NewStream()
	s, err := Open(path, Options{Options: store.Options{Types: storetest.Types(), Stream: stream}})
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, stream, err
}

// Applications come in the order of their ids, which is not that of their names, and after all else; what is stored meanwhile waits for them.
func TestAheadInOrder(t *testing.T) {
	const apps = 12_000
	path := withApps(t, apps)
	s, stream, err := openAhead(t, path)
	if err != nil {
		t.Fatal(err)
	}
	head, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(head.Applications) > 0 || head.Coming != (state.Coming{Count: apps, LastTimestamp: 1_700_000_000_001}) || len(head.Attempts) != apps || head.Epoch != 1 {
		t.Errorf("before the applications: %d applications, %+v, %d attempts, epoch %d", len(head.Applications), head.Coming, len(head.Attempts), head.Epoch)
	}
	if now := head.Started(5); now != 1_700_000_000_003 {
		t.Errorf("a start with a clock that was set back has the timestamp %d", now)
	}
	if _, err := s.Load(t.Context()); !errors.Is(err, store.ErrLoaded) {
		t.Errorf("loaded again: %v", err)
	}
	late := yarn.ApplicationID{ClusterTimestamp: 1_800_000_000_000, Sequence: 1}
	committed := make(chan error, 1)
	go func() {
		committed <- s.Commit(t.Context(), []state.Op{state.Put(state.Application{ID: late, User: "ada", Queue: "root.default", Context: []byte("late")})})
	}()
	hurried, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Commit(hurried, nil); !errors.As(err, new(*store.UnavailableError)) {
		t.Errorf("a commit before all is read: %v", err)
	}
	var last yarn.ApplicationID
	n := 0
	err = stream.Each(t.Context(), func(p store.Part) {
		for _, a := range p.Applications {
			if a.ID.Compare(last) <= 0 || string(a.Context) != "context" {
				t.Fatalf("%s with %q came after %s", a.ID, a.Context, last)
			}
			last = a.ID
			n++
		}
	})
	if err != nil || n != apps {
		t.Errorf("%d applications, %v", n, err)
	}
	if err := <-committed; err != nil {
		t.Error(err)
	}
	if b, err := s.Context(late); err != nil || string(b) != "late" {
		t.Errorf("context %q, %v", b, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole := mustOpen(t, path)
	if again, err := whole.Load(t.Context()); err != nil || again.Epoch != 2 || len(again.Applications) != apps+1 {
		t.Errorf("afterwards: %v, %v", again, err)
	}
}

// The memory of freed parts is used for later ones; copies of their applications stay as they are.
func TestAheadUsesMemoryAgain(t *testing.T) {
	const apps = 12_000
	_, stream, err := openAhead(t, withApps(t, apps))
	if err != nil {
		t.Fatal(err)
	}
	var kept []state.Application
	err = stream.Each(t.Context(), func(p store.Part) {
		for _, a := range p.Applications {
			kept = append(kept, *a)
		}
		stream.Free(p)
	})
	if err != nil || len(kept) != apps {
		t.Fatalf("%d applications, %v", len(kept), err)
	}
	for i := range kept {
		a := &kept[i]
		if i > 0 && a.ID.Compare(kept[i-1].ID) <= 0 || a.User != "ada" || a.Queue != "root.default" || string(a.Context) != "context" {
			t.Fatalf("application %d is %+v", i, a)
		}
	}
}

// A file that is not as it was sealed is noticed after the last record. Nothing was stored by then, and nothing can be.
func TestAheadDamaged(t *testing.T) {
	path := withApps(t, 2000)
	victim := yarn.ApplicationID{ClusterTimestamp: 1_700_000_000_000, Sequence: 777}
	edit(t, path, func(tx *bbolt.Tx) error { // as another program would
		b := tx.Bucket([]byte(state.Applications))
		return b.Put([]byte(victim.String()), bytes.Clone(b.Get([]byte(victim.String()))))
	})
	s, stream, err := openAhead(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := 0
	err = stream.Each(t.Context(), func(p store.Part) { n += len(p.Applications) })
	if !errors.As(err, new(*sealed.DamageError)) || n != 2000 {
		t.Errorf("%d applications, %v", n, err)
	}
	if err := s.Commit(t.Context(), nil); !errors.As(err, new(*sealed.DamageError)) {
		t.Errorf("a commit: %v", err)
	}
	if _, err := s.Context(victim); !errors.As(err, new(*sealed.DamageError)) {
		t.Errorf("a context: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// What makes no sense before the applications are read may be damage, and is told as such then. Of a file of another layout no record is tried.
func TestAheadRefused(t *testing.T) {
	for name, c := range map[string]struct {
		key, value string
		sealed     bool
		says       string
	}{
		"a spoilt epoch":       {key: epochKey, value: "many", says: "has other content than it was sealed with"},
		"an epoch":             {key: epochKey, value: "99999999", sealed: true, says: "epoch 99999999 is not in the configured range"},
		"a spoilt version":     {key: versionKey, value: "3.0", says: "has other content than it was sealed with"},
		"a version":            {key: versionKey, value: "3.0", sealed: true, says: "its layout version is 3.0"},
		"a version, no number": {key: versionKey, value: "new", sealed: true, says: "is not major.minor"},
	} {
		t.Run(name, func(t *testing.T) {
			path := withApps(t, 300)
			if c.sealed {
				rewrite(t, path, func(tx *sealed.Tx) error { return tx.Put(ownBucket, c.key, []byte(c.value)) })
			} else {
				edit(t, path, func(tx *bbolt.Tx) error { return tx.Bucket([]byte(ownBucket)).Put([]byte(c.key), []byte(c.value)) })
			}
			_, _, err := openAhead(t, path)
			if err == nil || !strings.Contains(err.Error(), c.says) || errors.As(err, new(*sealed.DamageError)) == c.sealed {
				t.Errorf("%v", err)
			}
		})
	}
}

// A commit waits until all that was read is taken: its outcome comes after that.
func TestAheadCommitsLast(t *testing.T) {
	s, stream, err := openAhead(t, withApps(t, 300))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	hurried, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.Commit(hurried, nil); !errors.As(err, new(*store.UnavailableError)) {
		t.Errorf("a commit before all is taken: %v", err)
	}
	if err := stream.Each(t.Context(), func(store.Part) {}); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// Whoever closes the store while it is being read waits for nobody. What was not taken by then is not taken for all there is, and the file stays as it was.
func TestAheadClosed(t *testing.T) {
	path := withApps(t, 12_000) // more than wait to be taken
	s, stream, err := openAhead(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a commit: %v", err)
	}
	if err := stream.Each(t.Context(), func(store.Part) {}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("the stream ended with %v", err)
	}
	if again, err := mustOpen(t, path).Load(t.Context()); err != nil || again.Epoch != 1 {
		t.Errorf("afterwards: %v, %v", again, err)
	}
}

func TestRank(t *testing.T) {
	for _, x := range []struct {
		name string
		want sealed.Rank
	}{
		{"application_1700000000000_0001", sealed.Rank{1700000000000, 1}},
		{"application_1700000000000_123456", sealed.Rank{1700000000000, 123456}},
		{"application_1700000000000_", sealed.Rank{}},
		{"application_99999999999999999999_1", sealed.Rank{}},
		{"application_-1_1", sealed.Rank{}},
		{"appattempt_1_1", sealed.Rank{}},
		{"", sealed.Rank{}},
	} {
		if got := rank([]byte(x.name)); got != x.want {
			t.Errorf("%q: %v, want %v", x.name, got, x.want)
		}
	}
}

// A file without a seal, as the first layout was, is read ahead too, and sealed once it is whole.
func TestAheadUnsealed(t *testing.T) {
	path := withApps(t, 600)
	edit(t, path, func(tx *bbolt.Tx) error {
		own := tx.Bucket([]byte(ownBucket))
		return errors.Join(own.Delete([]byte("seal")), own.Put([]byte(versionKey), []byte("1.0")))
	})
	if err := os.Remove(path + ".witness"); err != nil {
		t.Fatal(err)
	}
	s, stream, err := openAhead(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if head, err := s.Load(t.Context()); err != nil || head.Coming.Count != 600 {
		t.Fatalf("%v, %v", head, err)
	}
	n := 0
	if err := stream.Each(t.Context(), func(p store.Part) { n += len(p.Applications) }); err != nil || n != 600 {
		t.Errorf("%d applications, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := Check(path, Options{}); err != nil || report.Damage != nil {
		t.Errorf("afterwards: %+v, %v", report, err)
	}
}
