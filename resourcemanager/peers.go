package resourcemanager

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// Bounds of asking the other ResourceManagers.
const (
	peerPatience = 2 * time.Second // for all answers together
	peersKnown   = time.Second     // for how long an answer is believed
)

// peers are the other ResourceManagers, asked which of them is active by whoever wants to be sent there.
type peers struct {
	client *ipc.Client
	others []conf.Peer
	turn   chan struct{} // holds one token: whoever has it asks, and writes what is below

	found string // the pages of the active one
	until time.Time
}

func newPeers(h conf.HA, user string) *peers {
	p := &peers{client: ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: user}, Timeout: peerPatience, Connect: ipc.Connect{Timeout: peerPatience}}), turn: make(chan struct{}, 1)}
	for _, x := range h.Peers {
		if x.ID != h.ID {
			p.others = append(p.others, x)
		}
	}
	p.turn <- struct{}{}
	return p
}

func (p *peers) close() { p.client.Close() }

// active is where the active one serves its pages, as http://host:port, or "".
func (p *peers) active(ctx context.Context) string {
	select {
	case <-p.turn:
	case <-ctx.Done():
		return ""
	}
	defer func() { p.turn <- struct{}{} }()
	if time.Now().Before(p.until) {
		return p.found
	}
	p.found = p.ask(context.WithoutCancel(ctx)) // whoever asks may go away, and others believe the answer
	p.until = time.Now().Add(peersKnown)
	return p.found
}

// ask asks all of them at once.
func (p *peers) ask(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, peerPatience)
	defer cancel()
	request, err := proto.Marshal(&pb.GetServiceStatusRequest{})
	if err != nil {
		return ""
	}
	answers := make([]bool, len(p.others))
	var asked sync.WaitGroup
	for i, x := range p.others {
		asked.Go(func() {
			b, err := p.client.Call(ctx, x.Admin.String(), admin.HAName, "getServiceStatus", request)
			r := &pb.GetServiceStatusResponse{}
			answers[i] = err == nil && serve.Unmarshal(b, r) == nil && r.GetState() == pb.HAServiceState_ACTIVE
		})
	}
	asked.Wait()
	for i, x := range p.others {
		if answers[i] {
			return "http://" + x.Web.String()
		}
	}
	return ""
}
