package conf

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestAgainstConfiguration replays queries whose answers were recorded from
// Hadoop 3.5.0's YarnConfiguration. Each directory of testdata/java holds the
// files, the queries and the answers ("load error" when it did not load).
func TestAgainstConfiguration(t *testing.T) {
	dirs, err := filepath.Glob("testdata/java/*/expected")
	if err != nil || len(dirs) < 9 {
		t.Fatalf("recorded cases: %v, %v", dirs, err)
	}
	for _, path := range dirs {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want, got := readText(t, path), answers(t, dir)
			wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
			for i := range max(len(wantLines), len(gotLines)) {
				w, g := at(wantLines, i), at(gotLines, i)
				if w != g {
					t.Errorf("Hadoop: %s\n    ours: %s", w, g)
				}
			}
		})
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The environment and system properties that the recording ran with.
var recordedEnv = map[string]string{"HEDDLE_SET": "abc", "HEDDLE_EMPTY": ""}

func recordedOptions(dir string) Options {
	return Options{
		Dir: dir,
		Env: func(n string) (string, bool) { v, ok := recordedEnv[n]; return v, ok },
		System: map[string]string{
			"sys.prop": "fromsys", "user.name": "alice", "user.home": "/home/alice", "java.io.tmpdir": "/tmp/t",
		},
	}
}

// answers runs the queries of a directory.
func answers(t *testing.T, dir string) string {
	o := recordedOptions(dir)
	var queries []string
	for line := range strings.Lines(readText(t, filepath.Join(dir, "queries"))) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "file "); ok {
			o.Files = append(o.Files, name)
		} else if set, ok := strings.CutPrefix(line, "set "); ok {
			d, err := ParseOverride(set)
			if err != nil {
				t.Fatal(err)
			}
			o.Overrides = append(o.Overrides, d)
		} else {
			queries = append(queries, line)
		}
	}
	p, err := Load(o)
	if err != nil {
		return "load error\n"
	}
	var out strings.Builder
	for _, q := range queries {
		fmt.Fprintf(&out, "%s => %s\n", q, answer(t, p, strings.Fields(q)))
	}
	return out.String()
}

// anyTime admits every duration.
const anyTime = time.Duration(math.MinInt64)

func answer(t *testing.T, p *Properties, q []string) string {
	t.Helper()
	name := q[1]
	r := NewReader(p)
	var out string
	switch q[0] {
	case "get", "trimmed", "raw":
		out = textAnswer(p, r, q[0], name)
	case "int":
		out = fmt.Sprint(r.Int32(name, -77, AnyInt))
	case "long":
		out = fmt.Sprint(r.Int64(name, -77, AnyInt))
	case "bool":
		out = fmt.Sprint(r.Bool(name, true))
	case "float":
		out = strconv.FormatFloat(r.Float(name, -77, -math.MaxFloat32, math.MaxFloat32), 'f', 1, 32)
	case "millis":
		out = fmt.Sprint(int64(r.Duration(name, -77*time.Millisecond, time.Millisecond, anyTime)))
	case "seconds":
		out = fmt.Sprint(int64(r.Duration(name, -77*time.Second, time.Second, anyTime)))
	case "size":
		out = fmt.Sprint(r.Size(name, -77, AnyInt))
	case "strings":
		for _, s := range r.Strings(name) {
			out += quote(s) + " "
		}
		out = strings.TrimSpace(out)
	case "prefix":
		out = prefixAnswer(p, name)
	case "final":
		_, locked := p.final[CurrentName(trim(name))]
		out = fmt.Sprint(locked)
	case "addr":
		out = javaAddress(r.Address(name, "", 9))
	case "bind":
		out = javaAddress(r.Bind(name, r.Address(q[2], "0.0.0.0:1", 1)))
	default:
		t.Fatalf("unknown query %q", q)
	}
	if r.Err() != nil {
		return "error"
	}
	return out
}

func textAnswer(p *Properties, r *Reader, kind, name string) string {
	s, ok := r.Raw(name)
	if kind == "raw" {
		v, _ := p.Lookup(name)
		s = v.Raw
	}
	if kind == "trimmed" {
		s = trim(s)
	}
	if !ok {
		return "unset"
	}
	return quote(s)
}

func prefixAnswer(p *Properties, prefix string) string {
	var out []string
	props := p.PropsWithPrefix(prefix)
	for _, v := range p.WithPrefix(prefix) {
		key := v.Name[len(prefix):]
		out = append(out, key+"="+quote(props[key]))
	}
	return strings.Join(out, " ")
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s) + `"`
}

// javaAddress prints IPv6 as Inet6Address does.
func javaAddress(a Address) string {
	ip, err := netip.ParseAddr(a.Host)
	if err != nil || !ip.Is6() {
		return fmt.Sprintf("%s:%d", a.Host, a.Port)
	}
	b := ip.As16()
	var groups []string
	for i := 0; i < 16; i += 2 {
		groups = append(groups, fmt.Sprintf("%x", int(b[i])<<8|int(b[i+1])))
	}
	return fmt.Sprintf("%s:%d", strings.Join(groups, ":"), a.Port)
}
