package confstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/heddle-project/heddle/internal/zookeeper"
)

// Nodes below the parent. All but the last are Apache's.
const (
	versionNode = "/VERSION"      // of the layout, as a VersionProto
	valuesNode  = "/CONF_STORE"   // a HashMap of Java's
	logNode     = "/LOGS"         // a LinkedList of Java's
	numberNode  = "/CONF_VERSION" // the version in decimal digits
	fenceNode   = "/FENCING"      // is there while a transaction is carried out, in Apache's too
	ourNode     = "/HEDDLE"       // what else is kept, as JSON
)

// layoutVersion is the VersionProto of version 0.1.
var layoutVersion = []byte{0x08, 0, 0x10, 1}

// ZKOptions say where the nodes are.
type ZKOptions struct {
	Conn   zookeeper.Conn // ends with the store
	Parent string         // of all nodes
	ACL    []zookeeper.ACL

	Retries  int           // of opening or loading while ZooKeeper does not answer (hadoop.zk.num-retries)
	Interval time.Duration // between them (hadoop.zk.retry-interval-ms)
	Warn     func(string)  // is told that it is waited for ZooKeeper
}

// nodes is the store in ZooKeeper. A commit is one transaction.
type nodes struct {
	o      ZKOptions
	kept   *State
	number int32 // version of the node of the version
}

// OpenZK makes the nodes where they are missing.
func OpenZK(ctx context.Context, o ZKOptions) (Store, error) {
	z := &nodes{o: o}
	if err := z.retry(ctx, func() error { return z.prepare(ctx) }); err != nil {
		o.Conn.Close()
		return nil, fmt.Errorf("open scheduler configuration store at %s: %w", o.Parent, err)
	}
	return z, nil
}

// retry tries again while the connection is lost. What is tried must change nothing when it is done twice.
func (z *nodes) retry(ctx context.Context, do func() error) error {
	for tries := 0; ; tries++ {
		err := do()
		if err == nil || !zookeeper.Lost(err) || tries >= z.o.Retries {
			return err
		}
		if tries == 0 && z.o.Warn != nil {
			z.o.Warn(fmt.Sprintf("the scheduler configuration store at %s waits for ZooKeeper: %v", z.o.Parent, err))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(z.o.Interval):
		}
	}
}

func (z *nodes) prepare(ctx context.Context) error {
	if err := zookeeper.MakeParents(ctx, z.o.Conn, z.o.Parent, z.o.ACL); err != nil {
		return err
	}
	if err := z.o.Conn.Delete(ctx, z.o.Parent+fenceNode, zookeeper.AnyVersion); err != nil && !errors.Is(err, zookeeper.ErrNoNode) {
		return err
	}
	b, there, err := z.get(ctx, versionNode)
	if err != nil {
		return err
	}
	if there && (len(b) < 2 || b[0] != layoutVersion[0] || b[1] != layoutVersion[1]) {
		return fmt.Errorf("its layout is version %x, this program reads %x: use the program that wrote it", b, layoutVersion)
	}
	return nil
}

func (z *nodes) get(ctx context.Context, name string) (data []byte, there bool, err error) {
	data, _, err = z.o.Conn.Get(ctx, z.o.Parent+name)
	if errors.Is(err, zookeeper.ErrNoNode) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// Load implements Store.
func (z *nodes) Load(ctx context.Context) (*State, error) {
	var s *State
	var number int32
	err := z.retry(ctx, func() (err error) {
		s, number, err = z.load(ctx)
		return err
	})
	if err == nil {
		err = s.sound()
	}
	if err != nil {
		return nil, fmt.Errorf("read scheduler configuration store at %s: %w", z.o.Parent, err)
	}
	z.kept, z.number = s, number
	return s.Clone(), nil
}

func (z *nodes) load(ctx context.Context) (*State, int32, error) {
	s := &State{Values: map[string]string{}}
	if err := z.o.Conn.Sync(ctx, z.o.Parent); err != nil {
		return nil, 0, err
	}
	text, stat, err := z.o.Conn.Get(ctx, z.o.Parent+numberNode)
	switch {
	case errors.Is(err, zookeeper.ErrNoNode):
		return s, -1, nil
	case err != nil:
		return nil, 0, err
	}
	number, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("%s is %.100q, not a number", numberNode, text)
	}
	if text, there, err := z.get(ctx, ourNode); err != nil {
		return nil, 0, err
	} else if there {
		if err := json.Unmarshal(text, s); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", ourNode, err)
		}
	}
	if text, there, err := z.get(ctx, valuesNode); err != nil {
		return nil, 0, err
	} else if there {
		if s.Values, err = readJavaMap(text); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", valuesNode, err)
		}
	}
	if text, there, err := z.get(ctx, logNode); err != nil {
		return nil, 0, err
	} else if there {
		theirs, err := readJavaLog(text)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", logNode, err)
		}
		s.Attempts = together(s.Attempts, theirs)
	}
	if s.Version != number { // Apache's ResourceManager has changed it
		s.Version, s.Trial = number, nil
		s.History = []Version{{Number: number, Source: FromAPI, Reason: "written by another program"}}
	}
	return s, stat.Version, nil
}

