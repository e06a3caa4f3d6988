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
	Next    MasterKey // ID 0 and no bytes while no roll-over is under way
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
	Identifier []byte // the token's identifier as it travels
	RenewBy    int64  // the token is void from then on unless renewed
	Unknown    []byte
}

// DelegationSequence is the number of the last delegation token issued. It is
// committed in the same batch as the token.
type DelegationSequence struct {
	Last    int32
	Unknown []byte
}

// NodeDeadline is a drain under way: until when a node may finish its work. It
// is kept over restarts, so that no grace is lost or gained.
type NodeDeadline struct {
	Node        yarn.NodeID // a zero port means every node of the host
	Deadline    int64       // absolute; 0 means the node may take as long as it needs
	RequestedAt int64
	RequestedBy string
	Reason      string        // free text of whoever asked
	Source      string        // "file", "api" or "cli"
	Capacity    yarn.Resource // what the node offered before it began to drain
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

// Labels are all labels of the cluster and all that was given to nodes: one
// record, so that a change of several is durable as a whole or not at all.
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

// LabelledNode is the label that somebody gave a node.
type LabelledNode struct {
	Node    yarn.NodeID // a zero port means every node of the host
	Label   string      // empty: in the default partition, whatever its host's is
	Unknown []byte
}
