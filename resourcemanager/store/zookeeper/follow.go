package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	zk "github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// What following may cost.
const (
	maxCopy      = 512 << 20              // bytes of data; a larger store is not followed
	maxBehind    = 1 << 20                // changes that are known and not read; beyond that all is read again
	calmReaders  = 4                      // nodes that are read at the same time
	followPause  = 100 * time.Millisecond // between two looks at what has changed
	followRetry  = time.Second            // before all is compared again once following has failed; twice that after the next time, and so on
	maxFollowing = 30 * time.Second       // of the same
)

// Follower is a store.Follower of a store in ZooKeeper. It watches all nodes with one
// watch and reads those that have changed. A store that is opened with it takes the copy
// in its Load, once it has fenced the others off: from then on nothing changes, so the
// copy is whole when a server that knows of the fence has no more changes to tell. If the
// watch was lost since, the store reads all.
type Follower struct {
	options Options
	root    string
	conn    zk.Conn
	limit   int64 // bytes
	pause   time.Duration

	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup
	wake chan struct{}

	mu       sync.Mutex // of what events change
	turn     int        // counts watches; what an earlier one tells is passed over
	watching bool
	whole    bool // the copy has all but what is dirty
	dirty    map[string]bool
	reading  int // how many that were dirty are being read
	why      string
	nodes    map[string]known // written by one goroutine, with mu; it reads without
	bytes    int64
	tree     tree // of that goroutine alone, and of the store that takes the copy
}

// known is what the copy has of a node.
type known struct {
	entry
	size              int // of its data
	created, modified int64
	children          int32 // version of the list of children that the tree has, or an earlier one; 0: of a new node, without children
}

var errWatchLost = errors.New("the connection to ZooKeeper was lost")

// Follow begins to follow a store. It does not wait for ZooKeeper.
func Follow(o Options) (*Follower, error) {
	o = o.withDefaults()
	root, err := o.root()
	if err != nil {
		return nil, err
	}
	conn, err := o.Dial(o.Connection)
	if err != nil {
		return nil, err
	}
	f := &Follower{options: o, root: root, conn: conn, limit: cmp.Or(o.most, maxCopy), pause: cmp.Or(o.pause, followPause), wake: make(chan struct{}, 1), dirty: map[string]bool{}, nodes: map[string]known{}, tree: tree{}, why: "begins"}
	f.ctx, f.end = context.WithCancel(context.Background())
	f.work.Go(f.run)
	return f, nil
}

// Copy implements store.Follower.
func (f *Follower) Copy() store.Copy {
	f.mu.Lock()
	defer f.mu.Unlock()
	return store.Copy{Whole: f.whole, Records: len(f.nodes), Bytes: f.bytes, Behind: len(f.dirty) + f.reading, Why: f.why}
}

// Close implements store.Follower.
func (f *Follower) Close() error {
	f.end()
	f.conn.Close()
	f.work.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.whole, f.why, f.nodes, f.tree, f.bytes = false, "has ended", nil, nil, 0
	return nil
}

func (f *Follower) run() {
	for pause := followRetry; ; pause = min(2*pause, maxFollowing) {
		err := f.follow()
		if f.ctx.Err() != nil {
			return
		}
		f.stopped(err)
		if errors.Is(err, zk.ErrUnsupported) {
			f.options.Warn("the standby keeps no copy of the state store: " + err.Error())
			return
		}
		wait := pause
		if errors.Is(err, errWatchLost) || zk.Lost(err) { // which WatchAll waits for
			pause, wait = followRetry, f.pause
		} else {
			f.options.Warn(fmt.Sprintf("the standby has no copy of the state store, and tries again in %s: %v", pause, err))
		}
		select {
		case <-time.After(wait):
		case <-f.ctx.Done():
			return
		}
	}
}

func (f *Follower) stopped(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.whole, f.watching, f.why = false, false, err.Error()
	f.turn++
}

