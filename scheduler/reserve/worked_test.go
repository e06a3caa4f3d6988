package reserve

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// TestWorked plays testdata/worked.txt.
func TestWorked(t *testing.T) {
	text, err := os.ReadFile("testdata/worked.txt")
	if err != nil {
		t.Fatal(err)
	}
	var p *Plan
	var deadline, id int64
	for n, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "plan "):
			p, deadline = workedPlan(t, line)
		default:
			id++
			request, want, _ := strings.Cut(line, " -> ")
			if got := worked(t, p, id, deadline, request); got != want {
				t.Errorf("line %d: %s: got %s, want %s", n+1, request, got, want)
			}
		}
	}
	if id < 15 {
		t.Errorf("only %d requests", id)
	}
}

func workedPlan(t *testing.T, line string) (*Plan, int64) {
	s := usual()
	s.Window, s.Early, s.Max = 100_000, strings.Contains(line, " early "), yarn.NewResource(10240, 10)
	if strings.Contains(line, " greedy ") {
		s.Agent = Greedy
	}
	var agent, side string
	var deadline int64
	if _, err := fmt.Sscanf(line, "plan %s %s %d", &agent, &side, &deadline); err != nil {
		t.Fatal(line, err)
	}
	return NewPlan(s, yarn.NewResource(10240, 10)), deadline
}

// worked asks for something and tells what came of it.
func worked(t *testing.T, p *Plan, id, deadline int64, request string) string {
	how, stages, _ := strings.Cut(request, " ")
	d := define(0, deadline, yarn.AnyStage)
	for d.Interpreter.String() != how {
		d.Interpreter++
	}
	for _, text := range strings.Split(stages, ", ") {
		var count, gang int32
		var duration int64
		if _, err := fmt.Sscanf(text, "%dx%d %d", &count, &gang, &duration); err != nil {
			t.Fatal(text, err)
		}
		d.Stages = append(d.Stages, stage(1024, 1, count, gang, duration))
	}
	if err := p.Submit(-1, number(id), "ann", d); err != nil {
		return kind(err)
	}
	var out []string
	for _, i := range p.Reservation(number(id)).Intervals {
		out = append(out, fmt.Sprintf("%d-%d %d", i.Start, i.End, i.Resource[yarn.Memory]))
	}
	return strings.Join(out, ", ")
}

func kind(err error) string {
	var r *Refusal
	if errors.As(err, &r) {
		return string(r.Kind)
	}
	return fmt.Sprint(err)
}
