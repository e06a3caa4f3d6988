package labelfiles

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/state"
)

const (
	earlier = "fast gpu h1:0=gpu h1:8041=fast h22:0=fast"
	current = "fast gpu:shared old h1:0=gpu h1:8041=fast h2:0=gpu h33:0=old h4:0=fast"
)

// changed is a directory after two changes: the mirror of the first, that of the
// last, and the witness of the last.
func changed(t *testing.T) (p *place, first, last, witness []byte) {
	t.Helper()
	p = newPlace(t)
	s, err := Open(t.Context(), p.o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		labels string
		mirror *[]byte
	}{{earlier, &first}, {current, &last}} {
		if err := s.Commit(t.Context(), []state.Op{put(x.labels)}); err != nil {
			t.Fatal(err)
		}
		*x.mirror, _ = os.ReadFile(p.file(mirrorFile))
	}
	witness, _ = os.ReadFile(p.file(witnessFile))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return p, first, last, witness
}

// verdict says what came of a mirror, nil for none, beside the witness.
func (p *place) verdict(mirror, witness []byte, want ...string) string {
	p.t.Helper()
	if err := os.RemoveAll(p.o.URL.Path); err != nil {
		p.t.Fatal(err)
	}
	if mirror != nil {
		p.write(mirrorFile, mirror)
	}
	if witness != nil {
		p.write(witnessFile, witness)
	}
	got, err := p.load()
	if err != nil {
		after, _ := os.ReadFile(p.file(mirrorFile))
		if !errors.As(err, new(*DamageError)) || !strings.Contains(err.Error(), p.file(mirrorFile)) || !strings.Contains(err.Error(), "-repair-state-store") || !bytes.Equal(after, mirror) {
			p.t.Errorf("refused with %v", err)
		}
		return "refused"
	}
	for _, w := range want {
		if got == w {
			return "harmless"
		}
	}
	return "silent: " + got
}

