package heartbeat

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/loop"
	"github.com/heddle-project/heddle/nodemanager/secrets"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// FuzzAnswers has a node obey whatever can be read as an answer to a heartbeat: nothing panics, and it goes on to report.
func FuzzAnswers(f *testing.F) {
	what := token.Container{ID: number(1), NodeAddress: node.String(), Submitter: "ann", Version: 1, AllocationRequestID: -1}
	whole := &pb.NodeHeartbeatResponse{ContainersToCleanup: []*pb.ContainerId{convert.ToContainerID(number(1)), {}}, ApplicationsToCleanup: []*pb.ApplicationId{{}},
		ContainersToBeRemovedFromNm: []*pb.ContainerId{{Id: proto.Int64(-1 << 63)}}, ContainersToUpdate: []*pb.Container{{}, {Id: convert.ToContainerID(number(1)), ContainerToken: &pb.Token{
			Identifier: what.Append(nil, types), Password: []byte{}, Kind: proto.String(""), Service: proto.String("")}}},
		ContainersToDecrease: []*pb.Container{{Id: convert.ToContainerID(number(1)), Version: proto.Int32(1<<31 - 1), Resource: convert.ToResource(yarn.NewResource(-1<<63, 1<<31), types)}},
		ContainersToSignal:   []*pb.SignalContainerRequest{{ContainerId: convert.ToContainerID(number(1)), Command: pb.SignalContainerCommand_FORCEFUL_SHUTDOWN.Enum()}},
		Resource:             &pb.Resource{}, NmTokenMasterKey: &pb.MasterKey{KeyId: proto.Int32(1), Bytes: []byte("x")}, ContainerTokenMasterKey: &pb.MasterKey{}}
	b, err := proto.Marshal(whole)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	l := loop.New(loop.Config{Engine: engine.New(engine.Settings{Zone: time.UTC}), Clock: clock.System(), Do: func(engine.Effect) {}, Log: slog.New(slog.DiscardHandler)})
	ctx, end := context.WithCancel(context.Background())
	go l.Run(ctx)
	f.Cleanup(func() { end(); l.Wait() })
	l.Post(engine.Disks{Local: []string{"/d"}, Log: []string{"/l"}})
	r := New(Config{Loop: l, Keys: secrets.New(types, func(op state.Op) { l.Post(engine.Keep{Op: op}) }), Node: node, Types: types,
		Health: func() Health { return Health{} }, Usage: func() (Usage, Usage) { return Usage{}, Usage{} }, Logs: func() []LogReport { return nil },
		Resized: func(yarn.Resource) {}, Log: slog.New(slog.DiscardHandler)})
	f.Fuzz(func(t *testing.T, b []byte) {
		out := &pb.NodeHeartbeatResponse{}
		if proto.Unmarshal(b, out) != nil {
			return
		}
		l.Post(engine.Start{Container: engine.Spec{ID: number(1), User: "ann"}})
		r.obey(out)
		l.Post(engine.Exited{ID: number(1), Code: 143})
		l.Post(engine.Orders{Forget: []yarn.ContainerID{number(1)}})
		if err := l.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := proto.Marshal(r.beat(1)); err != nil {
			t.Fatal(err)
		}
	})
}
