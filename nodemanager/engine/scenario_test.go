package engine

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/scenarios"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// TestScenarios plays testdata/*.txt. A line is a command; the lines after it that begin with ">" are its effects. The books
// are recounted after every command. The words are those of script.run.
func TestScenarios(t *testing.T) { scenarios.Test(t, play) }

const begin = 1_700_000_000_000

func settings() Settings {
	return Settings{CacheTarget: 100, CacheInterval: 600_000, MaxDiagnostics: 300, TrackStopped: 600_000,
		FirstPlace: 10, Placed: func(n int64) string { return "p" + strconv.FormatInt(n, 10) }, Zone: time.UTC}
}

// script is a scenario under way.
type script struct {
	t      *testing.T
	engine *Engine
	set    Settings
	now    yarn.Now
	kept   map[string]state.Op // what a store would hold
	ticket Ticket
}

func newScript(t *testing.T) *script {
	return &script{t: t, engine: New(settings()), set: settings(), now: yarn.Now{Wall: begin, Mono: 1}, kept: map[string]state.Op{}}
}

func play(t *testing.T, text string) string {
	s := newScript(t)
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, ">") {
			continue
		}
		out.WriteString(line + "\n")
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		for _, x := range s.run(words) {
			out.WriteString("> " + describe(x) + "\n")
		}
		if bad := recount(s.engine); bad != "" {
			t.Fatalf("line %d: %s: %s", i+1, line, bad)
		}
	}
	return out.String()
}

// run reads one command:
//
//	node MEMORY VCORES [queue=N] [by-resources] [pause] (what it has; at the beginning, or with the next restart, the rest, too)
//	disks LOCAL,... LOG,... [WHY TOO FEW]      wait MILLISECONDS
//	start ID [USER] [public:KEY private:KEY own:KEY retry=MAX/INTERVAL[/CODE[/VALIDITY]] opp mem=N]
//	stop ID · signal ID N · update ID MEMORY VERSION [opp] · order kill=ID finish=APP forget=ID · kill-all EXIT WHY
//	fetched N PATH BYTES · lost N WHY · gone PATH · echo · launched ID PID · exited ID CODE [TEXT] · overrun ID EXIT WHY
//	paused ID [FAILURE] · resumed ID [FAILURE] · shed N · noted ID TEXT · cleared APP · logs-done APP · restart · unreadable APP (its record, at the next restart)
//
// A container is APP/ATTEMPT/NUMBER, an application APP, a number.
func (s *script) run(w []string) []Effect {
	rest := func(i int) string { return strings.Join(w[min(i, len(w)):], " ") }
	switch w[0] {
	case "node":
		s.set.Total = yarn.NewResource(s.number(w[1]), s.number(w[2]))
		for _, word := range w[3:] {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "queue":
				s.set.Queue.MaxLength = int(s.number(value))
			case "by-resources":
				s.set.Queue.ByResources = true
			case "pause":
				s.set.Queue.Pause = true
			}
		}
		if len(s.engine.containers) == 0 {
			s.engine = New(s.set)
			return nil
		}
		return s.apply(Offer{s.set.Total})
	case "shed":
		return s.apply(Shed{int(s.number(w[1]))})
	case "paused":
		return s.apply(Paused{s.container(w[1]), rest(2)})
	case "resumed":
		return s.apply(Resumed{s.container(w[1]), rest(2)})
	case "disks":
		return s.apply(Disks{Local: list(w[1]), Log: list(w[2]), TooFew: rest(3)})
	case "wait":
		n := s.number(w[1])
		s.now.Wall, s.now.Mono = s.now.Wall+n, s.now.Mono+n
		if due := s.engine.Due(); due == 0 || due > s.now.Mono {
			return nil
		}
		return s.apply(Wake{})
	case "start":
		return s.apply(Start{s.next(), s.spec(w[1:])})
	case "stop":
		return s.apply(Stop{s.next(), s.container(w[1])})
	case "signal":
		return s.apply(Signal{s.next(), s.container(w[1]), int32(s.number(w[2]))})
	case "update":
		u := Update{Ticket: s.next(), ID: s.container(w[1]), Resource: yarn.NewResource(s.number(w[2]), 1), Version: int32(s.number(w[3]))}
		if rest(4) == "opp" {
			u.Execution = yarn.Opportunistic
		}
		return s.apply(u)
	case "order":
		return s.apply(s.orders(w[1:]))
	case "kill-all":
		return s.apply(KillAll{int32(s.number(w[1])), rest(2)})
	case "gone":
		return s.apply(Gone{w[1]})
	case "echo":
		return s.apply(Echo{s.next()})
	case "fetched":
		return s.apply(Fetched{Number: s.number(w[1]), Path: w[2], Bytes: s.number(w[3])})
	case "lost":
		return s.apply(Fetched{Number: s.number(w[1]), Failure: rest(2)})
	case "launched":
		return s.apply(Launched{s.container(w[1]), int32(s.number(w[2]))})
	case "exited":
		return s.apply(Exited{s.container(w[1]), int32(s.number(w[2])), rest(3)})
	case "overrun":
		return s.apply(Overrun{s.container(w[1]), int32(s.number(w[2])), rest(3)})
	case "noted":
		return s.apply(Noted{s.container(w[1]), rest(2)})
	case "unreadable":
		delete(s.kept, "a"+s.app(w[1]).String())
		return nil
	case "cleared":
		return s.apply(Cleared{s.app(w[1])})
	case "logs-done":
		return s.apply(LogsDone{s.app(w[1])})
	case "restart":
		return s.restart()
	}
	s.t.Fatalf("no command %q", w[0])
	return nil
}