// follow follows until that fails.
func (f *Follower) follow() error {
	f.mu.Lock()
	f.turn++
	turn := f.turn
	f.watching, f.whole, f.why = true, false, "reads all"
	clear(f.dirty)
	f.mu.Unlock()
	if err := f.conn.WatchAll(f.ctx, f.root, func(e zk.Event) { f.told(turn, e) }); err != nil {
		return err
	}
	if err := f.scan(f.ctx); err != nil {
		return err
	}
	f.mu.Lock()
	if f.whole = f.watching; f.whole {
		f.why = ""
	}
	f.mu.Unlock()
	for {
		select {
		case <-f.wake:
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
		if err := f.catchUp(f.ctx, calmReaders); err != nil {
			return err
		}
		select { // what changes often is read once
		case <-time.After(f.pause):
		case <-f.ctx.Done():
			return f.ctx.Err()
		}
	}
}

// told takes what the watch has seen.
func (f *Follower) told(turn int, e zk.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn != f.turn || !f.watching {
		return
	}
	at := f.below(e.Path)
	switch {
	case e.Kind == zk.NotWatching, len(f.dirty) >= maxBehind:
		f.watching, f.whole, f.why = false, false, errWatchLost.Error()
	case at == lockName: // comes and goes with each transaction
		return
	default:
		f.dirty[at] = true
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// below is the path of a node below the root.
func (f *Follower) below(absolute string) string {
	if absolute == f.root {
		return "."
	}
	return strings.TrimPrefix(absolute, f.root+"/")
}

func (f *Follower) absolute(at string) string { return absolute(f.root, at) }

// seen is what was read of a node.
type seen struct {
	known
	names []string // of its children
	gone  bool
}

// scan compares the copy with all nodes, and reads those that differ.
func (f *Follower) scan(ctx context.Context) error {
	if err := f.conn.Sync(ctx, f.root); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	nodes, found, bytes := map[string]known{}, tree{}, int64(0)
	for level := []string{"."}; len(level) > 0; {
		if len(nodes)+len(level) > maxNodes {
			return fmt.Errorf("the state store %s in ZooKeeper has more than %d nodes", f.root, maxNodes)
		}
		looked, err := visit(level, calmReaders, func(at string) (seen, error) {
			if f.lost() {
				return seen{}, errWatchLost
			}
			return f.compare(ctx, at)
		})
		if err != nil {
			return err
		}
		var next []string
		for i, n := range looked {
			if n.gone {
				continue
			}
			nodes[level[i]] = n.known
			found.add(level[i])
			bytes += int64(n.size)
			for _, name := range n.names {
				if at := path.Join(level[i], name); at != lockName {
					next = append(next, at)
				}
			}
		}
		if bytes > f.limit {
			return f.tooLarge()
		}
		level = next
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes, f.tree, f.bytes = nodes, found, bytes
	return nil
}

func (f *Follower) tooLarge() error {
	return fmt.Errorf("the state store %s in ZooKeeper has more than %d MB", f.root, f.limit>>20)
}

func (f *Follower) lost() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.watching
}

// compare reads a node unless the copy has it as it is.
func (f *Follower) compare(ctx context.Context, at string) (s seen, err error) {
	if old, ok := f.nodes[at]; ok {
		there, stat, err := f.conn.Exists(ctx, f.absolute(at))
		switch {
		case err != nil:
			return s, err
		case !there:
			return seen{gone: true}, nil
		case stat.Created == old.created && stat.Modified == old.modified && stat.ChildrenVersion == old.children:
			return seen{known: old, names: slices.Collect(maps.Keys(f.tree[at]))}, nil
		}
	}
	s, many, err := f.read(ctx, at)
	if err == nil && many {
		s.names, _, err = f.conn.Children(ctx, f.absolute(at))
		if errors.Is(err, zk.ErrNoNode) {
			return seen{gone: true}, nil
		}
	}
	return s, err
}

// read reads a node, and tells whether it has children.
func (f *Follower) read(ctx context.Context, at string) (s seen, many bool, err error) {
	data, stat, err := f.conn.Get(ctx, f.absolute(at))
	if errors.Is(err, zk.ErrNoNode) {
		return seen{gone: true}, false, nil
	}
	return seen{known: known{entry: f.options.entry(at, data), size: len(data), created: stat.Created, modified: stat.Modified, children: stat.ChildrenVersion}}, stat.Children > 0, err
}

// catchUp reads what has changed.
func (f *Follower) catchUp(ctx context.Context, readers int) error {
	f.mu.Lock()
	watching, dirty := f.watching, f.dirty
	if !watching {
		f.mu.Unlock()
		return errWatchLost
	}
	f.dirty, f.reading = map[string]bool{}, len(dirty)
	f.mu.Unlock()
	changed := slices.Sorted(maps.Keys(dirty)) // parents first
	looked, err := visit(changed, readers, func(at string) (seen, error) {
		s, _, err := f.read(ctx, at)
		return s, err
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading = 0
	if err != nil {
		maps.Copy(f.dirty, dirty)
		return err
	}
	for i, s := range looked {
		at := changed[i]
		if s.gone {
			f.forget(at)
			continue
		}
		old := f.nodes[at]
		f.bytes += int64(s.size - old.size)
		// The children of the version that was read may be others than those in the tree: events about them may wait, or be lost with the watch.
		if s.children = 0; s.created == old.created {
			s.children = old.children
		}
		f.nodes[at] = s.known
		f.tree.add(at)
	}
	if f.bytes > f.limit {
		return f.tooLarge()
	}
	return nil
}

// forget removes a node and all below it.
func (f *Follower) forget(at string) {
	for name := range f.tree[at] {
		f.forget(path.Join(at, name))
	}
	f.bytes -= int64(f.nodes[at].size)
	delete(f.nodes, at)
	f.tree.remove(at)
}

// take ends the following and gives the copy away, as walk would read it. mark is a node
// that the fence has made. The nodes are nil if the copy is not whole.
func (f *Follower) take(ctx context.Context, mark string) (nodes map[string]known, found tree, err error) {
	f.end()
	f.work.Wait()
	if !f.Copy().Whole {
		return nil, nil, nil
	}
	if err := f.conn.Sync(ctx, f.root); err != nil {
		return nil, nil, err
	}
	there, _, err := f.conn.Exists(ctx, f.absolute(mark))
	if err == nil && !there {
		err = errors.New("a server of ZooKeeper does not know who has taken the store over")
	}
	for err == nil {
		if err = f.catchUp(ctx, readers); err == nil && f.Copy().Behind == 0 {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || !f.watching {
		return nil, nil, err
	}
	nodes, found = f.nodes, f.tree
	f.whole, f.nodes, f.tree, f.bytes, f.why = false, nil, nil, 0, "was taken"
	return nodes, found, nil
}

var _ store.Follower = (*Follower)(nil)
