// Package heartbeat is the node's side of ResourceTracker: it registers with the ResourceManager, reports the node's
// containers and health, and hands on what the answers ask for.
package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/loop"
	"github.com/heddle-project/heddle/nodemanager/secrets"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// protocol is the name on the wire.
const protocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"

// Bounds of what a ResourceManager may ask for, and of what it is told at once.
const (
	minInterval = 10 * time.Millisecond
	maxInterval = 10 * time.Minute
	maxText     = 16 << 20 // bytes of containers' diagnostics in one message; containers after that have none in it
	maxReports  = 10_000   // reports about logs that wait to be told; the newest are dropped
)

const (
	usualInterval = time.Second
	hurry         = 50 * time.Millisecond // how soon after a heartbeat the next may come when a container has ended
	maxKill       = time.Minute           // how long a registration waits for containers that are to be gone before it
)

// ErrShutdown is the ResourceManager's order to end. It is final.
var ErrShutdown = errors.New("the ResourceManager wants this NodeManager to shut down")

// Health is the node's.
type Health struct {
	Healthy bool
	Report  string
	At      int64 // milliseconds since 1970
}

// Usage is what something uses.
type Usage struct {
	PhysicalMB, VirtualMB int64
	CPU                   float32 // cores
}

// Config is what heartbeats need.
type Config struct {
	Group          *ipc.Group // the ResourceManagers
	Loop           *loop.Loop
	Keys           *secrets.Keys
	Node           yarn.NodeID
	HTTPPort       int32
	Total          yarn.Resource
	Physical       yarn.Resource
	Types          yarn.ResourceTypes
	MinimumVersion string // of the ResourceManager (yarn.nodemanager.resourcemanager.minimum.version)
	QueueLength    int32  // how many opportunistic containers may wait (yarn.nodemanager.opportunistic-containers-max-queue-length)
	Preserve       bool   // containers live on when the ResourceManager has forgotten the node (yarn.resourcemanager.work-preserving-recovery.enabled)
	Health         func() Health
	Usage          func() (containers, node Usage)
	Logs           func() []LogReport // since the last call
	KeepLogs       time.Duration      // what was told of logs is told again to who the node registers with, for so long
	Label          func() string      // the node's; "": it has none; nil: it is not the node that says so
	LabelResync    time.Duration      // the label is told again after so long
	Resized        func(yarn.Resource)
	Registered     func() // after each registration
	Log            *slog.Logger
}

// Reporter is a node that reports.
type Reporter struct {
	cfg    Config
	issuer atomic.Int64
	known  atomic.Bool // it has registered
	soon   chan struct{}

	// What only Run touches.
	logs   logBook
	labels labelBook
	sizes  map[yarn.ContainerID]yarn.Resource // of live containers, as the ResourceManager has heard of them
	grown  map[yarn.ContainerID]yarn.Resource // those that have become larger since
}

// New has reported nothing yet.
func New(cfg Config) *Reporter {
	return &Reporter{cfg: cfg, soon: make(chan struct{}, 1), sizes: map[yarn.ContainerID]yarn.Resource{},
		logs: logBook{told: map[yarn.ApplicationID]toldLog{}, keep: cfg.KeepLogs}, labels: labelBook{name: cfg.Label, resync: cfg.LabelResync}}
}

// Issuer is the start time of the ResourceManager that the node is registered with; 0: with none.
func (r *Reporter) Issuer() int64 { return r.issuer.Load() }

// Soon asks for a heartbeat before the next one is due.
func (r *Reporter) Soon() {
	select {
	case r.soon <- struct{}{}:
	default:
	}
}

// Run registers and reports until ctx ends, whose error it returns, or until the ResourceManager wants no more:
// ErrShutdown. A ResourceManager that cannot be reached as long as the policy allows is an error too.
func (r *Reporter) Run(ctx context.Context) error {
	defer r.issuer.Store(0)
	for {
		if err := r.register(ctx); err != nil {
			return err
		}
		heard, err := r.report(ctx)
		if err != nil {
			return err
		}
		if !heard { // registered and forgotten at once: not again and again without a pause
			if err := r.pause(ctx, usualInterval, false); err != nil {
				return err
			}
		}
	}
}

func (r *Reporter) call(ctx context.Context, method string, in, out proto.Message) error {
	body, err := proto.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	answer, err := r.cfg.Group.Call(ctx, protocol, method, true, body)
	if err != nil {
		return fmt.Errorf("%s at the ResourceManager %s: %w", method, r.cfg.Group.Active(), err)
	}
	if err := proto.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s: the ResourceManager's answer of %d bytes does not parse: %w", method, len(answer), err)
	}
	return nil
}

// farewell is how long Leave tries: a ResourceManager that has ended keeps no node from ending.
const farewell = time.Second

// Leave tells the ResourceManager that the node goes down for good, if it answers within a second.
func (r *Reporter) Leave(ctx context.Context) error {
	if !r.known.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	return r.call(ctx, "unRegisterNodeManager", &pb.UnRegisterNodeManagerRequest{NodeId: convert.ToNodeID(r.cfg.Node)}, &pb.UnRegisterNodeManagerResponse{})
}