func (s *script) apply(c Command) []Effect {
	fx := s.engine.Apply(s.now, c, nil)
	for _, x := range fx {
		if save, ok := x.(Save); ok {
			s.store(save.Op)
		}
	}
	return fx
}

func (s *script) store(op state.Op) {
	switch op := op.(type) {
	case state.PutContainer:
		s.kept["c"+op.Container.ID.String()] = op
	case state.DropContainer:
		delete(s.kept, "c"+op.ID.String())
	case state.PutApplication:
		s.kept["a"+op.Application.ID.String()] = op
	case state.DropApplication:
		delete(s.kept, "a"+op.ID.String())
		maps.DeleteFunc(s.kept, func(_ string, kept state.Op) bool {
			ended, ok := kept.(state.PutEnded)
			return ok && ended.Ended.ID.Attempt.Application == op.ID
		})
	case state.PutEnded:
		s.kept["e"+op.Ended.ID.String()] = op
	case state.PutResource:
		s.kept[fmt.Sprintf("r%09d", op.Resource.Number)] = op
	case state.DropResource:
		delete(s.kept, fmt.Sprintf("r%09d", op.Number))
	}
}

// restart builds a new engine from what was kept.
func (s *script) restart() []Effect {
	disks := s.engine.disks
	s.engine = New(s.set)
	s.apply(disks)
	return s.apply(s.remembered())
}

// remembered is what was kept. A token is the line that started its container.
func (s *script) remembered() (r Recover) {
	for _, key := range sortedKeys(s.kept) {
		switch op := s.kept[key].(type) {
		case state.PutContainer:
			spec := s.spec(strings.Fields(string(op.Container.Token)))
			if len(op.Container.Launch) == 0 {
				spec.Resources = nil // they are part of it
			}
			r.Containers = append(r.Containers, Recovered{op.Container, spec})
		case state.PutEnded:
			r.Ended = append(r.Ended, op.Ended)
		case state.PutApplication:
			r.Applications = append(r.Applications, op.Application)
		case state.PutResource:
			r.Resources = append(r.Resources, op.Resource)
		}
	}
	return r
}

func (s *script) next() Ticket { s.ticket++; return s.ticket }

func (s *script) number(w string) int64 {
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) app(w string) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(s.number(w))}
}

func (s *script) container(w string) yarn.ContainerID {
	p := strings.Split(w, "/")
	if len(p) != 3 {
		s.t.Fatalf("%q is no container", w)
	}
	return yarn.ContainerID{Attempt: yarn.AttemptID{Application: s.app(p[0]), Attempt: int32(s.number(p[1]))}, Number: s.number(p[2])}
}

func (s *script) spec(w []string) Spec {
	x := Spec{ID: s.container(w[0]), User: "ann", Resource: yarn.NewResource(1024, 1), Token: []byte(strings.Join(w, " ")), Launch: []byte("launch"), LogContext: []byte("L")}
	for _, word := range w[1:] {
		kind, value, _ := strings.Cut(word, ":")
		if v, ok := map[string]Visibility{"public": Public, "private": Private, "own": Application}[kind]; ok {
			x.Resources = append(x.Resources, Request{Name: "link-" + value, Visibility: v, Key: value})
			continue
		}
		if word == "opp" {
			x.Execution = yarn.Opportunistic
			continue
		}
		if n, ok := strings.CutPrefix(word, "mem="); ok {
			x.Resource = yarn.NewResource(s.number(n), 1)
			continue
		}
		if r, ok := strings.CutPrefix(word, "retry="); ok {
			p := strings.Split(r, "/")
			x.Retry = Retry{Policy: RetryOnAll, Max: int32(s.number(p[0])), Interval: s.number(p[1]), Validity: -1}
			if len(p) > 2 && p[2] != "*" {
				x.Retry.Policy, x.Retry.Codes = RetryOnCodes, []int32{int32(s.number(p[2]))}
			}
			if len(p) > 3 {
				x.Retry.Validity = s.number(p[3])
			}
			continue
		}
		x.User = word
	}
	return x
}

func (s *script) orders(w []string) Orders {
	var o Orders
	for _, word := range w {
		what, id, _ := strings.Cut(word, "=")
		switch what {
		case "kill":
			o.Cleanup = append(o.Cleanup, s.container(id))
		case "finish":
			o.Finish = append(o.Finish, s.app(id))
		case "forget":
			o.Forget = append(o.Forget, s.container(id))
		default:
			s.t.Fatalf("no order %q", word)
		}
	}
	return o
}

// list splits at commas and drops what is empty.
func list(w string) []string {
	return strings.FieldsFunc(w, func(r rune) bool { return r == ',' })
}
