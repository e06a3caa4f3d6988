package state

import "github.com/heddle-project/heddle/yarn"

// MasterKey is one secret that signs tokens.
type MasterKey struct {
	ID    int32
	Bytes []byte
}

// MasterKeys are the secrets behind AMRM tokens. Without them every running
// ApplicationMaster would be refused after a restart.
type MasterKeys struct {
	Current MasterKey
	Next    MasterKey // zero unless the keys are being rolled
	Unknown []byte
}

// DelegationKey is a secret behind the delegation tokens of one key interval.
type DelegationKey struct {
	ID       int32
	ExpireAt int64
	Bytes    []byte
	Unknown  []byte
}

// DelegationToken is an issued delegation token.
type DelegationToken struct {
	Sequence   int32
	Identifier []byte // the token's identifier as on the wire
	RenewBy    int64  // the token is invalid from then on unless it is renewed
	Unknown    []byte
}

// DelegationSequence is the number of the last delegation token issued. It is
// committed in the same batch as the token.
type DelegationSequence struct {
	Last    int32
	Unknown []byte
}

// NodeDeadline is a graceful decommission under way for the lists of nodes, or an
// order to drain, which holds until it is taken back. It is stored so that a restart
// neither changes the deadline nor ends an order.
type NodeDeadline struct {
	Node        yarn.NodeID   // an order with port 0 is for every node of the host
	Deadline    int64         // milliseconds since 1970; 0: none
	RequestedAt int64         // milliseconds since 1970
	RequestedBy string        // a user
	Reason      string        // free text
	Source      string        // "file": the lists; "api" or "cli": an order
	Capacity    yarn.Resource // what the node offered when this was asked for
	Unknown     []byte
}

// ConfigVersion is the scheduler's configuration in force. Versions rise by one
// with each accepted change.
type ConfigVersion struct {
	Version   int64
	Blob      []byte
	ChangedAt int64
	ChangedBy string
	Unknown   []byte
}

// Labels are all labels of the cluster and of its hosts and nodes. They are one record,
// so that a change of several is durable as a whole or not at all.
type Labels struct {
	Known []NodeLabel    // by name
	Nodes []LabelledNode // by id
}

// NodeLabel is a label of the cluster: the name of a partition.
type NodeLabel struct {
	Name      string
	Exclusive bool
	Unknown   []byte
}

// LabelledNode is the label that a node was given.
type LabelledNode struct {
	Node    yarn.NodeID // a zero port means every node of the host
	Label   string      // empty: in the default partition, whatever its host's is
	Unknown []byte
}
