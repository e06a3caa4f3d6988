package engine

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/heddle-project/heddle/yarn"
)

// A node full of containers refuses more, remembers the ends of so many and no more, and has forgotten nothing that matters.
func TestBounds(t *testing.T) {
	s := newScript(t)
	s.run([]string{"disks", "/d1", "/l1"})
	one := Spec{ID: s.container("1/1/1"), User: "ann"}
	var fx []Effect
	for range MaxContainers {
		fx = s.engine.Apply(s.now, Start{0, one}, fx[:0])
		one.ID.Number++
	}
	refused := s.engine.Apply(s.now, Start{1, one}, fx[:0])
	if r, ok := refused[0].(Reply); len(refused) != 1 || !ok || r.Err == nil || !strings.Contains(r.Err.Text, "limit") {
		t.Fatalf("one too many: %s", describe(refused[0]))
	}
	end := func() {
		fx = s.engine.Apply(s.now, Exited{ID: one.ID}, fx[:0])
		fx = s.engine.Apply(s.now, Orders{Forget: []yarn.ContainerID{one.ID}}, fx)
		one.ID.Number++
	}
	one.ID.Number = 1
	for range MaxContainers {
		end()
	}
	for range MaxRecent - MaxContainers + 10 {
		fx = s.engine.Apply(s.now, Start{0, one}, fx[:0])
		end()
	}
	e := s.engine
	if len(e.recent) != MaxRecent || len(e.recentIDs) != MaxRecent || len(e.containers) != 0 {
		t.Errorf("%d containers, %d remembered, in a list of %d", len(e.containers), len(e.recent), len(e.recentIDs))
	}
	a := e.apps[one.ID.Attempt.Application]
	if len(a.ended) != MaxEnded || len(a.containers) != 0 || a.live != 0 {
		t.Errorf("%d ended, %d known, %d alive", len(a.ended), len(a.containers), a.live)
	}
	if bad := recount(e); bad != "" {
		t.Error(bad)
	}
}

// What an ended container was launched with, perhaps megabytes, does not stay until its end has been heard.
func TestEndedHasNoLaunch(t *testing.T) {
	s := newScript(t)
	s.run([]string{"disks", "/d1", "/l1"})
	one := Spec{ID: s.container("1/1/1"), User: "ann", Launch: []byte("large")}
	s.apply(Start{0, one})
	before := s.engine.containers[one.ID].spec
	s.apply(Exited{ID: one.ID})
	if after := s.engine.containers[one.ID].spec; len(after.Launch) != 0 || after.User != "ann" || string(before.Launch) != "large" {
		t.Errorf("before the end %+v, after it %+v", before, after)
	}
}

// Failures that count for a while are remembered up to a number, at which the container has failed for good.
func TestFailuresBound(t *testing.T) {
	s := newScript(t)
	s.run([]string{"disks", "/d1", "/l1"})
	spec := s.spec([]string{"1/1/1", "retry=2147483647/0/*/9223372036854775807"})
	s.apply(Start{0, spec})
	for n := 0; ; n++ {
		s.apply(Exited{spec.ID, 1, ""})
		c := s.engine.containers[spec.ID]
		if c.phase == done {
			if n != MaxFailures {
				t.Errorf("it ended after %d failures", n)
			}
			return
		}
		if len(c.failures) > MaxFailures {
			t.Fatalf("%d failures are remembered", len(c.failures))
		}
		s.apply(Wake{})
	}
}

// The end of what is said about a container is kept, whatever bytes it consists of.
func TestDiagnostics(t *testing.T) {
	s := newScript(t)
	s.run([]string{"disks", "/d1", "/l1"})
	s.run([]string{"start", "1/1/1"})
	id := s.container("1/1/1")
	for _, text := range []string{strings.Repeat("é", 1000), "\xff\xfe bytes \x80", strings.Repeat("\xe2\x82", 500), ""} {
		s.apply(Noted{id, text})
		got := s.engine.containers[id].text
		if len(got) > settings().MaxDiagnostics || !utf8.ValidString(got) || text != "" && !strings.HasSuffix(got, "\n") {
			t.Fatalf("after %.20q: %d bytes: %q", text, len(got), got)
		}
	}
}

// Nonsense in the settings makes no engine that stops or spins.
func TestSettings(t *testing.T) {
	e := New(Settings{CacheInterval: 0, MaxDiagnostics: -5, Placed: settings().Placed, Zone: time.UTC})
	now := yarn.Now{Wall: begin, Mono: 1}
	e.Apply(now, Disks{Local: []string{"/d1"}, Log: []string{"/l1"}}, nil)
	id := yarn.ContainerID{Attempt: yarn.AttemptID{Application: yarn.ApplicationID{Sequence: 1}}, Number: 1}
	e.Apply(now, Start{Container: Spec{ID: id, User: "ann"}}, nil)
	e.Apply(now, Noted{id, "text"}, nil)
	if due := e.Due(); due < now.Mono+minSweep || e.containers[id].text != "" {
		t.Errorf("due %d, text %q", due, e.containers[id].text)
	}
}
