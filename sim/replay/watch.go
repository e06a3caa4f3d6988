package replay

import (
	"errors"
	"fmt"
	"io"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

// Watcher follows a scenario as commands of the engine.
type Watcher interface {
	// Begin has what the engine begins with.
	Begin(blackbox.Header)
	// Command comes before a command is applied; the function that it returns gets the effects of that command alone.
	Command(yarn.Now, engine.Command) func(*engine.Effects)
}

// Watch plays a trace for a watcher, which sees every command in order. What was recorded of the events is not looked at.
func Watch(in io.Reader, name string, watcher Watcher) error {
	r, err := trace.NewReader(in, name)
	if err != nil {
		return err
	}
	if r.Plan() != nil {
		return fmt.Errorf("%s: follow the commands of a plan: it has none, the engine is not asked; replay it with yarn sim replay", name)
	}
	w, err := New(r.Header())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	watcher.Begin(w.begun)
	w.watch = watcher.Command
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := w.Apply(e); err != nil {
			return r.At(&e.Common, err)
		}
	}
}

// apply applies one command and lets the watcher see it.
func (w *World) apply(c engine.Command) {
	if w.watch == nil {
		w.engine.Apply(w.now, c, &w.fx)
		return
	}
	seen, before := w.watch(w.now, c), w.fx
	w.engine.Apply(w.now, c, &w.fx)
	seen(&engine.Effects{
		Replies: w.fx.Replies[len(before.Replies):], Saves: w.fx.Saves[len(before.Saves):], Launches: w.fx.Launches[len(before.Launches):],
		Stops: w.fx.Stops[len(before.Stops):], Logins: w.fx.Logins[len(before.Logins):], Transitions: w.fx.Transitions[len(before.Transitions):],
		Containers: w.fx.Containers[len(before.Containers):], Notices: w.fx.Notices[len(before.Notices):],
		Forgotten: w.fx.Forgotten[len(before.Forgotten):], Summaries: w.fx.Summaries[len(before.Summaries):],
		Discarded: w.fx.Discarded[len(before.Discarded):],
	})
}
