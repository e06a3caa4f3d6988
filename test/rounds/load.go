package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

const (
	prefix  = "rounds-" // of the names of applications, which are all different
	checker = "checker" // who lists them

	waits, waitsToo = "root.waits", "root.waitstoo" // queues of applications that only wait
	mastersQueue    = "root.masters"

	clientProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
)

// load is users and masters at work.
type load struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	props  *conf.Properties
	ledger *ledger
	pace   <-chan time.Time
}

func startLoad(ctx context.Context, props *conf.Properties, l *ledger, rate float64) (*load, error) {
	if rate <= 0 {
		return nil, errors.New("-rate must be above 0")
	}
	o := &load{props: props, ledger: l}
	o.ctx, o.cancel = context.WithCancel(ctx)
	o.pace = time.Tick(time.Duration(float64(time.Second) / rate))
	for i := range users {
		o.work.Go(func() { o.user(i) })
	}
	for i := range masters {
		o.work.Go(func() { o.masters(i) })
	}
	return o, nil
}

func (o *load) end() {
	o.cancel()
	o.work.Wait()
}

// failed tells that a call has not been answered as it should, and whether the load goes on.
func (o *load) failed(err error) bool {
	if o.ctx.Err() == nil {
		o.ledger.refused(err)
		time.Sleep(pollPause)
	}
	return o.ctx.Err() == nil
}

// user submits applications that wait for ever, kills every fourth, and moves and prioritizes others.
func (o *load) user(i int) {
	c, err := client.New(o.props, fmt.Sprintf("user%d", i), client.Options{})
	if err != nil {
		o.failed(err)
		return
	}
	defer c.Close()
	for n := 0; ; n++ {
		select {
		case <-o.pace:
		case <-o.ctx.Done():
			return
		}
		if err := o.submits(c, fmt.Sprintf("%s%d-%d", prefix, i, n), n); err != nil && !o.failed(err) {
			return
		}
	}
}

func (o *load) submits(c *client.Client, name string, n int) error {
	id, _, err := c.NewApplication(o.ctx)
	if err != nil {
		return err
	}
	if err := c.Submit(o.ctx, client.Submission{ID: id, Name: name, Queue: waits, Unmanaged: true, Master: client.Resource{MemoryMB: 128, VCores: 1}}); err != nil {
		return err
	}
	o.ledger.submitted(id, name, waits)
	switch n % 8 {
	case 0, 4:
		o.ledger.asks(id)
		if err := c.KillApplication(o.ctx, id, ""); err != nil {
			return err
		}
		o.ledger.killed(id)
	case 2:
		o.ledger.moves(id, "")
		if err := c.MoveApplication(o.ctx, id, waitsToo); err != nil {
			return err
		}
		o.ledger.moves(id, waitsToo)
	case 3:
		o.ledger.prioritizes(id, -1)
		if _, err := c.UpdatePriority(o.ctx, id, int32(1+n%9)); err != nil {
			return err
		}
		o.ledger.prioritizes(id, int32(1+n%9))
	}
	return nil
}

// masters runs one application after the other, each of which asks for containers, gives them back, and succeeds.
func (o *load) masters(i int) {
	user := fmt.Sprintf("master%d", i)
	c, err := client.New(o.props, user, client.Options{})
	if err != nil {
		o.failed(err)
		return
	}
	defer c.Close()
	for n := 0; o.ctx.Err() == nil; n++ {
		id, err := o.succeeds(c, user, fmt.Sprintf("%s%s-%d", prefix, user, n))
		if err != nil && !o.failed(err) {
			return
		}
		if err != nil && !id.IsZero() { // it must not keep the room of the next one
			o.ledger.asks(id)
			_ = c.KillApplication(o.ctx, id, "")
		}
	}
}

const (
	beats     = 20 // of a master
	beatPause = 50 * time.Millisecond
	wanted    = 2 // containers at a time
)

func (o *load) succeeds(c *client.Client, user, name string) (id yarn.ApplicationID, err error) {
	if id, _, err = c.NewApplication(o.ctx); err != nil {
		return id, err
	}
	if err := c.Submit(o.ctx, client.Submission{ID: id, Name: name, Queue: mastersQueue, Unmanaged: true, Master: client.Resource{MemoryMB: 128, VCores: 1}}); err != nil {
		return yarn.ApplicationID{}, err
	}
	o.ledger.submitted(id, name, mastersQueue)
	login, err := o.login(user, id)
	if err != nil {
		return id, err
	}
	m, err := client.NewMaster(o.props, login, client.Options{})
	if err != nil {
		return id, err
	}
	defer m.Close()
	if _, err := m.Register(o.ctx, "127.0.0.1", -1, ""); err != nil {
		return id, fmt.Errorf("registering %s: %w", id, err)
	}
	for range beats {
		if err := m.Want(client.Request{ID: 1, Priority: 1, Size: client.Resource{MemoryMB: 256, VCores: 1}, Count: wanted}); err != nil {
			return id, err
		}
		a, err := m.Allocate(o.ctx, 0)
		if err != nil {
			return id, fmt.Errorf("heartbeat of %s: %w", id, err)
		}
		for _, g := range a.Granted {
			o.ledger.received(g.ID)
			m.Release(g.ID)
		}
		time.Sleep(beatPause)
	}
	o.ledger.asks(id)
	if err := m.Finish(o.ctx, yarn.FinalSucceeded, "", ""); err != nil {
		return id, fmt.Errorf("end of %s: %w", id, err)
	}
	o.ledger.finished(id)
	return id, nil
}

// login is the token with which the master of an unmanaged application logs in. Clients get it with the report.
func (o *load) login(user string, id yarn.ApplicationID) (login token.Credentials, err error) {
	c := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: user}})
	defer c.Close()
	x, err := client.New(o.props, user, client.Options{})
	if err != nil {
		return login, err
	}
	defer x.Close()
	var addresses []string
	for _, t := range x.ResourceManagers() {
		addresses = append(addresses, t.Address)
	}
	g, err := ipc.NewGroup(c, addresses, ipc.Policy{Attempts: 1000, Base: 100 * time.Millisecond, Most: 500 * time.Millisecond})
	if err != nil {
		return login, err
	}
	in, err := proto.Marshal(&pb.GetApplicationReportRequest{ApplicationId: &pb.ApplicationId{Id: &id.Sequence, ClusterTimestamp: &id.ClusterTimestamp}})
	if err != nil {
		return login, err
	}
	for end := time.Now().Add(patience); time.Now().Before(end) && o.ctx.Err() == nil; time.Sleep(pollPause) {
		b, err := g.Call(o.ctx, clientProtocol, "getApplicationReport", true, in)
		if err != nil {
			return login, err
		}
		out := &pb.GetApplicationReportResponse{}
		if err := proto.Unmarshal(b, out); err != nil {
			return login, err
		}
		if t := out.GetApplicationReport().GetAmRmToken(); len(t.GetIdentifier()) > 0 {
			login.SetToken("master", token.Token{Identifier: t.GetIdentifier(), Password: t.GetPassword(), Kind: t.GetKind(), Service: t.GetService()})
			return login, nil
		}
	}
	return login, fmt.Errorf("%s has no token for its master", id)
}
