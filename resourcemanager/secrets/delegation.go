package secrets

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/token"
)

// Lifetimes are the times and bounds of delegation tokens. The names of the properties
// follow yarn.resourcemanager.delegation.
type Lifetimes struct {
	KeyInterval time.Duration // key.update-interval: between two new keys; default 24 h
	Renewal     time.Duration // token.renew-interval: how long a token is valid after its issue and after each renewal; default 24 h
	Total       time.Duration // token.max-lifetime: how long a token can be valid with renewals; default 7 days
	Scan        time.Duration // token.remove-scan-interval: between two removals of expired tokens; default 1 h
	MaxTokens   int           // how many there may be; zero means DefaultMaxTokens
}

// DefaultMaxTokens bounds the delegation tokens that are kept.
const DefaultMaxTokens = 500_000

// Delegation keeps the ResourceManager's delegation tokens and their keys. It checks the
// tokens at the clients' port.
//
// A change takes effect at once, and returns the records that must be stored before the
// caller is answered. Changes must be stored in the order in which they were made; one
// that could not be stored is taken back by Undo.
type Delegation struct {
	how   Rolling // length and random source
	times Lifetimes
	now   func() time.Time

	mu       sync.RWMutex
	keys     map[int32]*signingKey
	current  *signingKey // nil before Start
	newest   int32       // id of the newest key
	sequence int32       // of the newest token
	tokens   map[int32]*issued
	rollAt   time.Time
	scanAt   time.Time
}

// signingKey is a key with its record.
type signingKey struct {
	*key
	record state.DelegationKey
}

// issued is a token that was issued. It is replaced, never changed.
type issued struct {
	id     token.Delegation
	record state.DelegationToken
}

// Caller is the user whose call is about a delegation token.
type Caller struct {
	User     string // as authenticated: with the realm, if there is one
	Short    string // the short name of User
	RealUser string // the proxy user who acts for User; empty if none does
}

// Amendment is a change to the delegation tokens.
type Amendment struct {
	Ops           []state.Op // to be stored
	before, after *issued
}

// NewDelegation is one without tokens and keys. Of how only Length and Random matter.
// clock returns wall time.
func NewDelegation(how Rolling, times Lifetimes, clock func() time.Time) *Delegation {
	if times.MaxTokens == 0 {
		times.MaxTokens = DefaultMaxTokens
	}
	return &Delegation{how: how, times: times, now: clock, keys: make(map[int32]*signingKey), tokens: make(map[int32]*issued)}
}

// Restore takes over what was stored; it must be called before Start. A token that
// cannot be read, or whose key is gone, can never be used again. It is kept as expired,
// so that the next scan removes its record. The error lists such tokens.
func (d *Delegation) Restore(keys []state.DelegationKey, tokens []state.DelegationToken, sequence int32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range keys {
		d.addKey(k)
	}
	d.sequence = max(d.sequence, sequence)
	var lost []int32
	for _, t := range tokens {
		id, err := token.ParseDelegation(t.Identifier)
		if err != nil || id.Sequence != t.Sequence || d.keys[id.KeyID] == nil {
			lost = append(lost, t.Sequence)
			t.RenewBy = 0
		}
		d.tokens[t.Sequence] = &issued{id, t}
		d.sequence = max(d.sequence, t.Sequence)
	}
	if len(lost) > 0 {
		return fmt.Errorf("restoring delegation tokens: %d are void, their key is not stored or their record is damaged (sequence numbers %v)",
			len(lost), lost[:min(len(lost), 10)])
	}
	return nil
}

func (d *Delegation) addKey(record state.DelegationKey) *signingKey {
	k := &signingKey{newKey(state.MasterKey{ID: record.ID, Bytes: record.Bytes}), record}
	d.keys[record.ID] = k
	d.newest = max(d.newest, record.ID)
	return k
}

// Start makes a new key, which must be stored before a token is issued.
func (d *Delegation) Start() []state.Op {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	d.scanAt = now.Add(d.times.Scan)
	return []state.Op{state.Put(d.roll(now))}
}

