package conf

import (
	"slices"
	"strings"
)

// HA is high availability: several ResourceManagers, of which one is active.
// The zero value is one ResourceManager, which always is.
type HA struct {
	Enabled   bool   // yarn.resourcemanager.ha.enabled
	ID        string // yarn.resourcemanager.ha.id, else the one of ha.rm-ids whose address is this machine's
	Peers     []Peer // yarn.resourcemanager.ha.rm-ids, this one included
	Automatic bool   // yarn.resourcemanager.ha.automatic-failover.enabled: administrators decide only by force
	Elects    bool   // yarn.resourcemanager.ha.automatic-failover.embedded, with Automatic: ZooKeeper decides, or Raft
	ClusterID string // yarn.resourcemanager.cluster-id
	BasePath  string // yarn.resourcemanager.ha.automatic-failover.zk-base-path: the election is in BasePath/ClusterID
	Raft      Raft   // if enabled, it decides instead of ZooKeeper
}

// Peer is one of the ResourceManagers.
type Peer struct {
	ID    string
	Admin Address // yarn.resourcemanager.admin.address.ID
	Web   Address // yarn.resourcemanager.webapp.address.ID
}

// haAddresses are the properties that each ResourceManager must have, with the
// default ports that go with yarn.resourcemanager.hostname.ID.
var haAddresses = map[string]int{rm + "address": 8032, rm + "scheduler.address": 8030, rm + "resource-tracker.address": 8031, rm + "admin.address": 8033,
	rm + "webapp.address": 8088}

// here are the ids whose address is this machine's, for an own id that is not
// configured. They are sought only where high availability is on and Options.Local
// tells.
func (m *merger) here(vars variables) []string {
	get := m.getter(vars)
	if m.local == nil || !strings.EqualFold(get(rm+"ha.enabled"), "true") || get(rm+"ha.id") != "" {
		return nil
	}
	ids := distinct(splitList(get(rm + "ha.rm-ids")))
	if len(ids) > maxResourceManagers {
		return nil
	}
	return slices.DeleteFunc(ids, func(id string) bool { return !m.local(hostOf(get, id)) })
}

// ownID is the id of this ResourceManager, "" without high availability.
func (r *Reader) ownID() string {
	if !r.Bool(rm+"ha.enabled", false) {
		return ""
	}
	if id := r.String(rm+"ha.id", ""); id != "" {
		return id
	}
	switch here := r.props.here; len(here) {
	case 1:
		return here[0]
	case 0:
		r.Fail(rm+"ha.id", "not set, and none of %sha.rm-ids has an %saddress or %shostname of this machine; set it to the id of this ResourceManager", rm, rm, rm)
	default:
		r.Fail(rm+"ha.id", "not set, and several of %sha.rm-ids have an address of this machine (%s); set it to the id of this ResourceManager", rm, strings.Join(here, ", "))
	}
	return ""
}

// idAddress reads the address of one ResourceManager among several. Hadoop does
// not look at the property without the id then.
func (r *Reader) idAddress(name, id string, port int) Address {
	a := r.Address(name+"."+id, "", port)
	if a.IsZero() {
		if a = r.Address(hostname+"."+id, "", port); a.IsZero() {
			r.Fail(name+"."+id, "not set, and neither is %s.%s", hostname, id)
		}
		a.Port = port
	}
	return a
}

func (r *Reader) highAvailability() HA {
	const failover = rm + "ha.automatic-failover."
	h := HA{Enabled: r.Bool(rm+"ha.enabled", false)}
	if !h.Enabled {
		if kept := r.recovery(); kept.Enabled && kept.Store == "raft" {
			r.Fail(rm+"store.class", "%s is a store that several ResourceManagers keep together, and %sha.enabled is not true: set it, and %sha.rm-ids, or use heddle.bolt", raftClass, rm, rm)
		}
		return HA{}
	}
	h.ID = r.ownID()
	ids := distinct(r.Strings(rm + "ha.rm-ids"))
	switch {
	case len(ids) < 2 || len(ids) > maxResourceManagers:
		r.Fail(rm+"ha.rm-ids", "%d ids, want 2 to %d while %sha.enabled is true", len(ids), maxResourceManagers, rm)
		return h
	case h.ID != "" && !slices.Contains(ids, h.ID):
		r.Fail(rm+"ha.id", "is none of %sha.rm-ids (%s)", rm, strings.Join(ids, ", "))
	}
	for _, id := range ids {
		at := map[string]Address{}
		for name, port := range haAddresses {
			at[name] = r.idAddress(name, id, port)
		}
		h.Peers = append(h.Peers, Peer{ID: id, Admin: at[rm+"admin.address"], Web: at[rm+"webapp.address"]})
	}
	h.Automatic = r.Bool(failover+"enabled", true)
	h.Elects = r.Bool(failover+"embedded", true) && h.Automatic
	h.ClusterID = r.String(rm+"cluster-id", "")
	h.BasePath = r.String(failover+"zk-base-path", "/yarn-leader-election")
	h.Raft = r.raft(h.ID, ids)
	if !h.Elects || h.Raft.Enabled {
		return h
	}
	if h.ClusterID == "" {
		r.Fail(rm+"cluster-id", "not set; the election needs it while %senabled is true", failover)
	} else if strings.Contains(h.ClusterID, "/") || h.ClusterID == "." || h.ClusterID == ".." {
		r.Fail(rm+"cluster-id", "must not have a slash, nor be . or ..: it is the name of a node in ZooKeeper")
	}
	if !strings.HasPrefix(h.BasePath, "/") || strings.HasSuffix(h.BasePath, "/") && h.BasePath != "/" || strings.Contains(h.BasePath, "//") {
		r.Fail(failover+"zk-base-path", "must be a path such as /yarn-leader-election")
	}
	if r.String("hadoop.zk.address", r.String(rm+"zk-address", "")) == "" {
		r.Fail(rm+"zk-address", "not set, and neither is hadoop.zk.address; the election needs it while %senabled is true", failover)
	}
	return h
}
