package secrets

import (
	"sync"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// NM keeps the keys of NM tokens, by which masters log in to nodes, and remembers for
// which nodes each attempt's master has one already.
type NM struct {
	mu       sync.RWMutex
	ring     ring
	attempts map[yarn.AttemptID]map[yarn.NodeID]uint64

	// ClearNode only enters a node in cleared, so that it need not visit all attempts.
	// moment counts its calls: a token issued at moment m counts unless the node was
	// cleared at a later one.
	moment  uint64
	cleared map[yarn.NodeID]uint64
}

// NewNM makes a first key.
func NewNM(how Rolling, now time.Time) *NM {
	n := &NM{ring: newRing(how, now), attempts: make(map[yarn.AttemptID]map[yarn.NodeID]uint64)}
	n.cleared = make(map[yarn.NodeID]uint64)
	return n
}

// Tick rolls or promotes when that is due. After a promotion all masters count as having
// no tokens, and get new ones with the containers that they are granted next.
func (n *NM) Tick(now time.Time) Change {
	n.mu.Lock()
	defer n.mu.Unlock()
	change := n.ring.tick(now)
	if change == Promoted {
		n.cleared = make(map[yarn.NodeID]uint64)
		for id := range n.attempts {
			n.attempts[id] = nil
		}
	}
	return change
}

// Due is when Tick will have something to do.
func (n *NM) Due() time.Time {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.ring.due()
}

// Current is the key for a node that registers.
func (n *NM) Current() state.MasterKey {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.ring.current.MasterKey
}

// ForHeartbeat is the key for the answer to a heartbeat of a node whose newest key has
// the id known; ok is false if the node has it already.
func (n *NM) ForHeartbeat(known int32) (k state.MasterKey, ok bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.ring.offer(known)
}

// Register begins to remember which tokens an attempt's master has. Without it IssueOnce
// gives the attempt none.
func (n *NM) Register(id yarn.AttemptID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.attempts[id]; !ok {
		n.attempts[id] = nil
	}
}

// Unregister forgets an attempt.
func (n *NM) Unregister(id yarn.AttemptID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.attempts, id)
}

// ClearAttempt makes an attempt's master count as having no tokens. It is called when
// the master registers.
func (n *NM) ClearAttempt(id yarn.AttemptID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.attempts[id]; ok {
		n.attempts[id] = nil
	}
}

// ClearNode makes every master count as having no token for a node. It is called when
// the node registers or leaves.
func (n *NM) ClearNode(id yarn.NodeID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moment++
	n.cleared[id] = n.moment
}

// Issue makes a token for an attempt and a node, and does not remember it. Package launch
// starts the master itself with it. service is the address under which clients look for
// the token.
func (n *NM) Issue(attempt yarn.AttemptID, node yarn.NodeID, submitter, service string) token.Token {
	n.mu.RLock()
	k := n.ring.current
	n.mu.RUnlock()
	id := token.NM{Attempt: attempt, Node: node, Submitter: submitter, KeyID: k.ID}
	return k.issue(token.KindNM, service, id.Append(nil))
}

// IssueOnce makes a token if the attempt is registered and its master has none
// for that node yet, and remembers that it has one now.
func (n *NM) IssueOnce(attempt yarn.AttemptID, node yarn.NodeID, submitter, service string) (token.Token, bool) {
	if n.has(attempt, node) || !n.claim(attempt, node) {
		return token.Token{}, false
	}
	return n.Issue(attempt, node, submitter, service), true
}

// has tells whether the master has a token for the node, or is not registered.
func (n *NM) has(attempt yarn.AttemptID, node yarn.NodeID) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.hasLocked(attempt, node)
}

func (n *NM) hasLocked(attempt yarn.AttemptID, node yarn.NodeID) bool {
	nodes, registered := n.attempts[attempt]
	given, ok := nodes[node]
	return !registered || ok && given >= n.cleared[node]
}

func (n *NM) claim(attempt yarn.AttemptID, node yarn.NodeID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hasLocked(attempt, node) {
		return false
	}
	if n.attempts[attempt] == nil {
		n.attempts[attempt] = make(map[yarn.NodeID]uint64)
	}
	n.attempts[attempt][node] = n.moment
	return true
}
