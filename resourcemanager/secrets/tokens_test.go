package secrets

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

var (
	app     = yarn.ApplicationID{ClusterTimestamp: 1700000000000, Sequence: 7}
	attempt = yarn.AttemptID{Application: app, Attempt: 1}
	other   = yarn.AttemptID{Application: app, Attempt: 2}
	node1   = yarn.NodeID{Host: "node1", Port: 45454}
	node2   = yarn.NodeID{Host: "node2", Port: 45454}

	_ ipc.Tokens = (*AMRM)(nil)
	_ ipc.Tokens = (*Delegation)(nil)
)

// fails checks that an error is a remote one of a class, with a text in it.
func fails(t *testing.T, err error, class, text string) {
	t.Helper()
	var remote *ipc.RemoteError
	if !errors.As(err, &remote) || remote.Class != class || !strings.Contains(remote.Message, text) {
		t.Errorf("error %v, want %s: …%s…", err, class, text)
	}
}

func logsIn(t *testing.T, keeper ipc.Tokens, tok token.Token, as string) {
	t.Helper()
	password, user, err := keeper.Password(tok.Identifier)
	if err != nil || !bytes.Equal(password, tok.Password) || user != as {
		t.Errorf("password %x, user %q, %v, want %x, %q", password, user, err, tok.Password, as)
	}
}

func TestAMRMLogin(t *testing.T) {
	a := NewAMRM(rolling(24*time.Hour, time.Hour), start)
	tok := a.Issue(attempt)
	if tok.Kind != "YARN_AM_RM_TOKEN" || tok.Service != "" {
		t.Errorf("token %+v", tok)
	}
	_, _, err := a.Password(tok.Identifier)
	fails(t, err, ipc.ClassInvalidToken, "appattempt_1700000000000_0007_000001 not found")
	a.Register(attempt)
	logsIn(t, a, tok, "appattempt_1700000000000_0007_000001")
	_, _, err = a.Password(a.Issue(other).Identifier)
	fails(t, err, ipc.ClassInvalidToken, "appattempt_1700000000000_0007_000002 not found")
	_, _, err = a.Password([]byte("nonsense"))
	fails(t, err, ipc.ClassInvalidToken, "YARN_AM_RM_TOKEN")
	a.Unregister(attempt)
	_, _, err = a.Password(tok.Identifier)
	fails(t, err, ipc.ClassInvalidToken, "not found")
}

func TestAMRMRoll(t *testing.T) {
	a := NewAMRM(rolling(24*time.Hour, time.Hour), start)
	a.Register(attempt)
	first := a.Issue(attempt)
	if _, ok := a.Renew(attempt, firstID); ok {
		t.Error("a new token while nothing rolls")
	}
	if a.Tick(start.Add(24*time.Hour)) != Rolled {
		t.Fatal("no roll")
	}
	if got := a.Issue(attempt); !bytes.Equal(got.Identifier, first.Identifier) {
		t.Error("a token signed with a key that is not stored yet")
	}
	if a.Tick(start.Add(26*time.Hour)) != Unchanged {
		t.Error("promoted a key that is not stored yet")
	}
	a.Saved(a.State())
	second, ok := a.Renew(attempt, firstID)
	if !ok || bytes.Equal(second.Identifier, first.Identifier) {
		t.Error("no new token during the roll")
	}
	if again, _ := a.Renew(attempt, firstID); !bytes.Equal(again.Password, second.Password) {
		t.Error("not the same token when asked again")
	}
	if _, ok := a.Renew(attempt, firstID+1); ok {
		t.Error("a new token for a master that has it")
	}
	logsIn(t, a, first, attempt.String())
	logsIn(t, a, second, attempt.String())
	if a.Tick(start.Add(26*time.Hour)) != Promoted {
		t.Fatal("no promotion")
	}
	logsIn(t, a, second, attempt.String())
	_, _, err := a.Password(first.Identifier)
	fails(t, err, ipc.ClassInvalidToken, "Invalid AMRMToken from appattempt_1700000000000_0007_000001")
	if keys := a.State(); keys.Current.ID != firstID+1 || keys.Next.Bytes != nil {
		t.Errorf("state %+v", keys)
	}
}

