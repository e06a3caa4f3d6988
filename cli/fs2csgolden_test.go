package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	answers "github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/scheduler/placement"
)

// fs2csDifferences are the recorded cases in which we do not do as Apache's command does; docs/differences.md has the reasons.
var fs2csDifferences = map[string]string{
	"hand-fair-relative": "path", "hand-fair-relative-in-conf": "path",
	"hand-root-upper-case": "ROOT", "hand-queue-suffix-tags": "an element that is an end of queue", "own-duplicate-queue-mixed": "a queue in two places",
	"hand-weights-nan": "a weight that is no number", "own-site-locality.threshold.node-NaN": "NaN", "own-site-on-locality.threshold.node-NaN": "NaN",
	"own-site-locality.threshold.rack-0x1p-1": "hexadecimal", "own-site-on-locality.threshold.rack-0x1p-1": "hexadecimal",
	"hand-percent-many-decimals": "breaks", "own-percent-decimals": "breaks", "own-percent-tiny": "breaks", "own-percent-huge": "overflow", "own-percent-large": "overflow",
	"hand-policies-drf-leaf-below-fair": "vanishes", "hand-policies-fifo-parent": "vanishes", "own-fifo-parent-drf-child": "vanishes", "seed-40": "vanishes",
	"own-comma-name": "two queues of one", "own-maxres-unbounded": "a maximum that limits nothing",
	"own-opt-ps": "attached", "own-opt-pcx": "attached", "own-opt-sx": "attached", "own-opt-dpn": "attached",
}

// fs2csCase is a recorded answer of Apache's yarn fs2cs.
type fs2csCase struct {
	Name   string
	Args   []string
	Files  map[string]string
	Answer fs2csAnswer
}

type fs2csAnswer struct {
	Exit     int
	Into     *string
	Console  []string
	Site     map[string]string
	Capacity map[string]string
	Rules    any
	RulesIn  *string `json:"rules_in"`
}

func fs2csCases(t *testing.T) []fs2csCase {
	t.Helper()
	set, err := answers.Open("fs2cs")
	if err != nil {
		t.Fatal(err)
	}
	var out []fs2csCase
	for _, name := range []string{"cases.jsonl", "own.jsonl"} {
		f, err := set.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var c fs2csCase
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			out = append(out, c)
		}
		_ = f.Close()
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestFs2csAsRecorded(t *testing.T) {
	cases, differ := fs2csCases(t), 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			got, said := c.play(t)
			wrong := c.Answer.differences(got)
			why, known := fs2csDifferences[c.Name]
			switch {
			case len(wrong) > 0 && !known:
				t.Errorf("%s\n%s", strings.Join(wrong, "\n"), said)
			case len(wrong) == 0 && known:
				t.Errorf("does as Apache's command does; the list of differences says %q", why)
			}
			if known {
				differ++
			}
		})
	}
	if len(cases) < 400 || differ > len(cases)*6/100 {
		t.Errorf("of %d cases %d differ", len(cases), differ)
	}
}

