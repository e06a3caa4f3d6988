package rerun

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/sim"
	"github.com/heddle-project/heddle/yarn"
)

// queues are three leaves, of which two share a parent's room.
func queues() []config.Property {
	var out []config.Property
	for _, p := range [][2]string{{"root.queues", "a,b,c"}, {"root.a.capacity", "50"}, {"root.b.capacity", "30"}, {"root.c.capacity", "20"},
		{"root.a.maximum-capacity", "100"}, {"root.b.maximum-capacity", "80"}, {"maximum-am-resource-percent", "0.5"}} {
		out = append(out, config.Property{Name: config.Prefix + p[0], Value: p[1]})
	}
	return out
}

// command runs sim rerun.
func command(args ...string) (code int, stdout, stderr string) {
	var out, bad bytes.Buffer
	code = Main(args, &out, &bad)
	return code, out.String(), bad.String()
}

// calls is a recording of so many calls, whose consequences are changed before they are noted.
func calls(t *testing.T, count int, o blackbox.Options, change func(*engine.Effects), last ...any) (*blackbox.Recorder, *engine.Engine) {
	t.Helper()
	cfg, _, err := config.Parse(queues(), config.Cluster{MinAllocation: yarn.NewResource(1, 1), MaxAllocation: yarn.NewResource(8, 8)})
	if err != nil {
		t.Fatal(err)
	}
	sched, err := scheduler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	set := engine.Settings{ClusterTimestamp: 1000}
	r, e := blackbox.NewRecorder(blackbox.Header{Settings: set, Queues: blackbox.QueuesOf(cfg)}, o), engine.New(set, sched)
	for i := range count {
		now := yarn.Now{Wall: int64(i), Mono: int64(i)}
		c := engine.LaunchFailed{Attempt: yarn.AttemptID{Attempt: 1}, Why: strings.Repeat("x", 100)} // of an application that is not there
		r.Add(now, c)
		var fx engine.Effects
		e.Apply(now, c, &fx)
		if change != nil {
			change(&fx)
		}
		r.Carried(&fx)
	}
	for _, c := range last {
		r.Add(yarn.Now{}, c)
	}
	return r, e
}

// What went otherwise than recorded is told, with the exit code of its own.
func TestDifferences(t *testing.T) {
	look := func(e *engine.Engine) blackbox.End { return blackbox.End{Looked: true, State: e.Digest()} }
	broken := engine.Stored{Seq: 5}
	const message = "engine: save 5 is confirmed, 0 is due"
	for name, c := range map[string]struct {
		count  int
		ring   int
		change func(*engine.Effects)
		last   []any
		end    func(*engine.Engine) blackbox.End
		code   int
		says   string
	}{
		"same":           {10, 0, nil, []any{blackbox.Digest{}}, look, codeSame, "as recorded\n"},
		"other state":    {10, 0, nil, []any{blackbox.Digest{}}, func(*engine.Engine) blackbox.End { return blackbox.End{Looked: true, State: 77} }, codeOther, "recorded was 000000000000004d"},
		"no look":        {10, 0, nil, nil, look, codeOther, "the state is unknown"},
		"others":         {10, 0, func(fx *engine.Effects) { fx.Saves = append(fx.Saves, engine.Save{}) }, nil, look, codeOther, "consequences are others than recorded"},
		"no panic here":  {10, 0, nil, nil, func(*engine.Engine) blackbox.End { return blackbox.End{Panic: "it broke"} }, codeOther, `end with the panic "it broke"`},
		"no panic there": {10, 0, nil, []any{broken}, look, codeOther, "end without a panic"},
		"another panic":  {10, 0, nil, []any{broken}, func(*engine.Engine) blackbox.End { return blackbox.End{Panic: "it broke"} }, codeOther, `end with the panic "it broke"`},
		"early panic":    {10, 0, nil, []any{broken, engine.Tick{}}, look, codeOther, "goes on for 1 commands after the panic"},
		"the same panic": {10, 0, nil, []any{broken}, func(e *engine.Engine) blackbox.End {
			return blackbox.End{Panic: message, Looked: true, State: e.Digest()}
		}, codePanic, "the same panic as recorded, by command 10\n"},
		"truncated": {10, 0, nil, nil, func(*engine.Engine) blackbox.End { return blackbox.End{Truncated: "full"} }, codeSame, "was ended here (full)"},
		"no start":  {30_000, 1 << 20, nil, nil, look, codeUsage, "commands are missing"},
	} {
		t.Run(name, func(t *testing.T) {
			r, e := calls(t, c.count, blackbox.Options{Ring: c.ring}, c.change, c.last...)
			file, err := r.Snapshot(c.end(e)).Save(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			code, out, bad := command(file)
			if code != c.code || !strings.Contains(out+bad, c.says) {
				t.Errorf("exit code %d, want %d and %q\n%s%s", code, c.code, c.says, out, bad)
			}
			if name != "no start" {
				return
			}
			code, out, bad = command("-list", file)
			if first := fmt.Sprint(r.Missing()) + " "; code != codeUsage || !strings.HasPrefix(out, first) || !strings.Contains(out, "\n29999 29999 LaunchFailed {") || bad == "" {
				t.Errorf("the list: exit code %d, does not begin with %s, or end\n%.200s\n%s", code, first, out, bad)
			}
		})
	}
}

// A file that was cut off is played as far as it goes.
func TestCutOff(t *testing.T) {
	r, e := calls(t, 5000, blackbox.Options{}, nil, blackbox.Digest{})
	file, err := r.Snapshot(blackbox.End{Looked: true, State: e.Digest()}).Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, info.Size()*3/4); err != nil {
		t.Fatal(err)
	}
	if code, out, bad := command(file); code != codeSame || !strings.Contains(out, "cut off here") || strings.Contains(out, " 5001 commands") {
		t.Errorf("%d\n%s%s", code, out, bad)
	}
	for _, args := range [][]string{{}, {file, file}, {"-x", file}, {file + "no"}, {os.DevNull}} {
		if code, out, bad := command(args...); code != codeUsage || out != "" || bad == "" {
			t.Errorf("%q: %d\n%s%s", args, code, out, bad)
		}
	}
}

// Whatever a cluster does, its recording comes to the same state.
func TestClusters(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir, lives := t.TempDir(), 0
			c, err := sim.New(sim.Options{Seed: seed, Nodes: 6, Applications: 12, Events: seed%2 == 0, Dominant: seed%3 == 0, Queues: &sim.Queues{Properties: queues()},
				Others: []*sim.Queues{{Properties: append(queues(), config.Property{Name: config.Prefix + "root.a.user-limit-factor", Value: "2"})}},
				Recorded: func(s *blackbox.Snapshot) {
					lives++
					file, err := s.Save(dir)
					if err != nil {
						t.Fatal(err)
					}
					code, out, bad := command(file)
					if code != codeSame || !strings.Contains(out, "as recorded\n") {
						t.Errorf("life %d: %d\n%s%s", lives, code, out, bad)
					}
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
				}})
			if err != nil {
				t.Fatal(err)
			}
			if wrong := c.Run(); wrong != "" {
				t.Fatal(wrong)
			}
			if lives != c.Crashes+1 || c.Granted == 0 {
				t.Errorf("%d lives were recorded, %d crashes, %d containers", lives, c.Crashes, c.Granted)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
