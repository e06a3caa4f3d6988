package replica

import (
	"bytes"
	cryptorand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// faultyDisk is a disk whose transactions fail.
type faultyDisk struct {
	*memoryDisk
	full   bool // the next transaction fails, and the member ends
	left   int  // transactions until one fails so; 0: none does
	stored bool // that one is stored all the same
}

var errDisk = errors.New("the test's disk fails")

func (d *faultyDisk) Update(do func(table) error) error {
	if d.full {
		d.full = false
		return errDisk
	}
	fails := d.left == 1
	d.left = max(d.left-1, 0)
	if fails && !d.stored {
		return errDisk
	}
	err := d.memoryDisk.Update(do)
	if fails && err == nil {
		return errDisk
	}
	return err
}

// node is a member in the test.
type node struct {
	name    string
	disk    *faultyDisk
	core    *core // nil: it is down
	next    time.Duration
	paused  bool
	waiting map[uint64]claim // proposals of this process
	owner   string           // of the data, as this one believes; "" if it does not
	epoch   uint64
	looked  uint64 // the entry after which its data was looked at
}

// claim is what a proposal means.
type claim struct {
	key, value string // of an acknowledged change
	epoch      uint64 // under which it is made
	takes      string // it takes the data over for this owner
	owner      string // who makes the change
}

type flight struct {
	m    *pb.Message
	from *node
	data map[string][]byte // of a snapshot
	at   time.Duration     // not before
}

// world is some members with a network, disks and a clock of which everything follows from a seed.
type faultWorld struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Duration
	nodes   []*node
	names   []string
	flights []flight
	cut     map[[2]string]bool
	disks   uint64
	number  uint64
	acked   map[string]string
	owners  map[uint64]string // who has had a change acknowledged in an epoch
	states  map[uint64]uint64 // what the data comes to after an entry
	changes int
	leaders map[string]bool
	mutant  func(*core)
	idle    bool // nobody changes anything
	careful bool // no message is lost, or comes twice
}

// violation is what life panics with.
type violation string

func (w *faultWorld) violated(format string, args ...any) {
	panic(violation(fmt.Sprintf(format, args...)))
}

const electionTime = 100 * time.Millisecond

func newFaultWorld(t *testing.T, seed uint64, members int, mutant func(*core)) *faultWorld {
	w := &faultWorld{t: t, rng: rand.New(rand.NewPCG(seed, 7)), now: time.Second, cut: map[[2]string]bool{}, acked: map[string]string{}, owners: map[uint64]string{},
		states: map[uint64]uint64{}, leaders: map[string]bool{}, mutant: mutant}
	for i := range members {
		w.nodes = append(w.nodes, &node{name: fmt.Sprint("rm", i+1), disk: w.newDisk()})
		w.names = append(w.names, w.nodes[i].name)
	}
	for _, n := range w.nodes {
		w.start(n)
	}
	first := w.nodes[0]
	if err := first.core.found(w.there(first), w.now); err != nil {
		t.Fatal(err)
	}
	return w
}

// lives is life, which tells what was violated.
func (w *faultWorld) lives(steps int) (wrong string) { return w.tried(func() { w.life(steps) }) }

// tried tells what was violated.
func (w *faultWorld) tried(do func()) (wrong string) {
	defer func() {
		if x := recover(); x != nil {
			v, ok := x.(violation)
			if !ok {
				panic(x)
			}
			wrong = string(v)
		}
	}()
	do()
	return ""
}

func (w *faultWorld) newDisk() *faultyDisk {
	w.disks++
	return &faultyDisk{memoryDisk: newMemoryDisk(w.disks, "data")}
}

