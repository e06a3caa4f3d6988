package client

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/ipc"
)

// The protocols' names on the wire.
const (
	userProtocol  = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	adminProtocol = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
	haProtocol    = "org.apache.hadoop.ha.HAServiceProtocol"

	masterProtocol    = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
	containerProtocol = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
)

// Token is a delegation token to log in with.
type Token = ipc.Token

// Options of a client. The zero value is usable.
type Options struct {
	// Retrying, when set, is told at the first failure to reach an address
	// and at every tenth after it, and, at most once a minute, of the answer of
	// a standby while no ResourceManager is active. It must not block.
	Retrying func(Retry)
	// Token, when set, is used for the user protocol in place of the name.
	Token *Token
	// RealUser acts for the user, if the ResourceManager allows it.
	RealUser string
	// CallerContext is sent with every call, for audit logs.
	CallerContext string
}

// Retry is one failed try to reach a ResourceManager.
type Retry struct {
	Target Target
	Tries  int // failures in a row to reach it, or, of Nobody, attempts of the call; from 1
	Err    error
	Nobody bool // the ResourceManager answered, but neither it nor any other is active
}

func (r Retry) String() string {
	if r.Nobody {
		return fmt.Sprintf("no ResourceManager serves: the one at %s (%s) answers %v", r.Target.Address, r.Target.Property, r.Err)
	}
	return fmt.Sprintf("cannot reach the ResourceManager at %s (%s), try %d: %v", r.Target.Address, r.Target.Property, r.Tries, r.Err)
}

// Client calls a ResourceManager, or whichever of several is active. It is safe
// for concurrent use. Close releases its connections.
type Client struct {
	settings settings
	rpc      *ipc.Client
	users    *ipc.Group
	admins   *ipc.Group
	warn     *warner
}

// New reads the addresses and the retry policy from props; user is the name
// claimed under simple authentication. It connects to nothing yet. The error
// names every property that is wrong.
func New(props *conf.Properties, user string, o Options) (*Client, error) {
	s, err := read(props)
	if err != nil {
		return nil, err
	}
	c := connect(s, ipc.Credentials{User: user, RealUser: o.RealUser, Tokens: func(protocol string) *ipc.Token {
		if protocol == userProtocol {
			return o.Token
		}
		return nil
	}}, o)
	if c.users, err = c.group(s.User); err == nil {
		c.admins, err = c.group(s.Admin)
	}
	return c, err
}

// group calls whichever of to is active.
func (c *Client) group(to []Target) (*ipc.Group, error) {
	p := c.settings.Policy
	p.Retried = c.warn.retried
	return ipc.NewGroup(c.rpc, addresses(to), p)
}

// connect makes a client without addresses.
func connect(s settings, as ipc.Credentials, o Options) *Client {
	c := &Client{settings: s, warn: newWarner(o.Retrying, s)}
	c.rpc = ipc.NewClient(ipc.ClientConfig{Credentials: as, Timeout: s.CallTimeout, CallerContext: o.CallerContext,
		Connect: ipc.Connect{Retries: s.Connect.Retries, Pause: s.Connect.Pause, Timeout: s.Connect.Timeout, Failed: c.warn.failed, Reached: c.warn.reached}})
	return c
}

// Close ends all connections and the calls on them.
func (c *Client) Close() error { return c.rpc.Close() }

// ResourceManagers are the addresses that user calls go to.
func (c *Client) ResourceManagers() []Target { return append([]Target(nil), c.settings.User...) }

// AdminAddresses are the addresses that administrators' calls go to.
func (c *Client) AdminAddresses() []Target { return append([]Target(nil), c.settings.Admin...) }

func addresses(ts []Target) []string { return each(ts, func(t Target) string { return t.Address }) }

// once lists the methods that must not be sent again when it is unknown
// whether the ResourceManager acted on them.
var once = map[string]bool{"failApplicationAttempt": true, "signalToContainer": true}

func (c *Client) user(ctx context.Context, method string, in, out proto.Message) error {
	return c.call(ctx, c.users, c.settings.User, userProtocol, method, in, out)
}

func (c *Client) admin(ctx context.Context, method string, in, out proto.Message) error {
	return c.call(ctx, c.admins, c.settings.Admin, adminProtocol, method, in, out)
}

func (c *Client) call(ctx context.Context, g *ipc.Group, to []Target, protocol, method string, in, out proto.Message) error {
	request, err := proto.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: encoding the request: %w", method, err)
	}
	answer, err := g.Call(ctx, protocol, method, !once[method], request)
	if err != nil {
		return failure(method, to, err)
	}
	return decode(method, answer, out)
}

// at calls one particular address, without failover.
func (c *Client) at(ctx context.Context, t Target, protocol, method string, in, out proto.Message) error {
	request, err := proto.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: encoding the request: %w", method, err)
	}
	answer, err := c.rpc.Call(ctx, t.Address, protocol, method, request)
	if err != nil {
		return failure(method, []Target{t}, err)
	}
	return decode(method, answer, out)
}

func decode(method string, answer []byte, out proto.Message) error {
	if err := proto.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s: the ResourceManager's answer of %d bytes does not parse: %w", method, len(answer), err)
	}
	return nil
}

// failure turns the transport's errors into this package's.
func failure(method string, to []Target, err error) error {
	var r *ipc.RemoteError
	if errors.As(err, &r) {
		return &Error{Method: method, Class: r.Class, Message: r.Message}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, ipc.ErrClosed) {
		return fmt.Errorf("%s: %w", method, err)
	}
	return &Unreachable{Method: method, Targets: to, Err: err}
}
