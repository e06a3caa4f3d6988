package loop

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/memory"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/sim/rerun"
	"github.com/heddle-project/heddle/yarn"
)

// play has a node, an application, readers and some time pass by.
func (r *rig) play() {
	var a answered
	node := yarn.NodeID{Host: "h", Port: 1}
	r.l.Post(engine.RegisterNode{Ticket: r.l.Expect(a.take), Node: node, Total: yarn.NewResource(4096, 4), Health: engine.Health{Healthy: true}})
	r.newApp(&a)
	synctest.Wait()
	id := a.values[1].(engine.NewApplicationReply).ID
	r.l.Post(engine.Submit{Ticket: r.l.Expect(a.take), Application: engine.Submission{ID: id, User: "ada", Queue: "default",
		AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(300, 1), Count: 1, RelaxLocality: true}}}})
	for i := range int32(20) {
		r.l.Post(&engine.Heartbeat{Ticket: r.l.Expect(a.take), Node: node, ResponseID: i, Health: engine.Health{Healthy: true}})
		if i%5 == 0 {
			if _, err := r.l.Views(r.t.Context(), view.Everything); err != nil {
				r.t.Error(err)
				return
			}
			if _, err := r.l.Why(r.t.Context(), id); err != nil {
				r.t.Error(err)
				return
			}
		}
		time.Sleep(time.Second)
	}
	if a.len() < 20 {
		r.t.Errorf("only %d answers", a.len())
	}
}

// rerunFile plays a recording.
func rerunFile(file string) (code int, text string) {
	var out bytes.Buffer
	code = rerun.Main([]string{"-check", file}, &out, &out)
	return code, out.String()
}

// What the loop has done comes to the same state elsewhere.
func TestRerun(t *testing.T) {
	inBubble(t, memory.New(store.Options{}), func(t *testing.T, r *rig) {
		r.play()
		for range 2 { // a look is a step of the recording, too
			s, err := r.l.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			file, err := s.Save(r.files)
			if err != nil {
				t.Fatal(err)
			}
			if code, text := rerunFile(file); code != 0 || !strings.Contains(text, "as recorded\n") || strings.Contains(text, " 0 containers granted") || strings.Contains(text, " 0 masters launched") {
				t.Errorf("%d\n%s", code, text)
			}
			var list bytes.Buffer
			if code := rerun.Main([]string{"-list", file}, &list, &list); code != 0 || !strings.Contains(list.String(), " Publish {Parts:") {
				t.Errorf("no publication of views is recorded: %d\n%s", code, list.String())
			}
			r.play()
		}
	})
}

// A crash leaves a file that comes to the same panic.
func TestRerunOfCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		crash := make(chan any, 1)
		go func() {
			defer func() { crash <- recover() }()
			r.l.Run(t.Context(), 2)
		}()
		r.play()
		r.l.Post(engine.Stored{Seq: 77})
		p := <-crash
		r.l.Wait()
		files, err := filepath.Glob(filepath.Join(r.files, "*.blackbox"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files: %v, %v", files, err)
		}
		if text := r.log.String(); !strings.Contains(text, "yarn sim rerun FILE") || !strings.Contains(text, files[0]) {
			t.Errorf("the log does not tell of %s:\n%s", files[0], text)
		}
		code, text := rerunFile(files[0])
		if want := fmt.Sprintf("panic: %v\n", p); code != 3 || !strings.Contains(text, want) || !strings.Contains(text, "saves.go") ||
			!strings.Contains(text, "the same panic as recorded") {
			t.Errorf("%d, want 3 and %q\n%s", code, want, text)
		}
	})
}

// A tape has everything from its loop's start to its own end, or that of the loop.
func TestTape(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		r.play()
		for _, stop := range []func() error{
			func() error { _, err := r.l.StopTape(t.Context()); return err },
			func() error { r.end(); r.l.Wait(); return nil },
		} {
			tape, err := r.l.StartTape(t.Context(), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // files are named by the time
			if _, err := r.l.StartTape(t.Context(), 1<<20); err == nil || !strings.Contains(err.Error(), tape.State().File) {
				t.Errorf("a second tape was begun: %v", err)
			}
			r.play()
			var before int64
			if err := r.l.aside(t.Context(), func() { before = r.l.stats.Commands }); err != nil {
				t.Fatal(err)
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			code, text := rerunFile(tape.State().File)
			var played int64
			if _, err := fmt.Sscanf(text[strings.Index(text, "\n")+1:], "%d commands", &played); err != nil || played < before {
				t.Errorf("%d commands were played, %d applied: %v", played, before, err)
			}
			if code != 0 || !strings.Contains(text, "as recorded\n") {
				t.Errorf("%d\n%s", code, text)
			}
		}
		if _, err := r.l.StopTape(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
		if files, _ := filepath.Glob(filepath.Join(r.files, "*")); len(files) != 2 {
			t.Errorf("files: %v", files)
		}
	})
}