func (w *faultWorld) start(n *node) {
	n.waiting, n.owner, n.paused, n.looked = map[uint64]claim{}, "", false, 0
	n.core = &core{disk: n.disk, buckets: []string{"data"}, log: logger{slog.New(slog.NewTextHandler(io.Discard, nil))}, timeout: electionTime,
		send: func(m *pb.Message) { w.post(n, m) }, holds: func(time.Duration) {}}
	n.core.keep.entries, n.core.keep.bytes = 20, 1<<20
	if err := n.core.begin(w.now); err != nil {
		w.violated("%v", err)
	}
	if w.mutant != nil {
		w.mutant(n.core)
	}
	n.next = w.now + time.Duration(w.rng.Int64N(int64(electionTime/electionTicks)))
}

// there are the disks of those that a member is in touch with.
func (w *faultWorld) there(n *node) map[string]uint64 {
	out := map[string]uint64{}
	for _, x := range w.nodes {
		if x.core != nil && !x.paused && !w.isCut(n, x) {
			out[x.name] = x.core.kept.disk
		}
	}
	return out
}

func (w *faultWorld) isCut(a, b *node) bool {
	return a != b && w.cut[[2]string{min(a.name, b.name), max(a.name, b.name)}]
}

func (w *faultWorld) post(n *node, m *pb.Message) {
	f := flight{m: m, from: n, at: w.now + time.Duration(w.rng.Int64N(int64(electionTime/20)))}
	if m.GetType() == pb.MsgSnap {
		f.m = proto.CloneOf(m)
		members := n.disk.values[ownBucket][membersKey]
		f.m.Snapshot = &pb.Snapshot{Data: members, Metadata: metadata(n.core.applied, n.core.voters)}
		f.data = maps.Clone(n.disk.values["data"])
	}
	w.flights = append(w.flights, f)
}

func (w *faultWorld) end(n *node) {
	n.core, n.waiting, n.owner = nil, nil, ""
}

// advance has a member do what is due, and looks at the invariants.
func (w *faultWorld) advance(n *node) {
	if err := n.core.advance(); err != nil {
		if !errors.Is(err, errDisk) {
			w.violated("%s: %v", n.name, err)
		}
		w.end(n)
		return
	}
	for _, d := range n.core.done {
		c, ok := n.waiting[d.number]
		delete(n.waiting, d.number)
		switch {
		case !ok:
		case d.err != nil && c.takes == "" && c.owner == n.owner:
			n.owner = "" // fenced
		case d.err != nil:
		case c.takes != "":
			n.owner, n.epoch = c.takes, c.epoch
		default:
			if had := w.owners[c.epoch]; had != "" && had != c.owner {
				w.violated("both %s and %s change the data in epoch %d", had, c.owner, c.epoch)
			}
			w.owners[c.epoch] = c.owner
			w.acked[c.key] = c.value
			w.changes++
		}
	}
	n.core.done = nil
	if !n.core.leads() && len(n.waiting) > 0 {
		clear(n.waiting)
	}
	if n.core.applied.index == n.looked {
		w.leases()
		return
	}
	n.looked = n.core.applied.index
	h := fnv.New64a()
	for _, k := range slices.Sorted(maps.Keys(n.disk.values["data"])) {
		fmt.Fprintf(h, "%q=%q;", k, n.disk.values["data"][k])
	}
	if had, ok := w.states[n.core.applied.index]; ok && had != h.Sum64() {
		w.violated("%s has other data than another member had after entry %d", n.name, n.core.applied.index)
	}
	w.states[n.core.applied.index] = h.Sum64()
	w.leases()
}

func (w *faultWorld) leases() {
	var holds []string
	for _, n := range w.nodes {
		if n.core != nil && w.now < n.core.lease {
			holds = append(holds, n.name)
			w.leaders[n.name] = true
		}
	}
	if len(holds) > 1 {
		w.violated("%v have a lease at the same moment", holds)
	}
}

