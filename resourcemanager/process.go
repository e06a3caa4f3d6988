package resourcemanager

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"sync"
	"sync/atomic"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/groups"
	"github.com/heddle-project/heddle/internal/hosts"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/rack"
	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/yarn"
)

// process is what lasts as long as the process and does not listen: the configuration, who is who and who may what, the logs. Terms use
// it; it knows of none.
type process struct {
	Options
	settings      *conf.ResourceManager
	site          *conf.Properties
	types         yarn.ResourceTypes
	openBolt      func(path string, o bolt.Options) (bolt.Store, error)
	openZooKeeper zookeeper.Opener
	member        *replica.Member // of those that keep the state store together; nil: there is no such store
	leads         func() bool     // tells whether this one may still be active, whatever it does not know yet; nil: always

	following following

	rights *rights
	racks  *rack.Resolver

	refreshing sync.Mutex                                             // is held while the lists of nodes are read and replaced
	lists      atomic.Pointer[hosts.Lists]                            // in force
	sizes      atomic.Pointer[map[yarn.NodeID]engine.NodeSize]        // of nodes, by dynamic-resources.xml
	lookup     func(ctx context.Context, host string) (string, error) // gives the address of a host
}

// readSettings reads the settings and refuses what is configured but not built.
func (p *process) readSettings(site *conf.Properties) (*conf.ResourceManager, error) {
	rm, err := conf.ReadResourceManager(site)
	if err != nil {
		return nil, err
	}
	found := conf.UnsupportedByResourceManager(site)
	if err := found.Report(p.Dir, func(line string) { p.Log.Warn(line) }, func(line string) { p.Log.Info(line) }); err != nil {
		return nil, err
	}
	return rm, nil
}

// prepare reads the configuration and builds what stands on it alone.
func (p *process) prepare() (err error) {
	if p.site, err = p.Load(); err != nil {
		return err
	}
	if p.settings, err = p.readSettings(p.site); err != nil {
		return err
	}
	cluster, err := p.readCluster(p.site)
	if err != nil {
		return err
	}
	if p.types = cluster.Types; p.types == nil {
		p.types = yarn.BasicResourceTypes()
	}
	sec := &p.settings.Security
	found, err := groups.New(groups.Options{Mapping: sec.GroupMapping, Static: sec.StaticGroups, Timeout: sec.GroupTimeout,
		CacheFor: sec.GroupCache, NegativeFor: sec.GroupNegativeCache, Log: p.Log})
	if err != nil {
		return err
	}
	p.rights = &rights{groups: found, log: p.Log}
	p.rights.rules.Store(newRules(p.settings, p.User))
	top := &p.settings.Topology
	if p.racks, err = rack.New(rack.Options{Mapping: top.Mapping, Script: top.Script, ScriptArgs: top.ScriptMaxArgs, Table: top.Table, Log: p.Log}); err != nil {
		return err
	}
	lists, err := p.readLists(p.site, true)
	if err != nil {
		return err
	}
	p.lists.Store(lists)
	return p.rereadSizes()
}

// warnOfTemporary says that what must outlive this machine's restart lies where it may not.
func (p *process) warnOfTemporary(what, path, loss, advice string) {
	if dir := filesystem.Temporary(path); dir != "" {
		p.Log.Warn(what+" lies below a directory of temporary files, which systems empty when they start and clean up while they run: "+loss+"; "+advice,
			"path", path, "temporary", dir)
	}
}

// properties is the configuration in force, as /conf tells it.
func (p *process) properties() []introspect.Property {
	var out []introspect.Property
	for _, v := range p.site.All() {
		out = append(out, introspect.Property{Name: v.Name, Raw: v.Raw, Value: v.Value, Source: path.Base(v.Origin.File), Final: v.Final})
	}
	return out
}

// excluded says why the lists do not admit a host, or nothing.
func (p *process) excluded(host string, addr netip.Addr) string {
	if p.lists.Load().Valid(host, addr.String()) {
		return ""
	}
	return fmt.Sprintf("Disallowed NodeManager from  %s, Sending SHUTDOWN signal to the NodeManager.", host)
}
