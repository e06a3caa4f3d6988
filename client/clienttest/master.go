package clienttest

import (
	"net"
	"strconv"
	"testing"

	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// key signs every token of this package.
var key = []byte("known to all fakes")

func sign(kind string, identifier []byte) token.Token {
	return token.Token{Identifier: identifier, Password: token.Sign(key, identifier), Kind: kind}
}

// LoginToken is what the master of an attempt logs in with.
func LoginToken(attempt yarn.AttemptID, keyID int32) token.Token {
	return sign(token.KindAMRM, token.AMRM{Attempt: attempt, KeyID: keyID}.Append(nil))
}

// NodeToken is what the master of an attempt logs in with at a node.
func NodeToken(attempt yarn.AttemptID, node yarn.NodeID) token.Token {
	return sign(token.KindNM, token.NM{Attempt: attempt, Node: node, Submitter: "alice"}.Append(nil))
}

// logins accepts the tokens of this package.
type logins func(identifier []byte) (user string, err error)

// Password implements ipc.Tokens.
func (l logins) Password(identifier []byte) ([]byte, string, error) {
	user, err := l(identifier)
	if err != nil {
		return nil, "", &ipc.RemoteError{Class: ipc.ClassInvalidToken, Message: err.Error()}
	}
	return token.Sign(key, identifier), user, nil
}

// StartForMasters runs a fake of ApplicationMasterProtocol until the test ends.
// Masters log in with a LoginToken.
func StartForMasters(t testing.TB, methods map[string]Method) *RM {
	t.Helper()
	rm := &RM{}
	rm.serve(t, []string{"org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"}, methods, ipc.ServerConfig{
		Address: "127.0.0.1:0", Methods: []ipc.Method{ipc.MethodToken}, TokenKind: token.KindAMRM,
		Tokens: logins(func(identifier []byte) (string, error) {
			id, err := token.ParseAMRM(identifier)
			return id.User(), err
		})})
	return rm
}

// Logins are the identifiers of the tokens that the calls came with, in order.
func (rm *RM) Logins() []string {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	return append([]string(nil), rm.tokens...)
}

// Node is a running fake NodeManager.
type Node struct {
	RM // its calls
	ID yarn.NodeID
}

// StartNode runs a fake of ContainerManagementProtocol until the test ends.
// Masters log in with a NodeToken for it.
func StartNode(t testing.TB, methods map[string]Method) *Node {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return StartNodeOn(t, l, methods)
}

// StartNodeOn is StartNode on a listener that exists.
func StartNodeOn(t testing.TB, l net.Listener, methods map[string]Method) *Node {
	t.Helper()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	number, _ := strconv.Atoi(port)
	n := &Node{ID: yarn.NodeID{Host: "127.0.0.1", Port: int32(number)}}
	n.serve(t, []string{"org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"}, methods, ipc.ServerConfig{
		Listener: l, Methods: []ipc.Method{ipc.MethodToken}, TokenKind: token.KindNM,
		Tokens: logins(func(identifier []byte) (string, error) {
			id, err := token.ParseNM(identifier)
			if err == nil && id.Node != n.ID {
				return "", &ipc.RemoteError{Class: ipc.ClassInvalidToken, Message: "not for this node"}
			}
			return id.User(), err
		})})
	return n
}
