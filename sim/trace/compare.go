package trace

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Tolerance is how far two numbers may lie apart and still be equal.
const Tolerance = 1e-5

// Absent stands for a field that one side does not have.
const Absent = "(absent)"

// Difference is the first place where an answer is not what was recorded.
type Difference struct {
	Path      string // such as "queues.root.a.used.vcores"; empty for the whole
	Want, Got any
}

// Compare finds the first difference between what was recorded and an answer,
// or nil. Fields of the answer that are ignored may differ.
func Compare(recorded json.RawMessage, saw Saw, ignored ...string) (*Difference, error) {
	var want, got any
	if err := json.Unmarshal(recorded, &want); err != nil {
		return nil, fmt.Errorf("what was recorded: %w", err)
	}
	b, err := json.Marshal(saw)
	if err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	if err := json.Unmarshal(b, &got); err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	for _, v := range []any{want, got} {
		if fields, ok := v.(map[string]any); ok {
			for _, name := range ignored {
				delete(fields, name)
			}
		}
	}
	return difference(nil, want, got), nil
}

func difference(path []string, want, got any) *Difference {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return objects(path, w, g)
		}
	case []any:
		if g, ok := got.([]any); ok && len(w) == len(g) {
			return lists(path, w, g)
		}
	case float64:
		if g, ok := got.(float64); ok && math.Abs(w-g) <= Tolerance {
			return nil
		}
	default:
		if want == got {
			return nil
		}
	}
	return &Difference{strings.Join(path, "."), want, got}
}

func objects(path []string, want, got map[string]any) *Difference {
	names := slices.Sorted(maps.Keys(want))
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		w, inWant := want[name]
		g, inGot := got[name]
		here := append(path, name)
		switch {
		case !inWant:
			return &Difference{strings.Join(here, "."), Absent, g}
		case !inGot:
			return &Difference{strings.Join(here, "."), w, Absent}
		}
		if d := difference(here, w, g); d != nil {
			return d
		}
	}
	return nil
}

func lists(path []string, want, got []any) *Difference {
	for i := range want {
		if d := difference(append(path, fmt.Sprint(i)), want[i], got[i]); d != nil {
			return d
		}
	}
	return nil
}