// Any bit of the mirror, or of what tells which was the last.
func TestFlips(t *testing.T) {
	p, first, last, witness := changed(t)
	refused := 0
	for i := range last {
		b := bytes.Clone(last)
		b[i] ^= 1 << (i % 8)
		switch v := p.verdict(b, witness, current); v {
		case "refused":
			refused++
		case "harmless":
		default:
			t.Errorf("byte %d: %s", i, v)
		}
	}
	if refused < len(last)*9/10 {
		t.Errorf("%d of %d flips are refused", refused, len(last))
	}
	for i := range witness {
		w := bytes.Clone(witness)
		w[i] ^= 1 << (i % 8)
		if v := p.verdict(last, w, current); v != "harmless" {
			t.Errorf("byte %d of the witness: %s", i, v)
		}
	}
	for n := range last {
		if v := p.verdict(last[:n], witness); v != "refused" {
			t.Errorf("cut at byte %d: %s", n, v)
		}
		b := bytes.Clone(last)
		clear(b[n:])
		if v := p.verdict(b, witness, current); strings.HasPrefix(v, "silent") {
			t.Errorf("zeros from byte %d: %s", n, v)
		}
	}
	for name, b := range map[string][]byte{"gone": nil, "empty": {}, "an older one": first, "longer": append(bytes.Clone(last), 0), "zeros": make([]byte, len(last))} {
		if v := p.verdict(b, witness); v != "refused" {
			t.Errorf("%s: %s", name, v)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b := bytes.Clone(last)
		from := rng.IntN(len(b))
		for i := range b[from : from+rng.IntN(len(b)-from)] {
			b[from+i] = byte(rng.Uint32())
		}
		if v := p.verdict(b, witness, current); strings.HasPrefix(v, "silent") {
			t.Errorf("garbage from byte %d: %s", from, v)
		}
	}
}

// A change may end anywhere: between the mirror and the witness, too.
func TestCrashes(t *testing.T) {
	p, first, last, witness := changed(t)
	before := []byte(strings.Replace(string(witness), "1 3 ", "1 2 ", 1)) // whose sum is wrong: it only shows that there was a mirror
	for name, x := range map[string][2][]byte{
		"no witness":         {last, nil},
		"the witness before": {last, before},
		"no witness, before": {first, nil},
	} {
		if v := p.verdict(x[0], x[1], current, earlier); v != "harmless" {
			t.Errorf("%s: %s", name, v)
		}
	}
	if v := p.verdict(first, []byte{}, earlier); v != "harmless" {
		t.Errorf("an empty witness: %s", v)
	}
}

// Apache's ResourceManager has written the mirror since: it is taken over.
func TestApachesMirrorBesideAWitness(t *testing.T) {
	p, _, _, witness := changed(t)
	want := strings.Replace(fromLog, "h3:0=ssd h3:9=", "h3:0=ssd", 1)
	if v := p.verdict(recorded(t, "mirror"), witness, want); v != "harmless" {
		t.Fatal(v)
	}
	p.loads(want)
	b, _ := os.ReadFile(p.file(mirrorFile))
	if number, sealed, err := checkSeal(b); number != 4 || !sealed || err != nil {
		t.Errorf("number %d, sealed %t, %v", number, sealed, err)
	}
}

func TestRepair(t *testing.T) {
	p, _, last, witness := changed(t)
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	flipped := bytes.Clone(last)
	flipped[bytes.Index(last, []byte("h33"))] ^= 1
	for _, c := range []struct {
		name   string
		mirror []byte
		want   string
		aside  int
	}{
		{"a host's name", flipped, strings.Replace(current, "h33:0=old h4:0=fast", "h4:0=fast i33:0=old", 1), 1},
		{"half", last[:len(last)/2], "fast gpu:shared", 1},
		{"gone", nil, "", 0},
	} {
		if v := p.verdict(c.mirror, witness); v != "refused" {
			t.Fatalf("%s: %s", c.name, v)
		}
		r, err := Check(t.Context(), p.o)
		if err != nil || r.Damage == nil || r.WantLabels != 3 || r.Nodes != 5 || len(r.Aside) > 0 {
			t.Errorf("%s: checked %+v, %v", c.name, r, err)
		}
		r, err = Repair(t.Context(), p.o, noon)
		if err != nil || r.Damage == nil || len(r.Aside) != c.aside {
			t.Fatalf("%s: repaired %+v, %v", c.name, r, err)
		}
		if c.aside > 0 {
			if b, err := os.ReadFile(p.file(mirrorFile + ".damaged-20260102T120000Z")); err != nil || !bytes.Equal(b, c.mirror) {
				t.Errorf("%s: the damaged file is not beside it: %v", c.name, err)
			}
		}
		got, err := p.load()
		if err != nil || got != c.want && !strings.HasPrefix(c.want, "fast gpu:shared") {
			t.Errorf("%s: %q is left (%v), want %q", c.name, got, err, c.want)
		}
		if r, err = Check(t.Context(), p.o); err != nil || r.Damage != nil || !reflect.DeepEqual(text(r.Readable), got) {
			t.Errorf("%s: after the repair %+v, %v", c.name, r, err)
		}
	}
	if _, err := Check(t.Context(), Options{Systems: p.o.Systems, URL: p.o.URL.At(filepath.Join(p.o.URL.Path, "none"))}); err == nil {
		t.Error("a directory that is not there is whole")
	}
}

// failing is a file system of which no file can be read to its end.
type failing struct{ filesystem.FileSystem }

var errAway = errors.New("the disk does not answer")

func (f failing) Open(path string) (io.ReadCloser, error) {
	file, err := f.FileSystem.Open(path)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(file, 10), iotest.ErrReader(errAway)), file}, nil
}

// What cannot be read is not taken for damaged: nothing is repaired, or left out as
// the torn end of a log.
func TestUnreadable(t *testing.T) {
	p, mirror, _, _ := changed(t)
	log := append([]byte{0, 0, 0, added, 100}, mirror...)
	for file, content := range map[string][]byte{mirrorFile: mirror, logFile: log} {
		if err := os.RemoveAll(p.o.URL.Path); err != nil {
			t.Fatal(err)
		}
		p.write(file, content)
		sys, err := p.o.Systems.Connect(t.Context(), p.o.URL, "")
		if err != nil {
			t.Fatal(err)
		}
		f := &files{o: p.o}
		err = f.look(failing{sys}, &Report{})
		if errors.As(err, new(*DamageError)) || !errors.Is(err, errAway) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
		if err := sys.Close(); err != nil {
			t.Error(err)
		}
	}
}
