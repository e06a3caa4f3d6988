package resourcemanager

import (
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
)

// noDelegation answers for delegation tokens, which are not issued yet.
type noDelegation struct{}

var errNoDelegation = &ipc.RemoteError{Class: rpc.YarnException, Message: "Heddle does not issue delegation tokens yet; in a cluster without Kerberos none are needed"}

// Issue implements client.Delegation.
func (noDelegation) Issue(_ *ipc.Identity, _ string, done func(token.Token, error)) {
	done(token.Token{}, errNoDelegation)
}

// Renew implements client.Delegation.
func (noDelegation) Renew(_ *ipc.Identity, _ token.Token, done func(int64, error)) {
	done(0, errNoDelegation)
}

// Cancel implements client.Delegation.
func (noDelegation) Cancel(_ *ipc.Identity, _ token.Token, done func(error)) { done(errNoDelegation) }
