package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
)

// The library has no call for persistent recursive watches, which servers have since 3.6. The request is put between its own, its answer
// is taken out of what the library reads, and the events are told by the library, which tells all that it does not know as well.
const (
	opAddWatch    = 106
	watchXid      = -106 // of the request; the library's are positive, and servers use -1, -2, -4 and -8
	recursive     = 1    // the mode of the watch
	codeOld       = -6   // the answer of servers that do not know the request
	maxWatchReply = 4 << 10
)

// ErrUnsupported tells that the server is too old for a call.
var ErrUnsupported = errors.New("the server does not have it; it needs ZooKeeper 3.6")

// watchAll is what a connection watches with WatchAll.
type watchAll struct {
	mu    sync.Mutex
	below string // absolute; "" if nothing is watched
	told  func(Event)
	guard *guarded // the connection to a server that there is
}

// dialed notes the connection to a server.
func (w *watchAll) dialed(g *guarded) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.guard = g
}

// begin notes what is watched from now on, in place of what was before, and gives the connection that is to be asked.
func (w *watchAll) begin(below string, told func(Event)) (*guarded, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.guard == nil {
		return nil, ErrConnection
	}
	w.below, w.told = below, told
	return w.guard, nil
}

// end ends it, and says why if err is given.
func (w *watchAll) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.below == "" {
		return
	}
	if err != nil {
		w.told(Event{Kind: NotWatching, Path: w.below, Err: err})
	}
	w.below, w.told = "", nil
}

// event passes on what the library tells.
func (w *watchAll) event(c *client, e zk.Event) {
	if e.Type == zk.EventSession {
		if e.State == zk.StateDisconnected || e.State == zk.StateExpired {
			w.end(ErrConnection)
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.below == "" || e.Path != w.below && !strings.HasPrefix(e.Path, strings.TrimSuffix(w.below, "/")+"/") {
		return
	}
	if out := c.event(e); out.Kind != NotWatching && out.Kind != ChildrenChanged {
		w.told(out)
	}
}

// WatchAll implements Conn.
func (c *client) WatchAll(ctx context.Context, path string, told func(Event)) error {
	if err := c.Sync(ctx, path); err != nil && !errors.Is(err, ErrNoNode) { // there is a connection
		return err
	}
	_, err := call(ctx, c, "watch all below", path, func(path string) (none struct{}, err error) {
		g, err := c.all.begin(path, told)
		if err != nil {
			return none, err
		}
		if err = g.addWatch(path); err != nil {
			c.all.end(nil)
		}
		return none, err
	})
	return err
}

// addWatch has the server watch all below a path, and waits for its answer.
func (g *guarded) addWatch(path string) error {
	body := binary.BigEndian.AppendUint32(nil, uint32(0xffffffff&int64(watchXid)))
	body = binary.BigEndian.AppendUint32(body, opAddWatch)
	body = append(binary.BigEndian.AppendUint32(body, uint32(len(path))), path...)
	body = binary.BigEndian.AppendUint32(body, recursive)
	answered := make(chan int32, 1)
	g.mu.Lock()
	usable := !g.over && g.open && g.watch == nil
	if usable {
		g.watch = answered
	}
	g.mu.Unlock()
	if !usable {
		return ErrConnection
	}
	if _, err := g.Conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil {
		_ = g.Conn.Close()
		return fmt.Errorf("%w: %w", ErrConnection, err)
	}
	code, ok := <-answered
	switch {
	case !ok:
		return ErrConnection
	case code == codeOld:
		return ErrUnsupported
	case code != 0:
		return fmt.Errorf("error %d", code)
	}
	return nil
}

// watched takes the answer to addWatch. The connection is over if there was no such request.
func (g *guarded) watched(code int32) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watch == nil {
		return errors.New("an answer of ZooKeeper to a watch that was not asked for")
	}
	g.watch <- code
	g.watch = nil
	return nil
}

// ended tells who waits for an answer that there will be none.
func (g *guarded) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	if g.watch != nil {
		close(g.watch)
		g.watch = nil
	}
}
