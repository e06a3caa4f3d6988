package secrets

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

var (
	types   = yarn.ResourceTypes{{Name: "memory-mb", Units: "Mi"}, {Name: "vcores"}}
	app     = yarn.ApplicationID{ClusterTimestamp: 1_700_000_000_000, Sequence: 7}
	attempt = yarn.AttemptID{Application: app, Attempt: 1}
	node    = yarn.NodeID{Host: "n1", Port: 45454}
)

// notebook is what a store would hold of Keys.
type notebook map[string][]byte

func (n notebook) keep(op state.Op) {
	switch op := op.(type) {
	case state.PutPart:
		n[op.Key] = op.Value
	case state.DropPart:
		delete(n, op.Key)
	}
}

func newKeys() (*Keys, notebook) {
	n := notebook{}
	return New(types, n.keep), n
}

// again is the next life of a node.
func (n notebook) again(t *testing.T) *Keys {
	t.Helper()
	k := New(types, func(state.Op) {})
	if bad := k.Restore(maps.Clone(n)); bad != nil {
		t.Fatal(bad)
	}
	return k
}

func key(id int32) Key { return Key{id, []byte(fmt.Sprintf("secret %d", id))} }

// nodeToken is one as the ResourceManager signs it.
func nodeToken(k Key) token.NM {
	return token.NM{Attempt: attempt, Node: node, Submitter: "ann", KeyID: k.ID}
}

// good tells whether a node token signed with a key lets its bearer in.
func good(k *Keys, signed Key) bool {
	id := nodeToken(signed)
	b := id.Append(nil)
	password, user, err := k.Password(b)
	return err == nil && user == attempt.String() && string(password) == string(token.Sign(signed.Bytes, b))
}

func isInvalid(t *testing.T, err error, text string) {
	t.Helper()
	var remote *ipc.RemoteError
	if !errors.As(err, &remote) || remote.Class != ipc.ClassInvalidToken || !strings.Contains(remote.Message, text) {
		t.Errorf("got %v, want an invalid token: %s", err, text)
	}
}

func containerToken(signed Key, number int64) (what token.Container, identifier, password []byte) {
	what = token.Container{ID: yarn.ContainerID{Attempt: attempt, Number: number}, NodeAddress: node.String(), Submitter: "ann",
		Resource: yarn.NewResource(1024, 1), Expires: 1000, KeyID: signed.ID, Issuer: 5, AllocationRequestID: -1}
	identifier = what.Append(nil, types)
	return what, identifier, token.Sign(signed.Bytes, identifier)
}

// A node token is good as long as its key is the current or the previous one.
func TestRolling(t *testing.T) {
	k, _ := newKeys()
	if _, _, ok := k.Current(); ok {
		t.Error("keys without a ResourceManager")
	}
	_, _, err := k.Password(token.NM{Attempt: attempt, Node: node}.Append(nil))
	isInvalid(t, err, "generated illegally")
	for id := int32(1); id <= 4; id++ {
		k.SetNodeKey(key(id))
		k.SetContainerKey(key(-id))
		for old := int32(1); old <= id; old++ {
			if got := good(k, key(old)); got != (old >= id-1) {
				t.Errorf("with key %d a token of key %d is good: %v", id, old, got)
			}
			_, identifier, password := containerToken(key(-old), 1)
			if _, err := k.Container(identifier, password); (err == nil) != (old >= id-1) {
				t.Errorf("with key %d a container token of key %d: %v", id, old, err)
			}
		}
		if c, n, ok := k.Current(); c != -id || n != id || !ok {
			t.Errorf("current: %d %d %v", c, n, ok)
		}
	}
	k.SetNodeKey(key(4)) // told again: nothing has changed
	if !good(k, key(3)) {
		t.Error("the same key again has pushed the previous one out")
	}
}