// roll makes a new key the current one.
func (d *Delegation) roll(now time.Time) state.DelegationKey {
	d.rollAt = now.Add(d.times.KeyInterval)
	d.current = d.addKey(state.DelegationKey{
		ID:       d.newest + 1,
		ExpireAt: now.Add(d.times.KeyInterval + d.times.Total).UnixMilli(),
		Bytes:    d.how.secret(),
	})
	return d.current.record
}

// Due is when Tick will have something to do.
func (d *Delegation) Due() time.Time {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.rollAt.Before(d.scanAt) {
		return d.rollAt
	}
	return d.scanAt
}

// Tick makes a new key, and removes expired tokens and keys, when that is due. The
// changes must be stored; they take effect before that.
func (d *Delegation) Tick() []state.Op {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	var ops []state.Op
	if d.current != nil && !now.Before(d.rollAt) {
		ops = d.removeExpiredKeys(ops, now.UnixMilli())
		retiring := d.current.record
		retiring.ExpireAt = now.Add(d.times.Total).UnixMilli()
		d.addKey(retiring)
		ops = append(ops, state.Put(retiring), state.Put(d.roll(now)))
	}
	if !now.Before(d.scanAt) {
		d.scanAt = now.Add(d.times.Scan)
		ops = d.removeExpiredTokens(ops, now.UnixMilli())
	}
	return ops
}

func (d *Delegation) removeExpiredKeys(ops []state.Op, now int64) []state.Op {
	var gone []int32
	for id, k := range d.keys {
		if k.record.ExpireAt < now && k != d.current {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	for _, id := range gone {
		ops = append(ops, state.Remove(state.DelegationKey{ID: id}))
		delete(d.keys, id)
	}
	return ops
}

func (d *Delegation) removeExpiredTokens(ops []state.Op, now int64) []state.Op {
	var gone []*issued
	for _, t := range d.tokens {
		if t.record.RenewBy < now {
			gone = append(gone, t)
		}
	}
	slices.SortFunc(gone, func(a, b *issued) int { return cmp.Compare(a.record.Sequence, b.record.Sequence) })
	for _, t := range gone {
		ops = append(ops, state.Remove(t.record))
		delete(d.tokens, t.record.Sequence)
	}
	return ops
}

// Issue makes a token for the caller. renewer is the short name of the user who may renew
// it; empty if nobody may. The token's service is empty; the client sets it. Issue does
// not check whether the caller may have one: on a secure cluster, not if it logged in
// with a token.
func (d *Delegation) Issue(caller Caller, renewer string) (token.Token, Amendment, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.current == nil:
		return token.Token{}, Amendment{}, fmt.Errorf("issuing a delegation token to %s: the keys are not loaded yet", caller.User)
	case len(d.tokens) >= d.times.MaxTokens:
		return token.Token{}, Amendment{}, fmt.Errorf("issuing a delegation token to %s: there are %d already, the most that are kept; cancel some or wait until they expire",
			caller.User, len(d.tokens))
	case d.sequence == math.MaxInt32:
		return token.Token{}, Amendment{}, fmt.Errorf("issuing a delegation token to %s: all %d sequence numbers are used up", caller.User, d.sequence)
	}
	now := d.now()
	d.sequence++
	id := token.Delegation{
		Owner: caller.User, Renewer: renewer, RealUser: caller.RealUser,
		Issued: now.UnixMilli(), Expires: now.Add(d.times.Total).UnixMilli(),
		Sequence: d.sequence, KeyID: d.current.ID,
	}
	t := &issued{id, state.DelegationToken{Sequence: id.Sequence, Identifier: id.Append(nil), RenewBy: d.renewBy(id, now)}}
	d.tokens[id.Sequence] = t
	ops := []state.Op{state.Put(t.record), state.Put(state.DelegationSequence{Last: d.sequence})}
	return d.current.issue(token.KindDelegation, "", slices.Clone(t.record.Identifier)), Amendment{ops, nil, t}, nil
}

func (d *Delegation) renewBy(id token.Delegation, now time.Time) int64 {
	return min(id.Expires, now.Add(d.times.Renewal).UnixMilli())
}

// Renew renews a token and returns until when it is valid now, in milliseconds since
// 1970. renewer is the caller's short name, which must be that of the token's renewer.
// The ResourceManager itself may renew every token, and passes the token's renewer.
func (d *Delegation) Renew(t token.Token, renewer string) (int64, Amendment, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	held, err := d.genuine(t)
	if err != nil {
		return 0, Amendment{}, err
	}
	id, now := held.id, d.now()
	switch {
	case id.Expires < now.UnixMilli():
		return 0, Amendment{}, invalid("%s cannot be renewed by %s: its lifetime ended at %s", describe(id), renewer, text(id.Expires))
	case id.Renewer == "":
		return 0, Amendment{}, denied("%s cannot be renewed by %s: it names no renewer", describe(id), renewer)
	case id.Renewer != renewer:
		return 0, Amendment{}, denied("%s cannot be renewed by %s: its renewer is %s", describe(id), renewer, id.Renewer)
	}
	longer := &issued{id, held.record}
	longer.record.RenewBy = d.renewBy(id, now)
	d.tokens[id.Sequence] = longer
	return longer.record.RenewBy, Amendment{[]state.Op{state.Put(longer.record)}, held, longer}, nil
}

// Cancel invalidates a token. Only its owner and its renewer may call it.
func (d *Delegation) Cancel(t token.Token, caller Caller) (Amendment, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	held, err := d.genuine(t)
	if err != nil {
		return Amendment{}, err
	}
	id := held.id
	if caller.User != id.Owner && (id.Renewer == "" || caller.Short != id.Renewer) {
		return Amendment{}, denied("%s is not authorized to cancel %s: only its owner and its renewer are", caller.User, describe(id))
	}
	delete(d.tokens, id.Sequence)
	return Amendment{[]state.Op{state.Remove(held.record)}, held, nil}, nil
}

// Undo takes back a change that could not be stored, unless the token was changed again
// since.
func (d *Delegation) Undo(c Amendment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case c.after == nil && c.before != nil:
		if d.tokens[c.before.record.Sequence] == nil {
			d.tokens[c.before.record.Sequence] = c.before
		}
	case c.after == nil || d.tokens[c.after.record.Sequence] != c.after:
		return
	case c.before == nil:
		delete(d.tokens, c.after.record.Sequence)
	default:
		d.tokens[c.before.record.Sequence] = c.before
	}
}

