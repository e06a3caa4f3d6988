package capacity

import (
	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/capacity/waiting"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/measure"
)

// Scheduler is the whole state.
type Scheduler struct {
	core.Core
	core.NoRounds
	cfg  *config.Capacity
	tree *tree.Tree

	userRunnable map[string]int32  // applications that max-parallel-apps lets run
	userWaiting  map[string][]*app // and those that it does not, by arrival

	limits  [config.MaxDepth + 1]limits // of the running walk, by depth
	leftOut []leftOut                   // children that the running walk is done with, parent by parent

	shortcuts *shortcuts   // nil: every walk goes all its way, for tests
	pass      func(*Queue) // look at everybody who waits for admission, for tests; nil: admitPending

	preemption preemption

	lastMaster *waiting.Master // see master
	noMaster   waiting.Master  // of applications without an attempt

	apache *tree.Apache        // nil but in replays; see LikeApache
	strays map[*app][]resource // likewise; see stray
}

// New is a scheduler without nodes and applications.
func New(cfg *config.Capacity) (*Scheduler, error) { return newScheduler(cfg, true) }

func newScheduler(cfg *config.Capacity, withShortcuts bool) (*Scheduler, error) {
	s := &Scheduler{cfg: cfg, userRunnable: map[string]int32{}, userWaiting: map[string][]*app{}}
	s.Core = core.New(&cfg.Cluster, measure.Calculator{Dominant: cfg.Dominant, Types: len(cfg.Cluster.Types)}, s)
	for i := range config.MaxDepth {
		s.limits[i].below = &s.limits[i+1]
	}
	if withShortcuts {
		s.shortcuts = &shortcuts{s: s}
		s.Watch(s.shortcuts)
	}
	s.SetLabels(cfg.Cluster.Labels)
	built, err := s.basis().Build(cfg)
	if err != nil {
		return nil, err
	}
	if err := built.CheckRules(cfg); err != nil {
		return nil, err
	}
	s.enterParts(built.Parts)
	s.setTree(cfg, built.Tree)
	s.configureAll()
	s.Recalculate()
	return s, nil
}

// Heartbeat is what one heartbeat may bring.
func (s *Scheduler) Heartbeat() core.Heartbeat {
	return core.Heartbeat{Multiple: s.cfg.MultipleAssignments, OffSwitch: s.cfg.MaxOffSwitch, Containers: s.cfg.MaxAssignments}
}