// An attempt whose token has started a container may go on with it however often keys roll, until its application ends.
func TestRemember(t *testing.T) {
	k, kept := newKeys()
	k.SetNodeKey(key(1))
	k.Remember(nodeToken(key(1)))
	k.Remember(nodeToken(key(9))) // not a key that there is
	for id := int32(2); id <= 4; id++ {
		k.SetNodeKey(key(id))
	}
	if !good(k, key(1)) || good(k, key(2)) || good(k, key(9)) {
		t.Error("the wrong keys are good")
	}
	forged := nodeToken(Key{ID: 77})
	if password, _, err := k.Password(forged.Append(nil)); err != nil || string(password) == string(token.Sign(key(4).Bytes, forged.Append(nil))) {
		t.Errorf("an unknown key's id: %v", err)
	}
	if next := kept.again(t); !good(next, key(1)) || !good(next, key(4)) || !good(next, key(3)) || good(next, key(2)) {
		t.Error("the next life knows other keys")
	}
	k.Remember(nodeToken(key(4)))
	if good(k, key(1)) || !good(k, key(4)) {
		t.Error("a newer token's key does not take the place of an older one's")
	}
	k.Finished(yarn.ApplicationID{ClusterTimestamp: 1})
	if len(k.remembered) != 1 {
		t.Error("another application's end")
	}
	k.Finished(app)
	if len(k.remembered) != 0 || len(kept) != 1 {
		t.Errorf("left: %v, %v", k.remembered, kept)
	}
}

// A ResourceManager that begins with an id its predecessor had is believed; one that gives no key at all is not.
func TestSameID(t *testing.T) {
	k, _ := newKeys()
	k.SetNodeKey(key(1))
	k.Remember(nodeToken(key(1)))
	other := Key{1, []byte("another secret")}
	k.SetNodeKey(other)
	if !good(k, other) || good(k, key(1)) {
		t.Error("the older key of two with one id counts")
	}
	k.Remember(nodeToken(other))
	k.SetNodeKey(key(2))
	k.SetNodeKey(key(3))
	if !good(k, other) {
		t.Error("the key was not remembered anew")
	}
	k.SetNodeKey(Key{ID: 4})
	k.SetContainerKey(Key{ID: 4})
	if good(k, Key{ID: 4}) || !good(k, key(3)) || !good(k, key(2)) {
		t.Error("a key without bytes is a key")
	}
}

// Whatever is wrong with a container token, it starts nothing.
func TestContainer(t *testing.T) {
	k, _ := newKeys()
	k.SetContainerKey(key(1))
	what, identifier, password := containerToken(key(1), 3)
	got, err := k.Container(identifier, password)
	if err != nil || got.ID != what.ID || got.Submitter != "ann" || got.Expires != 1000 || got.Resource != what.Resource {
		t.Fatalf("%+v %v", got, err)
	}
	_, err = k.Container(identifier, password[:19])
	isInvalid(t, err, "Invalid container token used for starting container on : n1:45454")
	_, err = k.Container(identifier, nil)
	isInvalid(t, err, "Invalid container token")
	_, err = k.Container(nil, nil)
	isInvalid(t, err, "")
	_, err = k.Container([]byte("rubbish"), password)
	isInvalid(t, err, "")
	what.Submitter = "root"
	_, err = k.Container(what.Append(nil, types), password)
	isInvalid(t, err, "Invalid container token")
	_, identifier, password = containerToken(key(2), 3)
	_, err = k.Container(identifier, password)
	isInvalid(t, err, "Given Container "+what.ID.String()+" seems to have an illegally generated token.")
	_, _, err = k.Password([]byte("\xff rubbish"))
	isInvalid(t, err, "")
}

// A token starts its container once, also across lives, until it expires; then it is forgotten.
func TestReplay(t *testing.T) {
	k, kept := newKeys()
	id := func(n int64) yarn.ContainerID { return yarn.ContainerID{Attempt: attempt, Number: n} }
	for n := range int64(3) {
		if !k.Fresh(id(n)) {
			t.Errorf("%d has been started", n)
		}
		k.Started(id(n), 1000-n, 500)
		k.Started(id(n), 2000, 500)
	}
	for _, life := range []*Keys{k, kept.again(t)} {
		for n := range int64(3) {
			if life.Fresh(id(n)) {
				t.Errorf("%d may start again", n)
			}
		}
	}
	if next := kept.again(t); next.expiries[0] != id(2) {
		t.Errorf("the next life's oldest is %v", next.expiries[0])
	}
	k.Started(id(3), 5000, 1001)
	if !k.Fresh(id(0)) || !k.Fresh(id(2)) || k.Fresh(id(3)) || len(kept) != 1 || len(k.started) != 1 || len(k.expiries) != 1 {
		t.Errorf("left: %v, %v", k.started, kept)
	}
}