// step lets one thing happen.
func (w *faultWorld) step() {
	w.now += time.Duration(w.rng.Int64N(int64(electionTime / 60)))
	w.leases()
	for _, n := range w.nodes {
		if n.core != nil && !n.paused && w.now >= n.next {
			n.core.tick(w.now)
			n.next = max(n.next+electionTime/electionTicks, w.now) // ticks that were missed are not made up for
			if w.rng.IntN(8) == 0 {
				if err := n.core.tend(w.names, w.there(n)); err != nil {
					w.t.Log(err)
				}
			}
			w.advance(n)
		}
	}
	for range 4 * len(w.nodes) / 3 {
		w.deliver()
	}
	if !w.idle {
		w.client(w.nodes[w.rng.IntN(len(w.nodes))])
	}
}

func (w *faultWorld) deliver() {
	var due []int
	for i, f := range w.flights {
		if f.at <= w.now {
			due = append(due, i)
		}
	}
	if len(due) == 0 {
		return
	}
	i := due[w.rng.IntN(len(due))]
	f := w.flights[i]
	to := w.to(f.m)
	if to != nil && to.paused { // it waits in the connection
		if w.rng.IntN(50) > 0 {
			return
		}
	}
	if w.careful || w.rng.IntN(40) > 0 { // else it comes once more
		w.flights = slices.Delete(w.flights, i, i+1)
	}
	gone := to == nil || to.core == nil || to.paused || w.isCut(f.from, to) || !w.careful && w.rng.IntN(50) == 0
	if f.m.GetType() == pb.MsgSnap && f.from.core != nil {
		status := failure
		if !gone {
			status = 1
		}
		f.from.core.node.ReportSnapshot(f.m.GetTo(), status)
	}
	if gone {
		if f.from.core != nil {
			f.from.core.node.ReportUnreachable(f.m.GetTo())
		}
		return
	}
	m := proto.CloneOf(f.m)
	if f.data != nil {
		to.core.install = func(put func(bucket, key string, value []byte) error) error {
			for _, k := range slices.Sorted(maps.Keys(f.data)) {
				if err := put("data", k, f.data[k]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	to.core.step(m, w.now)
	w.advance(to)
	if to.core != nil {
		to.core.install = nil
	}
}

func (w *faultWorld) to(m *pb.Message) *node {
	for _, n := range w.nodes {
		if n.core != nil && n.core.kept.disk == m.GetTo() {
			return n
		}
	}
	return nil
}

// client takes the data over where it may, and changes it.
func (w *faultWorld) client(n *node) {
	if n.core == nil || n.paused || !n.core.leads() || len(n.waiting) > 5 {
		return
	}
	w.number++
	var b Batch
	c := claim{}
	if n.owner == "" {
		text := n.disk.values["data"]["epoch"]
		if text == nil {
			text = []byte{}
		}
		c.takes = fmt.Sprintf("%s-%d", n.name, w.number)
		had, _ := strconv.ParseUint(string(text), 10, 64) // "" is 0
		c.epoch = had + 1
		cond := Condition{"data", "epoch", text}
		if len(text) == 0 {
			cond.Value = nil
		}
		b = Batch{If: []Condition{cond}, Changes: []Change{{Bucket: "data", Key: "epoch", Value: fmt.Append(nil, c.epoch)}, {Bucket: "data", Key: "owner", Value: []byte(c.takes)}}}
	} else {
		c.key, c.value, c.epoch, c.owner = fmt.Sprintf("k%03d", w.number%100), fmt.Sprintf("%09d", w.number), n.epoch, n.owner
		b = Batch{If: []Condition{{"data", "owner", []byte(n.owner)}}, Changes: []Change{{Bucket: "data", Key: c.key, Value: []byte(c.value)}}}
	}
	data, err := b.encode(w.number)
	if err != nil {
		w.violated("%v", err)
	}
	if err := n.core.propose(data); err == nil {
		n.waiting[w.number] = c
		w.advance(n)
	}
}

// mischief happens to the members, but never takes what most of them have away.
func (w *faultWorld) mischief() {
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	switch w.rng.IntN(12) {
	case 0, 1:
		if n.core != nil {
			w.end(n)
		}
	case 2, 3:
		for _, n := range w.nodes {
			if n.core == nil {
				w.start(n)
			}
		}
	case 4:
		o := w.nodes[w.rng.IntN(len(w.nodes))]
		w.cut[[2]string{min(n.name, o.name), max(n.name, o.name)}] = true
	case 5:
		for _, o := range w.nodes {
			w.cut[[2]string{min(n.name, o.name), max(n.name, o.name)}] = true
		}
	case 6, 7:
		clear(w.cut)
	case 8:
		n.paused = n.core != nil
	case 9:
		for _, n := range w.nodes {
			n.paused = false
		}
	case 10:
		if n.core != nil && !n.paused {
			n.core.handOver(0)
			w.advance(n)
		}
	case 11:
		if n.core != nil {
			n.disk.full = true
		}
	}
}

func (w *faultWorld) heal() {
	clear(w.cut)
	for _, n := range w.nodes {
		n.disk.full, n.paused = false, false
		if n.core == nil {
			w.start(n)
		}
	}
}

// voters tells whether all members that run have a vote, and there is a leader.
func (w *faultWorld) whole() bool {
	for _, n := range w.nodes {
		if n.core != nil && n.core.leads() && w.now < n.core.lease && n.core.applied.index == n.core.hard.GetCommit() {
			for _, o := range w.nodes {
				if o.core == nil || !slices.Contains(n.core.voters.GetVoters(), o.core.kept.disk) || o.core.applied != n.core.applied {
					return false
				}
			}
			return len(n.core.voters.GetVoters()) == len(w.nodes)
		}
	}
	return false
}

func (w *faultWorld) untilWhole(what string) {
	for range 30_000 {
		if w.whole() {
			return
		}
		w.step()
	}
	for _, n := range w.nodes {
		if n.core != nil {
			w.t.Logf("%s: disk %d, %+v, voters %v, members %v, applied %v, hard %v", n.name, n.core.kept.disk, n.core.node.BasicStatus(), n.core.voters, n.core.members, n.core.applied, n.core.hard)
		}
	}
	w.violated("%s: the members do not agree again", what)
}

// life is a run of so many steps.
func (w *faultWorld) life(steps int) {
	w.untilWhole("founding")
	for i := range steps {
		w.step()
		if w.rng.IntN(60) == 0 {
			w.mischief()
		}
		if i%2000 == 1999 { // a disk is lost while all is well
			w.heal()
			w.untilWhole("before a disk is lost")
			n := w.nodes[w.rng.IntN(len(w.nodes))]
			w.end(n)
			n.disk = w.newDisk()
			w.start(n)
			if w.rng.IntN(2) == 0 { // while another one is away for a while
				o := w.nodes[(slices.Index(w.nodes, n)+1)%len(w.nodes)]
				w.end(o)
				for range 300 {
					w.step()
				}
				w.start(o)
			}
			w.untilWhole("after a disk was lost")
		}
	}
	w.nothingLost()
}

// nothingLost lets all members be well again, and sees that they have what was acknowledged.
func (w *faultWorld) nothingLost() {
	w.heal()
	w.untilWhole("the end")
	for _, n := range w.nodes {
		for k, v := range w.acked {
			if got := n.disk.values["data"][k]; bytes.Compare(got, []byte(v)) < 0 { // a later one may have been made that was not acknowledged
				w.violated("%s was acknowledged, and %s has %q instead of %q", k, n.name, got, v)
			}
		}
	}
}

// seeds is how many lives TestFaults lives.
const seeds = 4

// seeded makes the draws of raft's library follow from a seed, too.
func seeded(t *testing.T, seed uint64) {
	was := cryptorand.Reader
	var s [32]byte
	binary.LittleEndian.PutUint64(s[:], seed)
	cryptorand.Reader = rand.NewChaCha8(s)
	t.Cleanup(func() { cryptorand.Reader = was })
}

// TestFaults: whatever happens to three or five members, nothing that was acknowledged is lost, all have the same data, no two have a lease at the same moment, and no two
// change the data in the same epoch. Everything follows from the seed.
func TestFaults(t *testing.T) {
	changes := 0
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			seeded(t, seed)
			w := newFaultWorld(t, seed, 3+2*int(seed%2), nil)
			if wrong := w.lives(4000); wrong != "" {
				t.Fatal(wrong)
			}
			changes += w.changes
			if len(w.leaders) < 2 || w.changes < 100 {
				t.Errorf("%d changes, leaders %v: nothing has happened", w.changes, w.leaders)
			}
		})
	}
	t.Logf("%d changes were acknowledged", changes)
}

// TestLongLease: a lease that is longer than the others' patience is found by the same lives.
func TestLongLease(t *testing.T) {
	const seed = 5 // one of those that find it
	seeded(t, seed)
	if wrong := newFaultWorld(t, seed, 3, func(c *core) { c.lasts *= 4 }).lives(4000); !strings.Contains(wrong, "have a lease at the same moment") {
		t.Errorf("it is not found: %q", wrong)
	}
}

// TestVotesAfterStart: a member that has promised the leader something and starts again does not make another one the leader while the lease lasts.
func TestVotesAfterStart(t *testing.T) {
	for name, c := range map[string]struct {
		mutant func(*core)
		wrong  bool
	}{"as it is": {nil, false}, "without a pause after the start": {func(c *core) { c.quiet = 0 }, true}} {
		seeded(t, 1)
		wrong := ""
		for seed := uint64(0); seed < 150 && wrong == ""; seed++ {
			wrong = newFaultWorld(t, seed, 3, c.mutant).restart()
		}
		if (wrong != "") != c.wrong {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// restart lets the one member start again that both others reach, which do not reach each other.
func (w *faultWorld) restart() (wrong string) {
	defer func() {
		if x := recover(); x != nil {
			wrong = string(x.(violation))
		}
	}()
	w.untilWhole("founding")
	w.idle = true // so that all logs are the same
	leads := slices.IndexFunc(w.nodes, func(n *node) bool { return n.core.leads() })
	a, b, c := w.nodes[leads], w.nodes[(leads+1)%3], w.nodes[(leads+2)%3]
	for range 3 {
		w.cut[[2]string{min(a.name, c.name), max(a.name, c.name)}] = true
		for range 300 {
			w.step()
		}
		for range 1000 {
			if a.core.lease > w.now+electionTime*6/10 {
				break
			}
			w.step()
		}
		w.end(b)
		w.cut[[2]string{min(a.name, b.name), max(a.name, b.name)}] = true
		w.start(b)
		for range 200 {
			w.step()
		}
		w.heal()
		w.untilWhole("after a start")
		if !a.core.leads() {
			return ""
		}
	}
	return ""
}

// TestEveryTransaction: each member in turn ends before and after each of its transactions while the data is changed, and starts again.
func TestEveryTransaction(t *testing.T) {
	ended := 0
	for member := range 3 {
		for _, stored := range []bool{false, true} {
			for at, reached := 1, true; reached; at++ {
				seeded(t, 1)
				w := newFaultWorld(t, 1, 3, nil)
				n := w.nodes[member]
				wrong := w.tried(func() {
					w.untilWhole("founding")
					n.disk.left, n.disk.stored = at, stored
					for range 150 {
						if w.step(); n.core == nil {
							w.start(n)
						}
					}
					if reached = n.disk.left == 0; reached {
						ended++
					}
					n.disk.left = 0
					w.nothingLost()
				})
				if wrong != "" {
					t.Fatalf("member %d ends at transaction %d, stored: %t: %s", member, at, stored, wrong)
				}
			}
		}
	}
	t.Logf("%d ends", ended)
	if ended < 100 {
		t.Errorf("%d ends: nothing has happened", ended)
	}
}