// Password is the password for an identifier, and the token's owner as the user who logs
// in. Errors are *ipc.RemoteError of class InvalidToken.
func (d *Delegation) Password(identifier []byte) (password []byte, user string, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	held, k, err := d.find(identifier)
	if err != nil {
		return nil, "", err
	}
	if now := d.now(); held.record.RenewBy < now.UnixMilli() {
		return nil, "", invalid("%s has expired: it was to be renewed by %s, now it is %s",
			describe(held.id), text(held.record.RenewBy), text(now.UnixMilli()))
	}
	return k.sign(identifier), held.id.Owner, nil
}

// genuine finds a token that came with its password, and checks that.
func (d *Delegation) genuine(t token.Token) (*issued, error) {
	held, k, err := d.find(t.Identifier)
	if err != nil {
		return nil, err
	}
	if !k.verify(t.Identifier, t.Password) {
		return nil, denied("%s comes with a wrong password", describe(held.id))
	}
	return held, nil
}

func (d *Delegation) find(identifier []byte) (*issued, *signingKey, error) {
	id, err := token.ParseDelegation(identifier)
	if err != nil {
		return nil, nil, invalid("%v", err)
	}
	held := d.tokens[id.Sequence]
	if held == nil || held.id != id {
		return nil, nil, invalid("%s is unknown: it was cancelled, has expired, or is not of this cluster", describe(id))
	}
	k := d.keys[id.KeyID]
	if k == nil {
		return nil, nil, invalid("%s is signed with key %d, which is gone", describe(id), id.KeyID)
	}
	return held, k, nil
}

func describe(id token.Delegation) string {
	return fmt.Sprintf("delegation token %d of %q", id.Sequence, id.Owner)
}

func text(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.RFC3339) }
