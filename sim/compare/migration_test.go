package compare

import (
	"encoding/xml"
	"io/fs"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/fair/convert"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

// eachTrace calls f for the recorded traces of a profile.
func eachTrace(t *testing.T, profile string, f func(name, text string)) {
	t.Helper()
	files, err := golden.Traces(profile)
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(files, "*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v %v", profile, names, err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		f(profile+"-"+name, string(text))
	}
}

// converted is what yarn fs2cs makes of an allocation file.
func converted(t *testing.T, text string) string {
	t.Helper()
	a, _, err := allocation.Parse([]byte(text), yarn.BasicResourceTypes())
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := convert.Convert(a, convert.DefaultSettings(), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("<configuration>")
	for _, p := range r.Queues {
		b.WriteString("<property><name>" + p.Name + "</name><value>")
		if err := xml.EscapeText(&b, []byte(p.Value)); err != nil {
			t.Fatal(err)
		}
		b.WriteString("</value></property>\n")
	}
	return b.String() + "</configuration>"
}

// The traces of Apache's FairScheduler come to the same with their own allocation file, and under its conversion every application is in the
// queue of the same name.
func TestMigration(t *testing.T) {
	masters, near := 0, 0
	eachTrace(t, "fair-basic", func(name, text string) {
		dir := t.TempDir()
		r, err := trace.NewReader(strings.NewReader(text), name)
		if err != nil {
			t.Fatal(err)
		}
		file := write(t, dir, name, text)
		fair, capacity := write(t, dir, "fair-scheduler.xml", r.Header().Fair), write(t, dir, "capacity-scheduler.xml", converted(t, r.Header().Fair))
		same := reportsOf(t, codeSame, file, "--scheduler", fair)[0]
		masters, near = masters+same.Check.Masters, near+same.Check.Near
		for _, p := range reportsOf(t, codeDiffers, file, "--scheduler", fair, "--scheduler", capacity)[0].Apps {
			if p.A.Refused == "" && (p.B.Refused != "" || p.A.Queue != p.B.Queue) {
				t.Errorf("%s: %s: %+v %+v", name, p.Name, p.A, p.B)
			}
		}
	})
	if masters < 50 || near*10 < masters*8 {
		t.Errorf("the model starts %d of %d masters when they were recorded to start", near, masters)
	}
}

// So do those of the CapacityScheduler, of which the model knows more.
func TestCapacityTraces(t *testing.T) {
	masters, near := 0, 0
	eachTrace(t, "cap-basic", func(name, text string) {
		r := reportsOf(t, codeSame, write(t, t.TempDir(), name, text), "--scheduler", Recorded)[0]
		masters, near = masters+r.Check.Masters, near+r.Check.Near
	})
	if masters < 50 || near*10 < masters*9 {
		t.Errorf("the model starts %d of %d masters when they were recorded to start", near, masters)
	}
}