// play runs a case in a directory of its own.
func (c *fs2csCase) play(t *testing.T) (fs2csAnswer, string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	place := strings.NewReplacer("{dir}", dir)
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			_ = os.Mkdir(path, 0o755)
			return
		}
		if err := os.WriteFile(path, []byte(place.Replace(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("conf/", "")
	for name, text := range c.Files {
		write(name, text)
	}
	args := []string{"fs2cs"}
	for _, a := range c.Args {
		args = append(args, place.Replace(a))
	}
	r := newWorld("HADOOP_CONF_DIR=" + filepath.Join(dir, "conf")).run(args...)
	return fs2csOutcome(t, dir, r), r.out + r.err
}

var fs2csSection = regexp.MustCompile(`=+ (capacity-scheduler\.xml|yarn-site\.xml|mapping-rules\.json) =+\n`)

// fs2csOutcome is what a run left and printed. compat: files that are empty count as none, and which of equal names comes first in a list of
// a hash table is an accident.
func fs2csOutcome(t *testing.T, dir string, r result) fs2csAnswer {
	t.Helper()
	a := fs2csAnswer{Exit: r.code, Console: []string{}}
	texts := map[string]string{}
	marks := fs2csSection.FindAllStringSubmatchIndex(r.out, -1)
	for i, m := range marks {
		end := len(r.out)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		name := r.out[m[2]:m[3]]
		texts[name] = r.out[m[1]:end]
		a.Console = append(a.Console, name)
	}
	slices.Sort(a.Console)
	printed := len(marks) > 0
	for _, out := range []string{"out2", "out"} {
		for _, name := range []string{queueFileName, siteFile, mappingFileName} {
			data, err := os.ReadFile(filepath.Join(dir, out, name))
			if err != nil {
				continue
			}
			a.Into = &out
			if !printed {
				texts[name] = string(data)
			}
		}
	}
	a.Site, a.Capacity = fs2csProperties(t, texts[siteFile]), fs2csProperties(t, texts[queueFileName])
	where := func(word, text string) {
		if text != "" && a.RulesIn == nil && json.Unmarshal([]byte(text), &a.Rules) == nil {
			a.RulesIn = &word
		}
	}
	where("property", a.Capacity[placement.PropJSON])
	delete(a.Capacity, placement.PropJSON)
	where(map[bool]string{true: "console", false: "file"}[printed], texts[mappingFileName])
	if len(a.Site) == 0 && len(a.Capacity) == 0 && a.Rules == nil {
		a.Into = nil
	}
	return a
}

func fs2csProperties(t *testing.T, text string) map[string]string {
	t.Helper()
	if text == "" {
		return nil
	}
	var doc struct {
		Properties []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&doc); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	out := map[string]string{}
	for _, p := range doc.Properties {
		switch {
		case strings.HasSuffix(p.Name, ".queues"):
			p.Value = sortedList(p.Value)
		case strings.Contains(p.Name, ".acl_") && p.Value != "*":
			users, groups, ok := strings.Cut(p.Value, " ")
			p.Value = sortedList(users) + map[bool]string{true: " "}[ok] + sortedList(groups)
		}
		out[p.Name] = p.Value
	}
	return out
}

func sortedList(text string) string {
	list := strings.Split(text, ",")
	slices.Sort(list)
	return strings.Join(list, ",")
}

func (a *fs2csAnswer) differences(got fs2csAnswer) []string {
	var out []string
	note := func(what string, got, want any) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		out = append(out, fmt.Sprintf("%s: %s, should be %s", what, g, w))
	}
	for _, x := range []struct {
		what      string
		got, want any
	}{{"exit code", got.Exit, a.Exit}, {"directory", got.Into, a.Into}, {"sections", got.Console, a.Console}, {"rules", got.Rules, a.Rules}, {"place of rules", got.RulesIn, a.RulesIn}} {
		if !reflect.DeepEqual(x.got, x.want) {
			note(x.what, x.got, x.want)
		}
	}
	for _, x := range []struct {
		what      string
		got, want map[string]string
	}{{"yarn-site.xml", got.Site, a.Site}, {"capacity-scheduler.xml", got.Capacity, a.Capacity}} {
		for _, name := range slices.Sorted(maps.Keys(x.want)) {
			if v, ok := x.got[name]; !ok || v != x.want[name] && !tied(name, x.got, x.want) {
				note(x.what+": "+name, v, x.want[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(x.got)) {
			if _, ok := x.want[name]; !ok {
				note(x.what+": "+name, x.got[name], nil)
			}
		}
	}
	return out
}

// tied tells whether two percentages differ because the rest to 100% went to another of the largest queues.
func tied(name string, got, want map[string]string) bool {
	path, ok := strings.CutSuffix(name, ".capacity")
	if !ok {
		return false
	}
	parent := path[:strings.LastIndexByte(path, '.')]
	var g, w []float64
	for n := range want {
		child, ok := strings.CutSuffix(n, ".capacity")
		if !ok || !strings.HasPrefix(child, parent+".") || strings.Contains(child[len(parent)+1:], ".") {
			continue
		}
		x, errX := strconv.ParseFloat(got[n], 64)
		y, errY := strconv.ParseFloat(want[n], 64)
		if errX != nil || errY != nil {
			return false
		}
		g, w = append(g, x), append(w, y)
	}
	slices.Sort(g)
	slices.Sort(w)
	return slices.Equal(g, w)
}
