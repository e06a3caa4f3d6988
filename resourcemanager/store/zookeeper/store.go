package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	zk "github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
)

// The version of the layout.
const (
	Major = 1
	Minor = 5
)

// MaxSplit is the largest split index.
const MaxSplit = 4

// Options are those of every store and of this one.
type Options struct {
	store.Options
	Dial       zk.Opener     // nil: zookeeper.Open
	Connection zk.Options    // address, timeout and credentials
	Parent     string        // of the root (yarn.resourcemanager.zk-state-store.parent-path); "" is /rmstore
	ACL        []zk.ACL      // of the nodes that are made (hadoop.zk.acl); nil: anyone
	RootACL    []zk.ACL      // of the root (yarn.resourcemanager.zk-state-store.root-node.acl); nil: ACL, or that of Fence
	Fence      *Fence        // nil: no access list keeps others from writing
	AppSplit   int           // yarn.resourcemanager.zk-appid-node.split-index
	TokenSplit int           // yarn.resourcemanager.zk-delegation-token-node.split-index
	Retries    int           // of a call of Load that was lost (hadoop.zk.num-retries)
	Interval   time.Duration // between them (hadoop.zk.retry-interval-ms)
	Warn       func(string)  // takes what is odd; nil: it is dropped
	Follower   *Follower     // has a copy for Load, and is ended by it; nil: Load reads all

	pause time.Duration // of a Follower between two looks; tests do not wait
	most  int64         // bytes of its copy; 0: maxCopy
}

// Fence is who alone may make nodes below the root: user and password of ZooKeeper's
// digest scheme, new for each process.
type Fence struct{ User, Password string }

const defaultParent = "/rmstore"

func (o Options) withDefaults() Options {
	o.Options = o.Options.WithDefaults()
	o.Codec = apache.Codec{Types: o.Types}
	if o.Dial == nil {
		o.Dial = zk.Open
	}
	if o.Parent == "" {
		o.Parent = defaultParent
	}
	if len(o.ACL) == 0 {
		o.ACL = zk.Anyone()
	}
	if o.Connection.MaxRequest <= 0 {
		o.Connection.MaxRequest = zk.DefaultRequest
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

// rootACL is the access list of the root.
func (o *Options) rootACL() []zk.ACL {
	switch {
	case len(o.RootACL) > 0:
		return o.RootACL
	case o.Fence == nil:
		return o.ACL
	}
	var out []zk.ACL
	for _, a := range o.ACL {
		a.Perms &^= zk.CreateChild | zk.DeleteChild
		out = append(out, a)
	}
	return append(out, zk.ACL{Perms: zk.CreateChild | zk.DeleteChild, Scheme: "digest", ID: zk.Digest(o.Fence.User, o.Fence.Password)})
}

// root is the path of the store.
func (o *Options) root() (string, error) {
	root := o.Parent + "/" + rootName
	if o.Parent == "/" {
		root = "/" + rootName
	}
	if err := zk.CheckPath(root); err != nil {
		return "", fmt.Errorf("path of the state store in ZooKeeper: %w", err)
	}
	return root, nil
}

type keeper struct {
	options Options
	root    string

	mu sync.Mutex
	store.Life
	conn   zk.Conn
	epoch  int32  // version of the epoch's node as we wrote it
	mark   string // node that is there as long as this is the last start
	tree   tree
	unsure map[string]bool // nodes of which it is not known whether they are there
}

// Open prepares a connection; ZooKeeper need not answer yet.
func Open(o Options) (store.Store, error) {
	o = o.withDefaults()
	root, err := o.root()
	if err != nil {
		return nil, err
	}
	for _, n := range []int{o.AppSplit, o.TokenSplit} {
		if n < 0 || n > MaxSplit {
			return nil, fmt.Errorf("split index %d of the state store in ZooKeeper is not from 0 to %d", n, MaxSplit)
		}
	}
	if o.Fence != nil {
		o.Connection.Auth = append(slices.Clone(o.Connection.Auth), zk.Auth{Scheme: "digest", Secret: []byte(o.Fence.User + ":" + o.Fence.Password)})
	}
	conn, err := o.Dial(o.Connection)
	if err != nil {
		return nil, err
	}
	return &keeper{options: o, root: root, conn: conn, tree: tree{}, unsure: map[string]bool{}}, nil
}

// Load implements store.Store.
func (k *keeper) Load(ctx context.Context) (*state.Snapshot, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.MayLoad(ctx); err != nil {
		return nil, err
	}
	snapshot, err := k.takeOver(ctx)
	if err != nil {
		return nil, k.outcome(err)
	}
	k.Loaded = true
	return snapshot, nil
}

// Commit implements store.Store.
func (k *keeper) Commit(ctx context.Context, ops []state.Op) error {
	changes, err := k.options.Changes(ops)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.MayCommit(ctx); err != nil {
		return err
	}
	return k.outcome(k.commit(ctx, changes, len(ops)))
}

// Close implements store.Store.
func (k *keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.Closed {
		k.Closed = true
		k.conn.Close()
	}
	return nil
}

// outcome makes an error of the interface of what ZooKeeper said.
func (k *keeper) outcome(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFenced):
		k.Broken = store.ErrFenced
		return err
	case errors.As(err, new(*store.BatchError)), errors.As(err, new(*store.PoisonError)), errors.As(err, new(*versionError)):
		return err
	case errors.As(err, new(*store.DamagedError)):
		k.Broken = err
		return err
	}
	return &store.UnavailableError{Err: err}
}

// versionError tells that the store is not one for this program.
type versionError struct{ err error }

func (e *versionError) Error() string { return e.err.Error() }

func (e *versionError) Unwrap() error { return e.err }
