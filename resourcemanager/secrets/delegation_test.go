package secrets

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
)

const hour = time.Hour

var (
	alice = Caller{User: "alice@REALM", Short: "alice"}
	oozie = Caller{User: "oozie", Short: "oozie"}
)

// world is a Delegation with a clock of its own and a store.
type world struct {
	*Delegation
	time time.Time
	t    *testing.T
}

func newWorld(t *testing.T, times Lifetimes) *world {
	w := &world{time: start, t: t}
	w.Delegation = NewDelegation(Rolling{Random: counting()}, times, func() time.Time { return w.time })
	return w
}

func (w *world) issue(c Caller, renewer string) token.Token {
	w.t.Helper()
	tok, _, err := w.Issue(c, renewer)
	if err != nil {
		w.t.Fatal(err)
	}
	return tok
}

func list(ops []state.Op) string {
	var out []string
	for _, op := range ops {
		out = append(out, op.String())
	}
	return strings.Join(out, ", ")
}

func TestDelegationLife(t *testing.T) {
	w := newWorld(t, defaultLifetimes())
	if _, _, err := w.Issue(alice, "oozie"); err == nil {
		t.Error("issued a token without a key")
	}
	if got := list(w.Start()); got != "put delegation-key/1" {
		t.Errorf("at the start: %s", got)
	}
	tok, change, err := w.Issue(Caller{User: "alice@REALM", Short: "alice", RealUser: "hive"}, "oozie")
	if err != nil || list(change.Ops) != "put delegation-token/1, put delegation-sequence/current" {
		t.Fatalf("issue: %s, %v", list(change.Ops), err)
	}
	want := token.Delegation{Owner: "alice@REALM", Renewer: "oozie", RealUser: "hive", Issued: start.UnixMilli(),
		Expires: start.Add(7 * 24 * hour).UnixMilli(), Sequence: 1, KeyID: 1}
	if id, err := token.ParseDelegation(tok.Identifier); err != nil || id != want || tok.Service != "" || tok.Kind != "RM_DELEGATION_TOKEN" {
		t.Errorf("identifier %+v, %v, want %+v", id, err, want)
	}
	logsIn(t, w, tok, "alice@REALM")

	w.time = start.Add(24 * hour)
	logsIn(t, w, tok, "alice@REALM")
	until, change, err := w.Renew(tok, "oozie")
	if err != nil || until != start.Add(48*hour).UnixMilli() || list(change.Ops) != "put delegation-token/1" {
		t.Errorf("renewed until %s: %s, %v", text(until), list(change.Ops), err)
	}
	w.time = start.Add(48*hour + time.Millisecond)
	_, _, err = w.Password(tok.Identifier)
	fails(t, err, ipc.ClassInvalidToken, "expired")

	w.time = start.Add(6*24*hour + hour)
	if until, _, err = w.Renew(tok, "oozie"); err != nil || until != want.Expires {
		t.Errorf("last renewal: until %s, %v", text(until), err)
	}
	w.time = time.UnixMilli(want.Expires + 1)
	_, _, err = w.Renew(tok, "oozie")
	fails(t, err, ipc.ClassInvalidToken, "lifetime ended")
}

func TestDelegationRights(t *testing.T) {
	w := newWorld(t, defaultLifetimes())
	w.Start()
	tok, mute := w.issue(alice, "oozie"), w.issue(alice, "")
	forged := tok
	forged.Password = []byte("guess")
	unknown := token.Token{Identifier: token.Delegation{Owner: "alice@REALM", Sequence: 99, KeyID: 1}.Append(nil)}
	altered := token.Token{Identifier: token.Delegation{Owner: "root", Sequence: 1, KeyID: 1}.Append(nil)}

	for _, c := range []struct {
		tok         token.Token
		renewer     string
		class, text string
	}{
		{tok, "alice", ipc.ClassAccessControl, "its renewer is oozie"},
		{mute, "", ipc.ClassAccessControl, "names no renewer"},
		{forged, "oozie", ipc.ClassAccessControl, "wrong password"},
		{unknown, "oozie", ipc.ClassInvalidToken, "unknown"},
		{altered, "oozie", ipc.ClassInvalidToken, "unknown"},
		{token.Token{Identifier: []byte("x")}, "oozie", ipc.ClassInvalidToken, "delegation token identifier"},
	} {
		_, _, err := w.Renew(c.tok, c.renewer)
		fails(t, err, c.class, c.text)
	}
	for _, c := range []struct {
		tok         token.Token
		caller      Caller
		class, text string
	}{
		{tok, Caller{User: "mallory", Short: "mallory"}, ipc.ClassAccessControl, "not authorized to cancel"},
		{tok, Caller{User: "alice", Short: "alice"}, ipc.ClassAccessControl, "not authorized to cancel"},
		{mute, Caller{}, ipc.ClassAccessControl, "not authorized to cancel"},
		{forged, alice, ipc.ClassAccessControl, "wrong password"},
		{unknown, alice, ipc.ClassInvalidToken, "unknown"},
	} {
		_, err := w.Cancel(c.tok, c.caller)
		fails(t, err, c.class, c.text)
	}
	for _, c := range []struct {
		tok    token.Token
		caller Caller
	}{{tok, oozie}, {mute, alice}} {
		change, err := w.Cancel(c.tok, c.caller)
		if err != nil || !strings.HasPrefix(list(change.Ops), "remove delegation-token/") {
			t.Errorf("cancel by %s: %s, %v", c.caller.User, list(change.Ops), err)
		}
		_, _, err = w.Password(c.tok.Identifier)
		fails(t, err, ipc.ClassInvalidToken, "unknown")
		_, err = w.Cancel(c.tok, c.caller)
		fails(t, err, ipc.ClassInvalidToken, "unknown")
	}
}

