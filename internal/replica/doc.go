// Package replica replicates buckets of keys and values among several members with Raft (go.etcd.io/raft). Each member has a full copy in a sealed file on its
// own disk. A change is acknowledged once a majority of the members have stored it. docs/decisions/0014 gives the reasons.
//
// A change is a Batch of conditions and writes. If all conditions hold, all writes are made, otherwise none. Conditions are checked at the batch's place in the
// log, so they fence off a former leader that does not know about its successor.
//
// Only the leader accepts changes. It holds a lease; until the lease ends no other member can be the leader. A lease is counted on Config.Clock, from the moment when
// the leader asked the others whether they still follow it. A member that has answered votes for nobody else for an election timeout, and neither does a
// member that has just started. A leader that hands over ends its lease first, and tells its successor the number of its last question: members that have answered no
// later one may vote at once.
//
// The file has these buckets besides those of the data:
//
//	heddle    layout; name of the member; disk (a random number that identifies this disk, and is the member's id in Raft); hard (term, vote, commit); first (index and
//	          term just before the log); applied (index and term of the last entry that was applied); voters (a ConfState); members (names and disks as JSON);
//	          remade (how often Recover was used); seal
//	raft-log  index, 8 bytes → CRC-32C, 4 bytes, and an Entry
//
// New entries and the changes of committed ones are written in one transaction, so log and data always agree.
//
// Members are known by name and by disk. A member with a new disk has forgotten its promises, so it has no vote: the leader removes the old disk from the
// voters, sends the new one a snapshot, and makes it a voter once it has caught up.
//
// At the first start the first member by name founds the store, once it has heard from all members and none of them has one. If a majority lose their disks,
// Recover makes a new store of one copy that is left.
package replica