// What is remembered is bounded.
func TestBounds(t *testing.T) {
	k := New(types, func(state.Op) {})
	k.SetNodeKey(key(1))
	for n := range int64(MaxStarted + 10) {
		k.started[yarn.ContainerID{Number: n}] = 1 << 40
		k.expiries = append(k.expiries, yarn.ContainerID{Number: n})
	}
	k.Started(yarn.ContainerID{Attempt: attempt}, 1<<40, 0)
	if len(k.started) != MaxStarted || len(k.expiries) != MaxStarted || k.Fresh(yarn.ContainerID{Attempt: attempt}) {
		t.Errorf("%d starts are remembered", len(k.started))
	}
	for n := range int32(MaxRemembered + 10) {
		k.Remember(token.NM{Attempt: yarn.AttemptID{Attempt: n}, KeyID: 1})
	}
	if len(k.remembered) != MaxRemembered {
		t.Errorf("%d keys are remembered", len(k.remembered))
	}
}

// A record that cannot be read is told, and spoils no other.
func TestRestore(t *testing.T) {
	good := map[string][]byte{
		"container":                   []byte(`{"Current":{"ID":1,"Bytes":"AAE="},"Previous":null}`),
		"attempt/" + attempt.String(): []byte(`{"ID":1,"Bytes":"AAE="}`),
		"started/" + (yarn.ContainerID{Attempt: attempt, Number: 1}).String(): []byte("7"),
	}
	bad := map[string][]byte{
		"node":                         []byte(`{"Current":{"ID":1,"Bytes":"AAE="},"Previous":5}`),
		"attempt/":                     []byte(`{"ID":1,"Bytes":"AAE="}`),
		"attempt/appattempt_1_0001_01": []byte(`{"ID":1,"Bytes":""}`),
		"attempt/appattempt_1_0001_02": nil,
		"started/x":                    []byte("7"),
		"started/" + (yarn.ContainerID{Attempt: attempt, Number: 2}).String(): []byte("seven"),
		"started_container_1_0001_01_000001":                                  []byte("7"),
		"":                                                                    []byte("7"),
	}
	k := New(types, func(state.Op) {})
	all := maps.Clone(good)
	maps.Copy(all, bad)
	errs := k.Restore(all)
	if len(errs) != len(bad) {
		t.Errorf("%d complaints about %d records: %v", len(errs), len(bad), errs)
	}
	if k.containers.Current == nil || k.nodes.Current != nil || len(k.remembered) != 1 || len(k.started) != 1 || len(k.expiries) != 1 {
		t.Errorf("restored: %+v", k)
	}
	if errs := k.Restore(map[string][]byte{"container": []byte(`{"Current":{"ID":1}}`)}); len(errs) != 1 || len(k.containers.Current.Bytes) == 0 {
		t.Errorf("a key without bytes: %v", errs)
	}
	if errs := k.Restore(nil); errs != nil {
		t.Error(errs)
	}
}

// Keys may be used by everybody at once.
func TestConcurrent(t *testing.T) {
	var mu sync.Mutex
	k := New(types, func(state.Op) { mu.Lock(); defer mu.Unlock() })
	var work sync.WaitGroup
	for g := range int32(4) {
		work.Go(func() {
			for n := range int32(200) {
				k.SetNodeKey(key(n))
				k.SetContainerKey(key(n))
				k.Remember(nodeToken(key(n)))
				good(k, key(n))
				k.Current()
				id := yarn.ContainerID{Attempt: attempt, Number: int64(n*4 + g)}
				k.Fresh(id)
				k.Started(id, int64(n), int64(n))
				_, identifier, password := containerToken(key(n), 1)
				_, _ = k.Container(identifier, password)
				k.Finished(app)
			}
		})
	}
	work.Wait()
}

// FuzzPassword: whatever is brought, there is no panic, and no password without a key.
func FuzzPassword(f *testing.F) {
	k, _ := newKeys()
	k.SetNodeKey(key(1))
	k.SetContainerKey(key(1))
	id := nodeToken(key(1))
	f.Add(id.Append(nil), token.Sign(key(1).Bytes, id.Append(nil)))
	_, identifier, password := containerToken(key(1), 1)
	f.Add(identifier, password)
	f.Fuzz(func(t *testing.T, identifier, password []byte) {
		if got, user, err := k.Password(identifier); err == nil && (len(got) != token.PasswordSize || user == "") {
			t.Errorf("%x has the password %x", identifier, got)
		}
		if _, err := k.Container(identifier, password); err == nil && !token.Verify(key(1).Bytes, identifier, password) {
			t.Errorf("%x is good with %x", identifier, password)
		}
	})
}
