package blackbox

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// beat is a heartbeat of about 300 bytes.
func beat(i int) *engine.Heartbeat {
	return &engine.Heartbeat{Ticket: engine.Ticket(i), Node: yarn.NodeID{Host: fmt.Sprintf("host%d", i%100), Port: 1}, ResponseID: int32(i),
		Health: engine.Health{Healthy: true, Report: strings.Repeat("x", 250)}}
}

// fill adds that many heartbeats.
func fill(r *Recorder, from, count int) {
	for i := from; i < from+count; i++ {
		r.Add(yarn.Now{Wall: 5000 + int64(i)*3, Mono: int64(i) * 3}, beat(i))
		r.Carried(&engine.Effects{Replies: []engine.Reply{{Ticket: engine.Ticket(i)}}})
	}
}

// read reads a file to its end, which must be there.
func read(t *testing.T, name string) (list []*Recorded, end *End) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := NewReader(f, "file")
	if err != nil {
		t.Fatal(err)
	}
	for {
		x, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, r.End
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
}

// expect compares heartbeats with those of fill.
func expect(t *testing.T, list []*Recorded, from, to int) {
	t.Helper()
	if len(list) != to-from {
		t.Fatalf("%d commands, want %d to %d", len(list), from, to)
	}
	for i, x := range list {
		n := from + i
		if x.Number != uint64(n) || x.Now.Mono != int64(n)*3 || x.Now.Wall != 5000+int64(n)*3 || !reflect.DeepEqual(x.Step, beat(n)) {
			t.Fatalf("command %d is %+v", n, x)
		}
	}
}

// The ring keeps the last commands within its bound, and says how many it has dropped.
func TestRing(t *testing.T) {
	const ring = 1 << 20
	r := NewRecorder(Header{}, Options{Ring: ring})
	dir := t.TempDir()
	total := 0
	for range 10 {
		fill(r, total, 1000)
		total += 1000
		held := cap(r.open.data)
		for _, b := range r.ring[:len(r.ring)-1] {
			held += cap(b.data)
		}
		if held > ring {
			t.Fatalf("the ring holds %d bytes", held)
		}
		s := r.Snapshot(End{State: 7, Looked: true})
		name, err := s.Save(dir)
		if err != nil {
			t.Fatal(err)
		}
		list, end := read(t, name)
		expect(t, list, int(r.Missing()), total)
		if end == nil || end.State != 7 || end.Commands != uint64(total) || s.Commands() != uint64(len(list)) {
			t.Fatalf("end %+v", end)
		}
		if total == 1000 && r.Missing() != 0 {
			t.Fatal("the first commands are missing")
		}
	}
	if kept := uint64(total) - r.Missing(); r.Missing() == 0 || kept < 2500 {
		t.Errorf("%d are missing, %d kept", r.Missing(), kept)
	}
	info, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(info) != MaxFiles {
		t.Errorf("%d files: %v", len(info), err)
	}
	for _, name := range info {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, st, err)
		}
	}
}

// A command that is larger than the ring is not kept, and does not stay in memory.
func TestLargeCommand(t *testing.T) {
	r := NewRecorder(Header{}, Options{Ring: 1 << 20})
	fill(r, 0, 10)
	r.Add(yarn.Now{}, engine.LaunchFailed{Why: strings.Repeat("y", 2<<20)})
	fill(r, 11, 2)
	if r.Missing() != 11 || len(r.ring) != 1 || cap(r.open.data) > 2*blockBytes || r.bytes != 0 {
		t.Errorf("%d are missing, %d blocks, %d bytes", r.Missing(), len(r.ring), r.bytes)
	}
}

// A restart with very many applications is not even put together, unless all commands are written to a file.
func TestLargeRestart(t *testing.T) {
	restart := engine.Recover{Applications: make([]engine.RecoveredApplication, 40_000)}
	for i := range restart.Applications {
		restart.Applications[i].Submission, restart.Applications[i].Record = &engine.Submission{Name: "a usual name"}, &state.Application{}
	}
	r := NewRecorder(Header{}, Options{Ring: 1 << 20})
	fill(r, 0, 10)
	r.Add(yarn.Now{}, restart)
	r.Carried(&engine.Effects{Saves: []engine.Save{{Seq: 7}}})
	if r.Missing() != 11 || len(r.ring) != 1 || len(r.open.data) != 0 || r.open.before != r.sum {
		t.Fatalf("%d are missing, %d blocks, %d bytes", r.Missing(), len(r.ring), len(r.open.data))
	}
	fill(r, 11, 2)
	name, err := r.Snapshot(End{}).Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	list, _ := read(t, name)
	expect(t, list, 11, 13)
	restart.Applications = restart.Applications[:100]
	if r.Add(yarn.Now{}, restart); r.Missing() != 11 || r.Commands() != 14 {
		t.Errorf("of a small one: %d of %d are missing", r.Missing(), r.Commands())
	}
}