// together is Apache's log with what ours says beside it of the same attempts: both lose the oldest ones first.
func together(ours, theirs []Attempt) []Attempt {
	if len(ours) == len(theirs) {
		for i := range theirs {
			theirs[i].At, theirs[i].Refused = ours[i].At, ours[i].Refused
		}
	}
	return theirs
}

// Commit implements Store.
func (z *nodes) Commit(ctx context.Context, was int64, next *State) error {
	if z.kept == nil {
		return errors.New("the scheduler configuration store was not loaded, or its last commit failed")
	}
	if z.kept.Version != was {
		return &ConflictError{was, z.kept.Version}
	}
	log := logOf(next.Attempts)
	text, err := oursOf(next, log.attempts)
	if err != nil {
		return err
	}
	var ops []zookeeper.Op
	number := strconv.AppendInt(nil, next.Version, 10)
	if z.number < 0 {
		ops = append(ops, zookeeper.CreateOp(z.o.Parent+numberNode, number, z.o.ACL))
	} else {
		set := zookeeper.SetOp(z.o.Parent+numberNode, number)
		set.Version = z.number // whoever else has changed something has changed this
		ops = append(ops, set)
	}
	for _, n := range []struct {
		name string
		data []byte
	}{{valuesNode, javaMap(next.Values)}, {logNode, log.stream}, {ourNode, text}, {versionNode, layoutVersion}} {
		_, there, err := z.get(ctx, n.name)
		if err != nil {
			return err
		}
		op := zookeeper.CreateOp(z.o.Parent+n.name, n.data, z.o.ACL)
		if there {
			op = zookeeper.SetOp(z.o.Parent+n.name, n.data)
		}
		ops = append(ops, op)
	}
	return z.transact(ctx, ops, next)
}

// Bounds of what is kept beside the values, in bytes: a request is 1 MiB at most where nobody has changed that. What is oldest is left out.
const (
	maxLogNode = 128 << 10
	maxOurNode = 256 << 10
)

// zkLog are the last attempts that a node takes.
type zkLog struct {
	attempts []Attempt
	stream   []byte
}

func logOf(attempts []Attempt) zkLog {
	for {
		stream := javaLog(attempts)
		if len(stream) <= maxLogNode || len(attempts) == 0 {
			return zkLog{attempts, stream}
		}
		attempts = attempts[(len(attempts)+1)/2:]
	}
}

// oursOf is the content of our own node: all but what is in Apache's.
func oursOf(s *State, attempts []Attempt) ([]byte, error) {
	ours := *s
	ours.Values, ours.Attempts = nil, nil
	for _, a := range attempts { // the updates are in Apache's log
		ours.Attempts = append(ours.Attempts, Attempt{At: a.At, Refused: a.Refused[:min(len(a.Refused), 200)]})
	}
	room := maxOurNode
	for i := len(s.History) - 1; i >= 0; i-- {
		text, err := json.Marshal(s.History[i])
		if err != nil {
			return nil, err
		}
		if room -= len(text); room < 0 { // what leads to the oldest version is only to be looked at
			ours.History = slices.Clone(s.History[i:])
			ours.History[0].Changes = nil
			break
		}
	}
	return json.Marshal(&ours)
}

// transact carries out a commit, fenced as Apache's.
func (z *nodes) transact(ctx context.Context, ops []zookeeper.Op, next *State) error {
	fence := z.o.Parent + fenceNode
	ops = append(append([]zookeeper.Op{zookeeper.CreateOp(fence, nil, z.o.ACL)}, ops...), zookeeper.DeleteOp(fence))
	err := z.o.Conn.Multi(ctx, ops...)
	was := z.kept.Version
	if err == nil {
		z.kept = next.Clone()
		z.number++
		return nil
	}
	z.kept = nil
	switch {
	case errors.Is(err, zookeeper.ErrNoAuth):
		return fmt.Errorf("%w: %w", ErrFenced, err)
	case errors.Is(err, zookeeper.ErrBadVersion), errors.Is(err, zookeeper.ErrNodeExists), errors.Is(err, zookeeper.ErrNoNode):
		found, loading := z.Load(ctx)
		if loading != nil {
			return errors.Join(err, loading)
		}
		if found.Version == next.Version {
			return fmt.Errorf("write scheduler configuration store at %s: somebody else has written version %d: %w", z.o.Parent, found.Version, err)
		}
		return &ConflictError{was, found.Version}
	}
	return fmt.Errorf("write scheduler configuration store at %s: %w", z.o.Parent, err)
}

// Close implements Store.
func (z *nodes) Close() error {
	z.o.Conn.Close()
	return nil
}
