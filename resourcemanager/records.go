package resourcemanager

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/filesystem"
	zk "github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	files "github.com/heddle-project/heddle/resourcemanager/store/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/store/raft"
	"github.com/heddle-project/heddle/resourcemanager/store/zookeeper"
)

// Kinds of state stores (yarn.resourcemanager.store.class).
const (
	storeBolt      = "bolt"
	storeFiles     = "filesystem"
	storeZooKeeper = "zookeeper"
	storeRaft      = "raft"
)

// The property that says where each kind of state store is.
var storeProperties = map[string]string{
	storeBolt:      storePath,
	storeFiles:     "yarn.resourcemanager.fs.state-store.uri",
	storeZooKeeper: "yarn.resourcemanager.zk-state-store.parent-path",
	storeRaft:      raftPath,
}

// keeps tells whether applications are kept for a restart: memory and null keep nothing.
func keeps(r *conf.Recovery) bool { return r.Enabled && storeProperties[r.Store] != "" }

// records is the state store that is configured.
type records struct {
	kind, where, property string
	bolt                  bolt.Options
	files                 files.Options
	zookeeper             zookeeper.Options
	raft                  raft.Options
}

// records reads where the state store is; recovery may be off. o is for all kinds.
func (p *process) records(site *conf.Properties, settings *conf.ResourceManager, o store.Options) (r records, err error) {
	set := &settings.Recovery
	r = records{kind: set.Store, property: storeProperties[set.Store]}
	switch r.kind {
	case storeBolt:
		r.where, r.bolt = set.Path, bolt.Options{Options: o, Warn: p.storeIsOdd}
	case storeFiles:
		r.where = set.Directory
		r.files = files.Options{Options: o, User: p.User}
		if r.files.URL, err = filesystem.ParseURL(set.Directory); err != nil {
			return r, fmt.Errorf("%s: %w", r.property, err)
		}
		r.files.Systems, err = p.fileSystems(site)
	case storeZooKeeper:
		r.where = "ZooKeeper " + settings.ZooKeeper.Address + " " + set.Parent
		r.zookeeper, err = p.zooKeeperRecords(settings, o)
	case storeRaft:
		r.where = settings.HA.Raft.Path
		r.raft = raft.Options{Options: o, Name: settings.HA.ID, Patience: raftPatience(settings)}
		if p.member != nil {
			r.raft.Member = p.member
		}
	default:
		err = fmt.Errorf("yarn.resourcemanager.store.class asks for %q, which keeps nothing that this command knows", set.Store)
	}
	return r, err
}

func (p *process) zooKeeperRecords(settings *conf.ResourceManager, o store.Options) (out zookeeper.Options, err error) {
	set, z := &settings.Recovery, &settings.ZooKeeper
	if z.Address == "" {
		return out, errors.New("hadoop.zk.address is not set: it names the servers of ZooKeeper that have the state store")
	}
	if z.Elector != "" && z.Elector != z.Address {
		p.Log.Warn("two properties name ZooKeeper's servers; the state store is at the first", "hadoop.zk.address", z.Address, "yarn.resourcemanager.zk-address", z.Elector)
	}
	o.MaxRecord = set.MaxNode
	out = zookeeper.Options{Options: o, Dial: p.openZooKeeper, Parent: set.Parent, AppSplit: set.AppSplit, TokenSplit: set.TokenSplit, Retries: z.Retries, Interval: z.RetryInterval,
		Connection: zk.Options{Address: z.Address, Session: z.Session, MaxRequest: z.MaxRequest, Log: func(text string) { p.Log.Debug(text, "logger", "zookeeper") }},
		Warn:       func(text string) { p.Log.Warn(text) }}
	if out.ACL, err = accessList("hadoop.zk.acl", z.ACL); err != nil {
		return out, err
	}
	if out.RootACL, err = accessList("yarn.resourcemanager.zk-state-store.root-node.acl", set.RootACL); err != nil {
		return out, err
	}
	auth, err := zk.Indirect(z.Auth)
	if err == nil {
		out.Connection.Auth, err = zk.ParseAuth(auth)
	}
	if err != nil {
		return out, fmt.Errorf("hadoop.zk.auth: %w", err)
	}
	if set.Fenced && len(out.RootACL) == 0 {
		out.Fence = &zookeeper.Fence{User: settings.Client.Address.String(), Password: rand.Text()}
	}
	return out, nil
}

func accessList(property, text string) ([]zk.ACL, error) {
	text, err := zk.Indirect(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", property, err)
	}
	acl, err := zk.ParseACL(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", property, err)
	}
	return acl, nil
}

// open opens the store.
func (r *records) open(openBolt func(string, bolt.Options) (bolt.Store, error)) (s store.Store, err error) {
	switch r.kind {
	case storeBolt:
		s, err = openBolt(r.where, r.bolt)
	case storeFiles:
		s, err = files.Open(r.files)
	case storeRaft:
		if r.raft.Member == nil {
			return nil, errTogether
		}
		return raft.Open(r.raft), nil
	default:
		s, err = zookeeper.Open(r.zookeeper)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the state store (%s): %w", r.property, err)
	}
	return s, nil
}

// missing is an error if the store is a file that is not there: opening it would make one.
func (r *records) missing() error {
	if r.kind != storeBolt {
		return nil
	}
	_, err := os.Stat(r.where)
	return err
}

// isMissing tells whether there is no such store.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, zk.ErrNoNode) }
