package main

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// unmanaged submits an application whose master is the driver itself, and logs that master in; it has not registered.
func (a *arena) unmanaged(rm *daemon, user string, s client.Submission) (*client.Master, yarn.ApplicationID) {
	c := rm.client(user)
	defer c.Close()
	id, _, err := c.NewApplication(a.ctx)
	a.must(err)
	s.ID, s.Unmanaged, s.Master = id, true, client.Resource{MemoryMB: 128, VCores: 1}
	a.must(c.Submit(a.ctx, s))
	t := a.login(rm, user, id)
	var login token.Credentials
	login.SetToken("master", token.Token{Identifier: t.Identifier, Password: t.Password, Kind: t.Kind, Service: t.Service})
	m, err := client.NewMaster(rm.properties(), login, client.Options{})
	a.must(err)
	return m, id
}

// login is the token with which the master of an unmanaged application logs in.
func (a *arena) login(rm *daemon, user string, id yarn.ApplicationID) *ipc.Token {
	p, err := dial(rm.address[clientPort], clientProtocol, user)
	a.must(err)
	defer p.Close()
	var t *pb.Token
	in := &pb.GetApplicationReportRequest{ApplicationId: &pb.ApplicationId{Id: proto.Int32(id.Sequence), ClusterTimestamp: proto.Int64(id.ClusterTimestamp)}}
	if !a.until(started, func() bool {
		out := &pb.GetApplicationReportResponse{}
		a.must(p.call("getApplicationReport", in, out))
		t = out.GetApplicationReport().GetAmRmToken()
		return len(t.GetIdentifier()) > 0
	}) {
		a.must(fmt.Errorf("%v has no token for its master", id))
	}
	return &ipc.Token{Identifier: t.GetIdentifier(), Password: t.GetPassword(), Kind: t.GetKind(), Service: t.GetService()}
}