func TestAMRMRestart(t *testing.T) {
	before := NewAMRM(Rolling{Interval: 24 * time.Hour, Delay: time.Hour}, start)
	old := before.Issue(attempt)
	before.Tick(before.Due())
	before.Saved(before.State())
	young := before.Issue(attempt)

	after := NewAMRM(Rolling{Interval: 24 * time.Hour, Delay: time.Hour}, start)
	if after.Restore(state.MasterKeys{}, start) {
		t.Error("restored from nothing")
	}
	later := start.Add(24*time.Hour + 50*time.Minute)
	if !after.Restore(before.State(), later) {
		t.Fatal("not restored")
	}
	after.Register(attempt)
	logsIn(t, after, old, attempt.String())
	logsIn(t, after, young, attempt.String())
	if got := after.Issue(attempt); !bytes.Equal(got.Password, young.Password) {
		t.Error("new tokens are not signed with the next key")
	}
	if after.Tick(later.Add(59*time.Minute)) != Unchanged || after.Tick(later.Add(time.Hour)) != Promoted {
		t.Error("want a promotion after a full delay")
	}
}

func TestNMTokensOncePerNode(t *testing.T) {
	n := NewNM(rolling(24*time.Hour, time.Hour), start)
	get := func(id yarn.AttemptID, node yarn.NodeID) bool {
		tok, ok := n.IssueOnce(id, node, "alice", "10.0.0.1:45454")
		if ok && (tok.Kind != "NMToken" || tok.Service != "10.0.0.1:45454" || !token.Verify(n.Current().Bytes, tok.Identifier, tok.Password)) {
			t.Errorf("token %+v", tok)
		}
		return ok
	}
	expect := func(what string, want bool, got bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: token given: %v, want %v", what, got, want)
		}
	}
	expect("attempt not registered", false, get(attempt, node1))
	n.Register(attempt)
	n.Register(other)
	expect("first", true, get(attempt, node1))
	expect("again", false, get(attempt, node1))
	n.Register(attempt)
	expect("registered again", false, get(attempt, node1))
	expect("another node", true, get(attempt, node2))
	expect("another attempt", true, get(other, node1))
	n.ClearNode(node1)
	expect("node restarted", true, get(attempt, node1))
	expect("node restarted, again", false, get(attempt, node1))
	expect("the other node did not", false, get(attempt, node2))
	expect("node restarted, another attempt", true, get(other, node1))
	n.ClearAttempt(attempt)
	expect("master restarted", true, get(attempt, node2))
	expect("the other master did not", false, get(other, node1))
	n.Tick(start.Add(24 * time.Hour))
	expect("rolling", false, get(attempt, node2))
	n.Tick(start.Add(25 * time.Hour))
	expect("new key", true, get(attempt, node2))
	expect("new key, again", false, get(attempt, node2))
	n.Unregister(attempt)
	n.ClearAttempt(attempt)
	expect("attempt ended", false, get(attempt, node1))
}

func TestNMTokenOfTheMasterItself(t *testing.T) {
	n := NewNM(rolling(24*time.Hour, time.Hour), start)
	n.Register(attempt)
	tok := n.Issue(attempt, node1, "alice", "")
	id, err := token.ParseNM(tok.Identifier)
	if err != nil || id != (token.NM{Attempt: attempt, Node: node1, Submitter: "alice", KeyID: firstID}) {
		t.Errorf("identifier %+v, %v", id, err)
	}
	if _, ok := n.IssueOnce(attempt, node1, "alice", ""); !ok {
		t.Error("the launcher's token counts as the master's")
	}
}

