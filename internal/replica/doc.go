// Package replica keeps buckets of keys and values on several members, each of which has all of them in a sealed file on its own disk. The
// members agree on one order of changes by Raft (go.etcd.io/raft): a change is acknowledged when most of them have it on their disks. docs/decisions/0014
// has the reasons.
//
// A change is a Batch: conditions on what is stored, and puts and removals that happen together if all conditions hold. Conditions are looked at where the
// change stands in the order, so they fence off whoever does not know that another one has taken over.
//
// One member is the leader; it alone accepts changes. It has a lease: until the lease ends no other member can be the leader. Leases are counted with
// Config.Clock from the moment when the leader asked the others, and voters hold to them: for an election timeout after they have heard of a leader, and
// after their own start, they elect nobody.
//
// The file of a member has these buckets beside those of the batches:
//
//	heddle    layout, name (of the member), disk (the number of this disk: the member's id in Raft), hard (term, vote, commit), first (index and term before the first
//	          entry of the log), applied (index and term of the last entry whose changes are in the other buckets), voters (a ConfState), members
//	          (names and disks as JSON), seal
//	raft-log  index, 8 bytes → CRC-32C, 4 bytes, and an Entry
//
// An entry of the log and the changes of another one are often made in the same transaction, so that they never disagree.
//
// Members are known by name and by disk. A member that comes with another disk than before has forgotten what it had promised, so it has no vote: the leader
// takes the old disk off the list of voters, sends the new one all there is, and then gives it a vote.
//
// The first start is a founding: the first member by name makes the list of voters when it has heard from all members and none of them has one.
package replica
