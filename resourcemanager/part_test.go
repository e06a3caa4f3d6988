package resourcemanager

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// A part is done with once the engine has its applications, or the loop has ended, and not before: its memory is overwritten then.
func TestPartsAreDone(t *testing.T) {
	for name, ended := range map[string]bool{"recovered": false, "the loop has ended": true} {
		t.Run(name, func(t *testing.T) {
			const parts, each = 5, 3
			r := recovery{term: termOfLoop(t), all: parts * each}
			done := make(chan int, parts+1)
			r.loop.Post(engine.Recover{Coming: r.all})
			for n := range parts {
				var p store.Part
				for i := range each {
					id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(n*each + i + 1)}
					p.Applications = append(p.Applications, &state.Application{ID: id, SubmitTime: int64(id.Sequence), Final: yarn.AppFinished})
					p.Made = append(p.Made, &engine.Submission{ID: id, User: "ada"})
				}
				r.part(p, func() {
					for i := range p.Applications {
						*p.Applications[i], p.Made[i] = state.Application{}, nil
					}
					done <- n
				})
			}
			if len(done) > 0 {
				t.Fatalf("part %d is done with while the engine waits", <-done)
			}
			r.part(store.Part{Applications: []*state.Application{{}}, Made: []any{errors.New("unusable")}}, func() { done <- parts })
			if n := <-done; n != parts || r.aside != 1 {
				t.Fatalf("of a part that the engine does not get: %d is done with, %d records are left alone", n, r.aside)
			}
			r.loop.Post(engine.RecoverApplications{All: r.all, Last: true})

			ctx, end := context.WithCancel(t.Context())
			defer r.loop.Wait()
			defer end()
			if ended {
				end()
			}
			go r.loop.Run(ctx, 2)
			seen := map[int]bool{}
			for range parts {
				seen[<-done] = true
			}
			if len(seen) != parts {
				t.Errorf("done with: %v", seen)
			}
			if ended {
				return
			}
			v, err := r.loop.Views(ctx, view.Applications)
			if err != nil {
				t.Fatal(err)
			}
			for i := range int32(parts * each) {
				id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: i + 1}
				if a := v.FindApplication(id); a == nil || a.User != "ada" || a.SubmitTime != int64(i+1) {
					t.Errorf("%s is %+v", id, a)
				}
			}
		})
	}
}

// termOfLoop is a term with little more than a loop, which does not run yet.
func termOfLoop(t *testing.T) *term {
	properties := []config.Property{{Name: config.Prefix + "root.queues", Value: "default"}, {Name: config.Prefix + "root.default.capacity", Value: "100"}}
	cfg, _, err := config.Parse(properties, config.Cluster{MinAllocation: yarn.NewResource(256, 1), MaxAllocation: yarn.NewResource(8192, 8)})
	if err != nil {
		t.Fatal(err)
	}
	sched, err := scheduler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	set := engine.Settings{ClusterTimestamp: 2, MaxCompleted: 100, NodeMinimum: yarn.NewResource(256, 1), ResourceTypes: yarn.BasicResourceTypes()}
	return &term{process: &process{Options: Options{Log: log}}, contexts: newContexts(),
		loop: loop.New(loop.Config{Engine: engine.New(set, sched), Clock: clock.System(), Outside: newOutside(log, events.New(1)), Log: log})}
}
