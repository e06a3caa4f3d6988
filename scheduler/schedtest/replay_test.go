package schedtest

// Temporary: replays recorded decisions on the facade with a minimal life cycle
// of applications. It goes when the real engine replays them.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"
)

type obj = map[string]any

func TestReplay(t *testing.T) {
	root := os.Getenv("HEDDLE_TRACES")
	if root == "" {
		t.Log("HEDDLE_TRACES is not set: nothing replayed")
		return
	}
	files, _ := filepath.Glob(root + "/*/*.jsonl")
	total, equal := map[string]int{}, map[string]int{}
	for _, f := range files {
		profile := filepath.Base(filepath.Dir(f))
		if strings.HasPrefix(profile, "fair") || strings.Contains(f, "/fair-") {
			continue
		}
		if p := os.Getenv("HEDDLE_PROFILE"); p != "" && !strings.Contains(f, p) {
			continue
		}
		total[profile]++
		if why := replayFile(f); why != "" {
			t.Logf("%s: %s", strings.TrimPrefix(f, root), why)
		} else {
			equal[profile]++
		}
	}
	var names []string
	for n := range total {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Printf("%s: %d/%d\n", n, equal[n], total[n])
	}
}

func replayFile(file string) (why string) {
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	n := 0.0
	defer func() {
		if os.Getenv("HEDDLE_PANIC") != "" {
			return
		}
		if r := recover(); r != nil {
			why = fmt.Sprintf("event %v: panic: %v", n, r)
		}
	}()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	var w *world
	for sc.Scan() {
		var e obj
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			return err.Error()
		}
		if w == nil {
			if w, err = newWorld(e); err != nil {
				return "header: " + err.Error()
			}
			continue
		}
		n = e["n"].(float64)
		got := w.apply(e)
		got = roundTrip(got)
		if d := diff("", e["saw"], any(got)); d != "" {
			delete(e, "saw")
			text, _ := json.Marshal(e)
			return fmt.Sprintf("event %v %s: %s", n, cut(string(text), 300), d)
		}
		if bad := w.s.Check(); bad != "" {
			return fmt.Sprintf("event %v: check: %s", n, bad)
		}
	}
	return ""
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

func roundTrip(o obj) obj {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var out obj
	json.Unmarshal(b, &out)
	return out
}

// diff is the first difference; want is what was recorded.
func diff(at string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: want %v got %v", at, want, got)
		}
		keys := map[string]bool{}
		for k := range w {
			keys[k] = true
		}
		for k := range g {
			keys[k] = true
		}
		var sorted []string
		for k := range keys {
			sorted = append(sorted, k)
		}
		sort.Strings(sorted)
		for _, k := range sorted {
			if d := diff(at+"/"+k, w[k], g[k]); d != "" {
				return d
			}
		}
		return ""
	case float64:
		if g, ok := got.(float64); ok && math.Abs(w-g) <= 1e-5 {
			return ""
		}
	}
	if reflect.DeepEqual(want, got) {
		return ""
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	return fmt.Sprintf("%s: want %s got %s", at, a, b)
}
