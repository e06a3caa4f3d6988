package capacity

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// Scheduler is the whole state.
type Scheduler struct {
	cfg   *config.Config
	calc  measure.Calculator
	min   resource // the least container, and the step of sizes
	most  resource // the largest container
	books *cluster.Books
	tree  *tree

	apps     []*app
	freeApps []AppRef
	byID     map[yarn.ApplicationID]AppRef

	userRunnable map[string]int32  // applications that max-parallel-apps lets run
	userWaiting  map[string][]*app // and those that it does not, by arrival

	now     yarn.Now
	started int64    // monotonic milliseconds
	largest resource // what the largest nodes have, type by type

	limits   [config.MaxDepth + 1]limits // of a walk, by depth
	lastWalk walkKind
	walkTurn uint64    // counts how often lastWalk changed
	leftOut  []leftOut // children that the running walk is done with, parent by parent

	plain         bool         // walk everything, for tests
	pass          func(*Queue) // look at everybody who waits for admission, for tests; nil: admitPending
	felt          int          // what the last walks left behind, see round.local
	waited        bool         // a walk passed by who gets nearer to its turn by that
	passed        int          // keys of asks that walks have passed by
	reservedNodes int
	fetched       int64 // means nothing, see fetch.go

	mastered []*app // whose master was placed by the running offer
	deltas   []demand.Delta
	keys     []demand.Key   // of the running call
	wants    []*demand.Want // what is known under them
	sweep    sweep
	late     *late // nil: refused changes leave nothing behind

	// keepsFractions leaves fractions as they are written where legacy-queue-mode.enabled
	// is false. Apache does so where it was true at the start.
	keepsFractions bool

	servedRows map[ContainerRef]servedRows // where they do not follow from the container

	together         bool // several changes of nodes are carried out as one
	recalculationDue bool // when they all are
}

// New is a scheduler without nodes and applications.
func New(cfg *config.Config) (*Scheduler, error) {
	s := &Scheduler{
		cfg: cfg, calc: measure.Calculator{Dominant: cfg.Dominant, Types: len(cfg.Cluster.Types)},
		min:   cfg.Cluster.MinAllocation,
		most:  cfg.Cluster.MaxAllocation,
		books: cluster.NewBooks(cfg.Cluster.PortInName),
		byID:  map[yarn.ApplicationID]AppRef{}, userRunnable: map[string]int32{}, userWaiting: map[string][]*app{},
	}
	for i := range config.MaxDepth {
		s.limits[i].below = &s.limits[i+1]
	}
	s.SetLabels(cfg.Cluster.Labels)
	t, err := s.build(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.checkRules(cfg, t); err != nil {
		return nil, err
	}
	s.tree = t
	t.root.each(func(q *Queue) {
		if q.isLeaf() {
			s.adopt(q)
		}
	})
	s.recalculate()
	return s, nil
}

// Advance tells the time. It must not go back.
func (s *Scheduler) Advance(now yarn.Now) {
	if s.now.Wall|s.now.Mono == 0 {
		s.started = now.Mono
	}
	s.now = now
}

// part is the index of a partition; every book has room for it afterwards.
func (s *Scheduler) part(label string) part {
	if label == "" {
		return 0
	}
	before := s.books.Partitions()
	p := s.books.PartOf(label)
	if n := s.books.Partitions(); n > before {
		if s.tree != nil {
			s.tree.root.each(func(q *Queue) { q.grow(n) })
		}
		for _, a := range s.apps {
			if a != nil {
				a.grow(n)
			}
		}
	}
	return p
}

// forgetParts takes the indexes of partitions from n on back, which only a
// refused configuration has named.
func (s *Scheduler) forgetParts(n int) {
	if s.books.Partitions() == n {
		return
	}
	s.books.ForgetParts(n)
	s.tree.root.each(func(q *Queue) { q.shrink(n) })
	for _, a := range s.apps {
		if a != nil {
			a.shares = a.shares[:n]
		}
	}
}

// SetLabels replaces the partitions of the cluster; see the facade.
func (s *Scheduler) SetLabels(labels []config.Label) {
	for p := 1; p < s.books.Partitions(); p++ {
		s.books.Partition(part(p)).Known = false
	}
	for _, l := range labels {
		p := s.books.Partition(s.part(l.Name))
		p.Known, p.Exclusive = true, l.Exclusive
	}
	if s.tree != nil {
		s.tree.root.Touch()
	}
}

// maxRefused bounds how often an offer repeats a proposal that is refused where
// the number of containers per heartbeat has no bound.
const maxRefused = 100

// Offer is the opportunity of one heartbeat; see the facade.
func (s *Scheduler) Offer(ref NodeRef, now yarn.Now, out []cluster.Decision) []cluster.Decision {
	s.Advance(now)
	offSwitch, assigned, refused := int32(0), int32(0), 0
	s.passed = 0
	for {
		before := len(out)
		var o proposal
		if o, out = s.offerOnce(ref, out); o.kind != allocated || !s.cfg.MultipleAssignments {
			break
		}
		if o.locality == cluster.OffSwitch {
			offSwitch++
		}
		if offSwitch >= s.cfg.MaxOffSwitch {
			break
		}
		if len(out) == before {
			refused++
		}
		assigned++
		if s.cfg.MaxAssignments != -1 && assigned >= s.cfg.MaxAssignments || refused >= maxRefused || s.passed >= passedKeys {
			break
		}
	}
	if len(s.mastered) > 0 {
		s.noteMasters()
	}
	return out
}

// noteMasters ends the wait for a master where one was placed.
//
// compat: Apache fetches the container of a master by an allocate call of its
// own, which computes a headroom like any other.
func (s *Scheduler) noteMasters() {
	for _, a := range s.mastered {
		a.mastered = true
		s.Headroom(a.ref)
	}
	s.mastered = s.mastered[:0]
}
