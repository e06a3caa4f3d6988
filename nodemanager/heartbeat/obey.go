package heartbeat

import (
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/secrets"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// obey passes the orders of a heartbeat's answer on.
func (r *Reporter) obey(m *pb.NodeHeartbeatResponse) {
	r.takeKeys(m.GetContainerTokenMasterKey(), m.GetNmTokenMasterKey())
	r.resize(m.GetResource())
	var apps []yarn.ApplicationID
	for _, a := range m.GetApplicationsToCleanup() {
		apps = append(apps, convert.ApplicationID(a))
	}
	if o := (engine.Orders{Cleanup: convert.ContainerIDs(m.GetContainersToCleanup()), Finish: apps,
		Forget: convert.ContainerIDs(m.GetContainersToBeRemovedFromNm())}); len(o.Cleanup)+len(o.Finish)+len(o.Forget) > 0 {
		r.cfg.Loop.Post(o)
	}
	for _, s := range m.GetContainersToSignal() {
		r.cfg.Loop.Post(engine.Signal{ID: convert.ContainerID(s.GetContainerId()), Signal: int32(s.GetCommand())})
	}
	// compat: the time that a container may wait is not looked at.
	if limit := m.GetContainerQueuingLimit(); limit != nil && limit.MaxQueueLength != nil && limit.GetMaxQueueLength() >= 0 {
		r.cfg.Loop.Post(engine.Shed{Keep: int(limit.GetMaxQueueLength())})
	}
	// Both lists may name a container. The second of two changes to one version is no change.
	for _, list := range [][]*pb.Container{m.GetContainersToUpdate(), m.GetContainersToDecrease()} {
		for _, x := range list {
			u, err := r.change(x)
			if err != nil {
				r.cfg.Log.Warn("the ResourceManager changes a container in a way that cannot be read", "container", convert.ContainerID(x.GetId()), "error", err)
				continue
			}
			r.cfg.Loop.Post(u)
		}
	}
}

// change reads what a container is to become: from its new token, as Hadoop does, or from the fields beside it.
func (r *Reporter) change(x *pb.Container) (engine.Update, error) {
	if identifier := x.GetContainerToken().GetIdentifier(); len(identifier) > 0 {
		what, err := token.ParseContainer(identifier, r.cfg.Types)
		if err != nil {
			return engine.Update{}, err
		}
		if id := convert.ContainerID(x.GetId()); id != what.ID {
			return engine.Update{}, fmt.Errorf("its token is one of %s", what.ID)
		}
		return engine.Update{ID: what.ID, Resource: what.Resource, Execution: what.ExecutionType, Version: what.Version, Token: identifier}, nil
	}
	if x.GetResource() == nil {
		return engine.Update{}, errors.New("neither a token nor an amount comes with it")
	}
	amount, err := convert.Resource(x.GetResource(), r.cfg.Types)
	return engine.Update{ID: convert.ContainerID(x.GetId()), Resource: amount, Execution: convert.ExecutionType(x.GetExecutionType()), Version: x.GetVersion()}, err
}

func (r *Reporter) takeKeys(containers, nodes *pb.MasterKey) {
	for _, k := range []struct {
		tokens string
		key    *pb.MasterKey
		take   func(secrets.Key)
	}{{"container tokens", containers, r.cfg.Keys.SetContainerKey}, {"node tokens", nodes, r.cfg.Keys.SetNodeKey}} {
		switch {
		case k.key == nil:
		case len(k.key.GetBytes()) == 0:
			r.cfg.Log.Error("the ResourceManager tells a key without bytes; the one before stays in use", "of", k.tokens, "id", k.key.GetKeyId())
		default:
			k.take(secrets.Key{ID: k.key.GetKeyId(), Bytes: k.key.GetBytes()})
		}
	}
}

func (r *Reporter) resize(p *pb.Resource) {
	if p == nil {
		return
	}
	total, err := convert.Resource(p, r.cfg.Types)
	if err != nil {
		r.cfg.Log.Warn("the ResourceManager gives the node an amount that it cannot read", "error", err)
		return
	}
	r.cfg.Total = total
	r.cfg.Resized(total)
}