func TestDelegationExpiry(t *testing.T) {
	w := newWorld(t, defaultLifetimes())
	w.Start()
	w.issue(alice, "oozie")
	w.time = start.Add(2 * hour)
	second := w.issue(alice, "oozie")
	w.Tick()
	w.time = start.Add(24*hour - 1)
	if got := list(w.Tick()); got != "" {
		t.Errorf("a moment too early: %s", got)
	}
	w.time = start.Add(25 * hour)
	if got := list(w.Tick()); got != "put delegation-key/1, put delegation-key/2, remove delegation-token/1" {
		t.Errorf("after a day: %s", got)
	}
	if k := w.keys[1].record.ExpireAt; k != w.time.Add(7*24*hour).UnixMilli() {
		t.Errorf("the retired key expires at %s", text(k))
	}
	logsIn(t, w, second, alice.User)
	if tok := w.issue(alice, "oozie"); tok.Identifier == nil || w.tokens[3].id.KeyID != 2 {
		t.Errorf("token %+v", w.tokens[3])
	}
	w.time = w.time.Add(9 * 24 * hour)
	if got := list(w.Tick()); got != "remove delegation-key/1, put delegation-key/2, put delegation-key/3, remove delegation-token/2, remove delegation-token/3" {
		t.Errorf("after nine more days: %s", got)
	}
	if due := w.Due(); !due.Equal(w.time.Add(hour)) {
		t.Errorf("due at %v", due)
	}
}

func TestDelegationRestart(t *testing.T) {
	w := newWorld(t, defaultLifetimes())
	w.Start()
	tok := w.issue(alice, "oozie")
	w.issue(oozie, "oozie")
	keys := []state.DelegationKey{w.keys[1].record}
	records := []state.DelegationToken{w.tokens[1].record, {Sequence: 4, Identifier: []byte("damaged"), RenewBy: 1 << 60},
		{Sequence: 5, Identifier: token.Delegation{Owner: "x", Sequence: 5, KeyID: 77}.Append(nil), RenewBy: 1 << 60}}

	after := newWorld(t, defaultLifetimes())
	err := after.Restore(keys, records, 9)
	if err == nil || !strings.Contains(err.Error(), "2 are void") || !strings.Contains(err.Error(), "[4 5]") {
		t.Errorf("restored with %v", err)
	}
	if got := list(after.Start()); got != "put delegation-key/2" {
		t.Errorf("at the start: %s", got)
	}
	logsIn(t, after, tok, alice.User)
	next := after.issue(alice, "oozie")
	if id, _ := token.ParseDelegation(next.Identifier); id.Sequence != 10 || id.KeyID != 2 {
		t.Errorf("next token %+v", id)
	}
	_, _, err = after.Password(records[2].Identifier)
	fails(t, err, ipc.ClassInvalidToken, "key 77, which is gone")
	after.time = start.Add(hour)
	if got := list(after.Tick()); got != "remove delegation-token/4, remove delegation-token/5" {
		t.Errorf("first scan: %s", got)
	}
}

func TestDelegationUndo(t *testing.T) {
	w := newWorld(t, defaultLifetimes())
	w.Start()
	known := func(tok token.Token) bool {
		_, _, err := w.Password(tok.Identifier)
		return err == nil
	}
	tok, change, _ := w.Issue(alice, "oozie")
	w.Undo(change)
	if known(tok) {
		t.Error("a token whose issue was undone is known")
	}
	tok = w.issue(alice, "oozie")
	w.time = start.Add(hour)
	_, renewal, _ := w.Renew(tok, "oozie")
	w.Undo(renewal)
	if got := w.tokens[2].record.RenewBy; got != start.Add(24*hour).UnixMilli() {
		t.Errorf("after an undone renewal it is valid until %s", text(got))
	}
	_, renewal, _ = w.Renew(tok, "oozie")
	cancel, _ := w.Cancel(tok, alice)
	w.Undo(renewal)
	if known(tok) {
		t.Error("undoing a renewal brought a cancelled token back")
	}
	w.Undo(cancel)
	w.Undo(cancel)
	if !known(tok) {
		t.Error("a token whose cancellation was undone is unknown")
	}
	w.Undo(Amendment{})
}

func TestDelegationBound(t *testing.T) {
	times := defaultLifetimes()
	times.MaxTokens = 3
	w := newWorld(t, times)
	w.Start()
	for range 3 {
		w.issue(alice, "oozie")
	}
	if _, _, err := w.Issue(alice, "oozie"); err == nil || !strings.Contains(err.Error(), "3 already") {
		t.Errorf("a fourth token: %v", err)
	}
	w.sequence, w.times.MaxTokens = 1<<31-1, 9
	if _, _, err := w.Issue(alice, "oozie"); err == nil || !strings.Contains(err.Error(), fmt.Sprint(1<<31-1)) {
		t.Errorf("a token beyond the last sequence number: %v", err)
	}
}

// defaultLifetimes are those of an empty configuration.
func defaultLifetimes() Lifetimes {
	const day = 24 * time.Hour
	return Lifetimes{KeyInterval: day, Renewal: day, Total: 7 * day, Scan: time.Hour}
}