// What happens after a snapshot does not change it.
func TestSnapshotStays(t *testing.T) {
	r := NewRecorder(Header{}, Options{})
	fill(r, 0, 10)
	s := r.Snapshot(End{})
	fill(r, 10, 1000)
	name, err := s.Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	list, _ := read(t, name)
	expect(t, list, 0, 10)
}

// A tape has all commands, those before it began, too; it needs the first.
func TestTape(t *testing.T) {
	r := NewRecorder(Header{}, Options{Ring: 1 << 20, Dir: t.TempDir()})
	fill(r, 0, 1000)
	tape, err := r.NewTape(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Attach(tape); err != nil {
		t.Fatal(err)
	}
	other, err := r.NewTape(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Attach(other); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second tape: %v", err)
	}
	fill(r, 1000, 9000)
	state, err := r.Detach(End{State: 9, Looked: true})()
	if err != nil || state.Full != "" {
		t.Fatal(state, err)
	}
	list, end := read(t, state.File)
	expect(t, list, 0, 10000)
	if end == nil || end.State != 9 || end.Commands != 10000 {
		t.Errorf("end %+v", end)
	}
	if err := r.Attach(other); !errors.Is(err, ErrBegun) {
		t.Errorf("a tape without the first commands: %v", err)
	}
	if err := other.Discard(); err != nil {
		t.Error(err)
	}
}

// A full tape ends, and says so; the loop goes on.
func TestFullTape(t *testing.T) {
	r := NewRecorder(Header{}, Options{Dir: t.TempDir()})
	tape, err := r.NewTape(1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Attach(tape); err != nil {
		t.Fatal(err)
	}
	fill(r, 0, 10000)
	state, err := r.Detach(End{State: 9, Looked: true})()
	if err != nil || !strings.Contains(state.Full, "full") && !strings.Contains(state.Full, "slow") {
		t.Fatal(state, err)
	}
	list, end := read(t, state.File)
	expect(t, list, 0, len(list))
	if len(list) == 0 || len(list) == 10000 || end == nil || end.Truncated != state.Full || end.Looked {
		t.Errorf("%d commands, end %+v", len(list), end)
	}
	if state.Bytes > 200_000 {
		t.Errorf("%d bytes", state.Bytes)
	}
}

// sample is a small recording.
func sample(t testing.TB) []byte {
	r := NewRecorder(Header{Settings: engine.Settings{Pages: "http://h"}}, Options{})
	fill(r, 0, 500)
	name, err := r.Snapshot(End{State: 1, Looked: true, Panic: "x"}).Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readAll reads what it can, and returns how far it came.
func readAll(b []byte) (steps int, end *End, err error) {
	r, err := NewReader(bytes.NewReader(b), "file")
	if err != nil {
		return 0, nil, err
	}
	for {
		x, err := r.Next()
		if errors.Is(err, io.EOF) {
			return steps, r.End, nil
		}
		if err != nil {
			return steps, r.End, err
		}
		if h, ok := x.Step.(*engine.Heartbeat); ok && len(h.Health.Report) == 250 && !reflect.DeepEqual(h, beat(int(x.Number))) {
			return steps, r.End, fmt.Errorf("step %d is wrong: %+v", steps, h)
		}
		steps++
	}
}

// frames packs frames into a file.
func frames(t testing.TB, payloads ...[]byte) []byte {
	name := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(f)
	for _, p := range payloads {
		w.frame(p)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Damage is an error, or the end of the recording where it begins; never a wrong command.
func TestDamage(t *testing.T) {
	whole := sample(t)
	steps, want, err := readAll(whole)
	if steps != 500 || want == nil || err != nil {
		t.Fatal(steps, want, err)
	}
	for n := 0; n < len(whole); n += 1 + n/20 {
		if steps, end, err := readAll(whole[:n]); steps > 500 || end != nil && n < len(whole)-20 {
			t.Errorf("%d bytes gave %d steps, %v, %v", n, steps, end, err)
		}
		spoilt := bytes.Clone(whole)
		spoilt[n] ^= 0x10
		if steps, end, err := readAll(spoilt); steps > 500 || err == nil && end != nil && *end != *want {
			t.Errorf("a bit of byte %d gave %d steps, %v", n, steps, end)
		}
	}
	header := appendValue(appendUint(appendString([]byte{frameHeader}, "abc"), format), reflect.ValueOf(Header{}))
	block := func(first, count uint64, data ...byte) []byte {
		b := []byte{frameBlock}
		for _, x := range []uint64{first, count, 0, 0} {
			b = appendUint(b, x)
		}
		return append(b, data...)
	}
	tick := appendCommand([]byte{0, 0}, engine.Tick{})
	for what, c := range map[string]struct {
		file []byte
		says string
	}{
		"nothing":         {nil, "is no recording"},
		"text":            {[]byte("hello, this is something else"), "is no recording"},
		"no gzip":         {[]byte(Magic + "hello hello hello"), "damaged"},
		"no header":       {frames(t, block(0, 1, tick...)), "damaged"},
		"other form":      {frames(t, appendUint(appendString([]byte{frameHeader}, "abc"), format+1)), "(commit \"abc\"): only the same commit plays it"},
		"long header":     {frames(t, append(bytes.Clone(header), 0)), "damaged"},
		"unknown frame":   {frames(t, header, []byte{'?'}), "damaged"},
		"empty frame":     {frames(t, header, nil), "damaged"},
		"unknown command": {frames(t, header, block(0, 1, 0, 0, 99)), "damaged: command 0"},
		"too many":        {frames(t, header, block(0, 1<<60, tick...)), "damaged"},
		"too few":         {frames(t, header, block(0, 1, append(bytes.Clone(tick), tick...)...)), "damaged"},
		"a gap":           {frames(t, header, block(0, 1, tick...), block(2, 1, tick...)), "a part of it is missing"},
		"a huge slice":    {frames(t, header, block(0, 1, append([]byte{0, 0, 2, 0, 0, 0, 0, 0, 0, 0}, appendUint(nil, 1<<40)...)...)), "damaged"},
	} {
		if _, _, err := readAll(c.file); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func appendUint(b []byte, x uint64) []byte {
	for ; x >= 0x80; x >>= 7 {
		b = append(b, byte(x)|0x80)
	}
	return append(b, byte(x))
}

// Values that need far more memory than their bytes are refused.
func TestMemoryOfValues(t *testing.T) {
	d := newDecoder(appendCommand(nil, &engine.Allocate{Asks: make([]yarn.Ask, 10)}))
	d.left = 100
	if d.command(); !errors.Is(d.err, errLarge) {
		t.Errorf("10 asks in 100 bytes: %v", d.err)
	}
}

func FuzzReader(f *testing.F) {
	whole := sample(f)
	f.Add(whole, false)
	zip, err := gzip.NewReader(bytes.NewReader(whole[len(Magic):]))
	if err != nil {
		f.Fatal(err)
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain[8:2000], true)
	f.Fuzz(func(t *testing.T, b []byte, block bool) {
		if block { // what a checksum would keep away
			d := newDecoder(b)
			for d.err == nil && len(d.b) > 0 {
				d.command()
			}
			d = newDecoder(b)
			d.value(reflect.ValueOf(new(Header)).Elem())
			return
		}
		_, _, _ = readAll(b)
	})
}

// BenchmarkAdd is what keeping a command costs.
func BenchmarkAdd(b *testing.B) {
	for name, c := range map[string]engine.Command{
		"idle heartbeat": &engine.Heartbeat{Ticket: 1 << 33, Node: yarn.NodeID{Host: "host1234.example.org", Port: 45454}, ResponseID: 1000, Health: engine.Health{Healthy: true}},
		"heartbeat of 5": &engine.Heartbeat{Ticket: 1 << 33, Node: yarn.NodeID{Host: "host1234.example.org", Port: 45454}, ResponseID: 1000,
			Containers: make([]engine.ContainerStatus, 5)},
		"allocate": &engine.Allocate{Ticket: 1 << 33, Attempt: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1_700_000_000_000, Sequence: 1000}, Attempt: 1},
			Asks: []yarn.Ask{{Where: "*", Capability: yarn.NewResource(1024, 1), Count: 10}}},
		"tick": engine.Tick{},
	} {
		b.Run(name, func(b *testing.B) {
			r := NewRecorder(Header{}, Options{})
			fx := engine.Effects{Replies: []engine.Reply{{Ticket: 1, Value: &engine.HeartbeatReply{}}}}
			now := yarn.Now{Wall: 1_700_000_000_000, Mono: 1}
			b.ReportAllocs()
			for b.Loop() {
				now.Mono++
				now.Wall++
				r.Add(now, c)
				r.Carried(&fx)
			}
			b.ReportMetric(float64(len(r.open.data))/float64(max(r.open.count, 1)), "bytes/command")
		})
	}
}
