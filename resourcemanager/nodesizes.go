package resourcemanager

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// sizesFile says what nodes offer, whatever they say themselves.
const sizesFile = "dynamic-resources.xml"

// maxSizes bounds the nodes in it.
const maxSizes = 100_000

// readSizes reads dynamic-resources.xml; without such a file there are none.
//
// compat: 8192 MB and 8 vcores where nothing is said.
func (p *process) readSizes() (map[yarn.NodeID]engine.NodeSize, error) {
	file := filepath.Join(p.Dir, sizesFile)
	if !exists(file) {
		return nil, nil
	}
	properties, err := conf.Load(conf.Options{Files: []string{file}, NoDefaults: true})
	if err != nil {
		return nil, err
	}
	r := conf.NewReader(properties)
	const prefix = "yarn.resource.dynamic."
	out := map[yarn.NodeID]engine.NodeSize{}
	for _, name := range r.Strings(prefix + "nodes") {
		id, err := yarn.ParseNodeID(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %snodes: %w", file, prefix, err)
		}
		if len(out) == maxSizes {
			return nil, fmt.Errorf("%s: %snodes: more than %d nodes", file, prefix, maxSizes)
		}
		out[id] = engine.NodeSize{Node: id, MemoryMB: int64(r.Int32(prefix+name+".memory", 8192, conf.NotBelow(0))), VCores: int64(r.Int32(prefix+name+".vcores", 8, conf.NotBelow(0))),
			Overcommit: engine.NewOvercommit(int64(r.Int32(prefix+name+".overcommittimeout", -1, conf.NotBelow(-1))))}
	}
	return out, r.Err()
}

// rereadSizes reads the file anew, for nodes that register later. Those that are there keep their sizes until RefreshNodesResources tells the engine.
func (p *process) rereadSizes() error {
	sizes, err := p.readSizes()
	if err == nil {
		p.sizes.Store(&sizes)
	}
	return err
}

// sizeOf is what a node is to offer; false if it is what it says.
func (p *process) sizeOf(id yarn.NodeID) (engine.NodeSize, bool) {
	sizes := p.sizes.Load()
	if sizes == nil {
		return engine.NodeSize{}, false
	}
	s, ok := (*sizes)[id]
	return s, ok
}

// RefreshMaxPriority implements admin.Daemon.
func (t *term) RefreshMaxPriority() (engine.SetMaxPriority, error) {
	site, err := t.Load()
	if err != nil {
		return engine.SetMaxPriority{}, err
	}
	settings, err := conf.ReadResourceManager(site)
	if err != nil {
		return engine.SetMaxPriority{}, err
	}
	t.maxPriority.Store(settings.Applications.MaxPriority)
	return engine.SetMaxPriority{Most: settings.Applications.MaxPriority}, nil
}

// RefreshNodesResources implements admin.Daemon: it reads the file anew. On an error what was read before holds.
func (p *process) RefreshNodesResources() (engine.SetNodeResources, error) {
	if err := p.rereadSizes(); err != nil {
		return engine.SetNodeResources{}, err
	}
	sizes := *p.sizes.Load()
	nodes := slices.SortedFunc(maps.Values(sizes), func(a, b engine.NodeSize) int { return a.Node.Compare(b.Node) })
	return engine.SetNodeResources{Nodes: nodes}, nil
}
