package confstore

import (
	"encoding/hex"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"
)

// vectors are streams that Java wrote.
func vectors(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/java.tsv")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		name, digits, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if out[name], err = hex.DecodeString(digits); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestJavaMap(t *testing.T) {
	all := vectors(t)
	thirteen := map[string]string{}
	for _, n := range strings.Fields("0 1 2 3 4 5 6 7 8 9 10 11 12") {
		thirteen["k"+n] = "v" + n
	}
	for name, want := range map[string]map[string]string{
		"empty": {}, "one": {"a": "1"}, "thirteen": thirteen,
		"odd": {"a": "1", "yarn.scheduler.capacity.root.queues": "default,prod", "ümlaut": "\U0001F9F5", "nul": "x\x00y"},
	} {
		got, err := readJavaMap(all[name])
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
		mine := javaMap(want)
		if back, err := readJavaMap(mine); err != nil || !maps.Equal(back, want) {
			t.Errorf("%s: %q comes back as %q %v", name, want, back, err)
		}
		if len(mine) != len(all[name]) { // the order of a hash table is Java's own
			t.Errorf("%s: %d bytes, Java has %d", name, len(mine), len(all[name]))
		}
		if len(want) < 2 && string(mine) != string(all[name]) {
			t.Errorf("%s: %x, Java has %x", name, mine, all[name])
		}
	}
	long := map[string]string{"long": strings.Repeat("ü", 40_000)}
	if back, err := readJavaMap(javaMap(long)); err != nil || !maps.Equal(back, long) {
		t.Errorf("a long text does not come back: %v", err)
	}
}

func TestJavaLog(t *testing.T) {
	all := vectors(t)
	two := "2"
	want := []Attempt{{User: "bob", Updates: map[string]*string{"a": &two, "b": nil}}, {User: "bob", Updates: map[string]*string{}}}
	got, err := readJavaLog(all["log"])
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	if back, err := readJavaLog(javaLog(want)); err != nil || !reflect.DeepEqual(back, want) {
		t.Errorf("%+v %v", back, err)
	}
	if mine := javaLog(nil); string(mine) != string(all["nolog"]) {
		t.Errorf("%x, Java has %x", mine, all["nolog"])
	}
	if _, err := readJavaLog(all["one"]); err == nil || !strings.Contains(err.Error(), "java.util.HashMap") {
		t.Errorf("a map is taken for a log: %v", err)
	}
}

func FuzzJava(f *testing.F) {
	for _, b := range vectors(f) {
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := readJavaMap(b); err == nil {
			if back, err := readJavaMap(javaMap(m)); err != nil || !maps.Equal(back, m) {
				t.Fatalf("%q comes back as %q %v", m, back, err)
			}
		}
		if l, err := readJavaLog(b); err == nil {
			if back, err := readJavaLog(javaLog(l)); err != nil || len(back) != len(l) {
				t.Fatalf("%+v comes back as %+v %v", l, back, err)
			}
		}
	})
}
