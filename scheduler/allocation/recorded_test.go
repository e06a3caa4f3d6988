package allocation

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/yarn"
)

// step is what this test reads of a line of a trace: the header, or something done and what Apache did.
type step struct {
	Scheduler string
	Do        string
	File      string `json:"fair-scheduler"`
	Saw       struct {
		OK     *bool
		Queues map[string]recordedQueue
	}
}

type recordedQueue struct {
	Min     map[string]int64 `json:"min-share"`
	Max     map[string]int64 `json:"max-share"`
	Weight  float32
	Policy  string
	Dynamic bool
	Leaf    bool
}

// TestRecordedFiles reads every allocation file of the recorded decisions: it is refused if Apache refused it, and what is
// read is what Apache's queues had.
func TestRecordedFiles(t *testing.T) {
	profiles, err := golden.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	files, refused, compared := 0, 0, 0
	for _, profile := range profiles {
		if !strings.HasPrefix(profile, "fair-") && profile != "examples" {
			continue
		}
		traces, err := golden.Traces(profile)
		if err != nil {
			t.Fatal(err)
		}
		names, err := fs.Glob(traces, "*.jsonl")
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d traces, %v", profile, len(names), err)
		}
		for _, name := range names {
			var a *Allocation
			loads := 0 // files that were taken
			each(t, traces, name, func(s step) {
				if s.File != "" {
					next, _, err := Parse([]byte(s.File), basic)
					taken := s.Saw.OK == nil || *s.Saw.OK
					if files++; taken != (err == nil) {
						t.Errorf("%s/%s: Apache took it: %v, here: %v\n%s", profile, name, taken, err, s.File)
					}
					if err != nil {
						refused++
					} else {
						a = next
						loads++
					}
				}
				if a != nil && len(s.Saw.Queues) > 0 {
					compared += compare(t, profile+"/"+name, a, loads > 1, s.Saw.Queues)
				}
			})
		}
	}
	if files < 50 || refused == 0 || compared < 100 {
		t.Errorf("%d files, %d of them refused, %d queues", files, refused, compared)
	}
}

// each calls f for the lines of a trace of the FairScheduler.
func each(t *testing.T, traces fs.FS, name string, f func(step)) {
	t.Helper()
	file, err := traces.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		var s step
		if n == 1 && (json.Unmarshal(line, &s) != nil || s.Scheduler != "fair") {
			return
		}
		if strings.Contains(string(line), `"fair-scheduler"`) || strings.Contains(string(line), `"queues":{`) {
			if err := json.Unmarshal(line, &s); err != nil {
				t.Fatalf("%s, line %d: %v", name, n, err)
			}
			f(s)
		}
	}
}

// compare holds the queues that the file names to those that Apache had, and counts them. After a reload, a busy queue may
// still be the leaf or parent that it was.
func compare(t *testing.T, where string, a *Allocation, reloaded bool, recorded map[string]recordedQueue) (compared int) {
	t.Helper()
	for _, q := range a.All() {
		r, there := recorded[q.Path]
		if !there || r.Dynamic {
			continue
		}
		if reloaded && r.Leaf != (q.Kind == Leaf) {
			continue
		}
		compared++
		if r.Weight != q.Weight || !strings.EqualFold(r.Policy, q.Policy.String()) || r.Leaf != (q.Kind == Leaf) {
			t.Errorf("%s: %s: %+v, read %+v", where, q.Path, r, q)
		}
		for i, name := range []string{"memory-mb", "vcores"} {
			if r.Min[name] != q.Min[i] {
				t.Errorf("%s: %s: minimum %v, read %v", where, q.Path, r.Min, q.Min)
			}
			if most := q.Max.Amount[i]; !q.Max.OfCluster && r.Max[name] != max(most, q.Min[i]) && (i == yarn.Memory || most != math.MaxInt32) {
				t.Errorf("%s: %s: maximum %v, read %v", where, q.Path, r.Max, q.Max)
			}
		}
	}
	return compared
}
