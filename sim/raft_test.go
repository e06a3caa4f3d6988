package sim

import (
	cryptorand "crypto/rand"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/raft"
)

// replicated is a store that three members replicate. Either the leader's process ends, what it has sent arrives, and its transactions and messages, but for
// heartbeats, are the writes; or, with power, the power of all fails, what is under way is lost, and the writes are the transactions of all. The next
// ResourceManager is the next member's, if it moves.
type replicated struct {
	t            *testing.T
	w            *writes
	group        *replica.Lockstep
	power, moves bool
	opened       int
	home         string
}

var memberNames = []string{"rm1", "rm2", "rm3"}

func newReplicated(t *testing.T, w *writes, power, moves bool) *replicated {
	was := cryptorand.Reader // of which raft draws its times
	cryptorand.Reader = rand.NewChaCha8([32]byte{1})
	t.Cleanup(func() { cryptorand.Reader = was })
	group, err := replica.NewLockstep(raft.Buckets(), memberNames...)
	must(t, err)
	for range 100 {
		group.Pass()
	}
	r := &replicated{t: t, w: w, group: group, power: power, moves: moves}
	group.Before = r.before
	return r
}

// before is asked before each transaction and message.
func (r *replicated) before(member, what string) error {
	if r.w.dead && (r.power || member == r.home) {
		return errDied
	}
	switch {
	case r.w.what == "": // nobody calls the store
	case r.power && what != "transaction":
	case !r.power && (member != r.home || strings.HasPrefix(what, "MsgHeartbeat")):
	default:
		return r.w.write()
	}
	return nil
}

func (r *replicated) open() store.Store {
	r.w.what = ""
	if r.power {
		r.group.Lose()
		r.group.End(memberNames...)
	} else if r.opened > 0 {
		r.group.End(r.home)
		r.group.Settle() // the others go on
	}
	for _, name := range memberNames {
		if r.power || r.opened > 0 && name == r.home {
			must(r.t, r.group.Start(name))
		}
	}
	r.home = memberNames[0]
	if r.moves {
		r.home = memberNames[r.opened%len(memberNames)]
	}
	r.opened++
	r.w.begin("load")
	return raft.Open(raft.Options{Member: r.group.Member(r.home), Name: r.home, Patience: 2 * time.Second})
}
