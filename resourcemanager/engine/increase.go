package engine

import (
	"math"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// An increase that a master has fetched, and with which it does not go to the node, is taken back: the node reports what has become larger
// (NodeStatusProto.increased_containers), and if it has not within yarn.resourcemanager.rm.container-allocation.expiry-interval-ms, the
// container gets the last size back that the node has confirmed. Promotions, and what nodes are told of by their heartbeats, do not expire.

// watchSize follows a change of size that a master fetches, and of which the node is told too or not.
//
// compat: nobody waits for the increase of a container that does not run yet: it may be started with either token.
func (e *Engine) watchSize(c *container, ch scheduler.Changed, told bool) {
	switch {
	case ch.Type == yarn.IncreaseResource && told:
		e.confirm(c, ch.After, ch.After)
	case ch.Type == yarn.IncreaseResource && c.state == yarn.ContainerRunning:
		if c.confirmed == nil {
			before := ch.Before
			c.confirmed = &before
		}
		e.grantLeases.renew(&c.lease, e.now.Mono)
	case ch.Type == yarn.DecreaseResource && c.confirmed != nil:
		e.confirm(c, measure.Least(*c.confirmed, ch.After), ch.After)
	}
}

// confirm notes that the node has at least so much of what it is to have.
func (e *Engine) confirm(c *container, has, wanted yarn.Resource) {
	if has != wanted {
		*c.confirmed = has
		return
	}
	if c.confirmed != nil {
		c.confirmed = nil
		e.grantLeases.drop(&c.lease)
	}
}

// increaseUnclaimed: a master has fetched an increase, and the node has not confirmed it in time.
func (e *Engine) increaseUnclaimed(c *container) {
	if c.confirmed != nil && c.state == yarn.ContainerRunning {
		e.rollBack(c, *c.confirmed)
	}
}

// rollBack makes the container so small again, and informs its node and its master.
func (e *Engine) rollBack(c *container, size yarn.Resource) {
	e.grantLeases.drop(&c.lease)
	c.confirmed, c.seen = nil, nil
	e.sched.Rollback(c.ref, size)
	e.sweepDue = true
	e.touchContainers(c.app)
	e.touchNode(c.node)
	u := UpdatedContainer{Type: yarn.DecreaseResource, Grant: e.grant(c)}
	c.node.updates.put(u)
	if t := c.app.current(); !t.gone {
		t.meet().rolledBack.put(u)
	}
}

// rolledBack are the containers of which an increase was taken back since the last call of their master; of very many the next answer has more.
func (e *Engine) rolledBack(a *application) (out []UpdatedContainer) {
	for _, u := range a.current().meet().rolledBack.take(MaxTold) {
		if c := e.byID[u.Grant.ID]; c != nil && !c.state.Final() {
			out = append(out, u)
		}
	}
	return out
}

// heardSizes follows what a node reports of containers that have become larger: of no more than it has.
func (e *Engine) heardSizes(n *node, list []Increased) {
	for _, x := range list[:min(len(list), n.held)] {
		if c := e.onNode(n, x.Container); c != nil && c.state == yarn.ContainerRunning {
			e.heardSize(c, x.Resource)
		}
	}
}

// heardSize follows the size that a container has on its node. What was used before a decrease came may be too large: then the node is told
// again.
func (e *Engine) heardSize(c *container, size yarn.Resource) {
	book := e.sched.Container(c.ref)
	waits := c.confirmed != nil
	switch {
	case waits && size.FitsIn(book.Resource):
		e.confirm(c, measure.Most(size, *c.confirmed), book.Resource)
	case waits && !book.Resource.FitsIn(size): // larger in one respect and smaller in another
		e.rollBack(c, measure.Most(*c.confirmed, measure.Least(size, book.Resource)))
	case size.FitsIn(book.Resource):
	case book.Version < book.Floor: // by a token from before the restart: the node has a version that is not known here
		e.rollBack(c, book.Resource)
	default:
		e.confirm(c, book.Resource, book.Resource)
		c.node.updates.put(UpdatedContainer{Type: yarn.DecreaseResource, Grant: e.grant(c)})
	}
}

// versionsPerEpoch is how many versions of a container the ResourceManager may give away between two restarts and be sure that none of them
// is given away again.
const versionsPerEpoch = 1000

// versionFloor is below every version that a container gets that was started before the restart. Its master may hold tokens that are not
// known here; a node takes none that is older than what it has.
func (e *Engine) versionFloor() int32 {
	if e.set.Epoch >= math.MaxInt32/versionsPerEpoch {
		return 0
	}
	return int32(e.set.Epoch) * versionsPerEpoch
}
