package main

import (
	"errors"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
	"google.golang.org/protobuf/proto"
)

// unmanaged submits an application whose master is the driver itself, and logs that master in; it has not registered.
func (a *arena) unmanaged(rm *daemon, user string, s client.Submission) (*client.Master, yarn.ApplicationID) {
	c := rm.client(user)
	defer c.Close()
	id, _, err := c.NewApplication(a.ctx)
	a.must(err)
	s.ID, s.Unmanaged, s.Master = id, true, client.Resource{MemoryMB: 128, VCores: 1}
	a.must(c.Submit(a.ctx, s))
	p, err := dial(rm.address[clientPort], clientProtocol, user)
	a.must(err)
	defer p.Close()
	var t *pb.Token
	in := &pb.GetApplicationReportRequest{ApplicationId: &pb.ApplicationId{Id: proto.Int32(id.Sequence), ClusterTimestamp: proto.Int64(id.ClusterTimestamp)}}
	if !a.until(started, func() bool {
		out := &pb.GetApplicationReportResponse{}
		if err = p.call("getApplicationReport", in, out); err != nil {
			return true
		}
		t = out.GetApplicationReport().GetAmRmToken()
		return len(t.GetIdentifier()) > 0
	}) {
		err = errors.New("an unmanaged master gets no token")
	}
	a.must(err)
	var login token.Credentials
	login.SetToken("master", token.Token{Identifier: t.GetIdentifier(), Password: t.GetPassword(), Kind: t.GetKind(), Service: t.GetService()})
	m, err := client.NewMaster(rm.properties(), login, client.Options{})
	a.must(err)
	return m, id
}
