package conf

import (
	"slices"
	"strings"
	"time"
)

// Raft is a state store that the ResourceManagers keep together, and the election of one of them that goes with it. All of it is ours.
type Raft struct {
	Enabled bool     // yarn.resourcemanager.store.class is heddle.raft, with recovery
	Peers   []Member // one for each of yarn.resourcemanager.ha.rm-ids
	Listen  Address  // this one's address, with yarn.resourcemanager.bind-host

	Witness []string      // yarn.resourcemanager.heddle.raft.witnesses: those of the ids that vote and are never active
	Secret  string        // yarn.resourcemanager.heddle.raft.secret-file
	Timeout time.Duration // yarn.resourcemanager.heddle.raft.timeout-ms: a ResourceManager that is gone is replaced within this time
	Path    string        // yarn.resourcemanager.heddle.raft.path: the directory of this one's copy
}

// Member is one that keeps the store.
type Member struct {
	ID      string
	Address Address // yarn.resourcemanager.heddle.raft.address.ID, else yarn.resourcemanager.hostname.ID and raftPort
}

// raftClass is the value of yarn.resourcemanager.store.class.
const raftClass = "heddle.raft"

// raftPort is where ResourceManagers listen for each other, if nothing else is said.
const raftPort = 8034

// leastMembers can lose one of them.
const leastMembers = 3

func (r *Reader) raft(own string, ids []string) (out Raft) {
	const raft = rm + "heddle.raft."
	kept := r.recovery()
	if !kept.Enabled || kept.Store != "raft" {
		return out
	}
	out = Raft{
		Enabled: true,
		Secret:  r.String(raft+"secret-file", ""),
		Timeout: r.Duration(raft+"timeout-ms", 2*time.Second, time.Millisecond, 200*time.Millisecond),
		Path:    r.String(raft+"path", r.String("hadoop.tmp.dir", "/tmp/hadoop")+"/yarn/system/rmraft"),
	}
	for _, id := range ids {
		m := Member{id, r.idAddress(raft+"address", id, raftPort)}
		if id == own {
			out.Listen = r.Bind(rm+"bind-host", m.Address)
		}
		out.Peers = append(out.Peers, m)
	}
	if len(ids) < leastMembers {
		r.Fail(rm+"ha.rm-ids", "%s: with %s two ResourceManagers could do nothing while one of them is away, since most of them must have what is stored; "+
			"add a third one, on any machine that both reach", strings.Join(ids, ","), raftClass)
	}
	out.Witness = distinct(r.Strings(raft + "witnesses"))
	for _, id := range out.Witness {
		if !slices.Contains(ids, id) {
			r.Fail(raft+"witnesses", "%s is none of %sha.rm-ids (%s)", id, rm, strings.Join(ids, ", "))
		}
	}
	if len(out.Witness) > 0 && len(out.Witness) > len(ids)-2 {
		r.Fail(raft+"witnesses", "%d of %d ids; two of them at least must be able to become active", len(out.Witness), len(ids))
	}
	if out.Secret == "" {
		r.Fail(raft+"secret-file", "not set; it names a file with a secret that the ResourceManagers share, by which they know each other: make one with `openssl rand -hex 32`, mode 0600, the same on each machine")
	}
	return out
}