func TestKeysForNodes(t *testing.T) {
	types := yarn.BasicResourceTypes()
	c := NewContainers(rolling(24*time.Hour, time.Hour), types, start)
	n := NewNM(rolling(24*time.Hour, time.Hour), start)
	if _, ok := c.ForHeartbeat(c.Current().ID); ok {
		t.Error("a container key for a node that has it")
	}
	if _, ok := n.ForHeartbeat(n.Current().ID); ok {
		t.Error("an NM key for a node that has it")
	}
	c.Tick(c.Due())
	n.Tick(n.Due())
	if k, ok := c.ForHeartbeat(c.Current().ID); !ok || k.ID != firstID+1 {
		t.Errorf("container key %d, %v", k.ID, ok)
	}
	if k, ok := n.ForHeartbeat(n.Current().ID); !ok || k.ID != firstID+1 {
		t.Errorf("NM key %d, %v", k.ID, ok)
	}
	if c.Current().ID != firstID || n.Current().ID != firstID {
		t.Error("registering nodes are told the next key")
	}
}

func TestContainerToken(t *testing.T) {
	c := NewContainers(rolling(24*time.Hour, time.Hour), yarn.BasicResourceTypes(), start)
	what := token.Container{ID: yarn.ContainerID{Attempt: attempt, Number: 2}, NodeAddress: "node1:45454", Submitter: "alice",
		Resource: yarn.NewResource(1024, 1), Expires: 1700000600000, Issuer: 1700000000000, AllocationRequestID: -1}
	tok := c.Issue(what, "10.0.0.1:45454")
	if tok.Kind != "ContainerToken" || tok.Service != "10.0.0.1:45454" || what.KeyID != 0 {
		t.Errorf("token %+v", tok)
	}
	got, err := c.Verify(tok)
	if err != nil || got.KeyID != firstID || got.ID != what.ID {
		t.Errorf("verified %+v, %v", got, err)
	}
	forged := tok
	forged.Password = make([]byte, token.PasswordSize)
	_, err = c.Verify(forged)
	fails(t, err, ipc.ClassInvalidToken, "container_1700000000000_0007_01_000002")
	c.Tick(c.Due())
	if _, err := c.Verify(tok); err != nil {
		t.Errorf("during the roll: %v", err)
	}
	c.Tick(c.Due())
	_, err = c.Verify(tok)
	fails(t, err, ipc.ClassInvalidToken, "not signed with a key in use")
	_, err = c.Verify(token.Token{})
	fails(t, err, ipc.ClassInvalidToken, "names no container")
}

func TestManyGoroutines(t *testing.T) {
	a, n := NewAMRM(rolling(24*time.Hour, time.Hour), start), NewNM(rolling(24*time.Hour, time.Hour), start)
	a.Register(attempt)
	n.Register(attempt)
	given := make([]int, 8)
	var wg sync.WaitGroup
	for i := range given {
		wg.Go(func() {
			for port := range int32(200) {
				if _, ok := n.IssueOnce(attempt, yarn.NodeID{Host: "node", Port: port}, "alice", ""); ok {
					given[i]++
				}
				tok := a.Issue(attempt)
				if password, _, err := a.Password(tok.Identifier); err != nil || !bytes.Equal(password, tok.Password) {
					t.Errorf("password %x, %v", password, err)
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, g := range given {
		sum += g
	}
	if sum != 200 {
		t.Errorf("%d tokens for 200 nodes", sum)
	}
}

func BenchmarkContainerToken(b *testing.B) {
	c := NewContainers(Rolling{}, yarn.BasicResourceTypes(), start)
	what := token.Container{ID: yarn.ContainerID{Attempt: attempt, Number: 2}, NodeAddress: "node1:45454", Submitter: "alice", Resource: yarn.NewResource(1024, 1)}
	b.ReportAllocs()
	for b.Loop() {
		c.Issue(what, "10.0.0.1:45454")
	}
}
