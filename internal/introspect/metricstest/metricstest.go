// Package metricstest compares the metrics of a daemon's /jmx with those of Apache's (the table test/compat/facts/metrics.tsv), except
// those that docs/metrics.md lists as missing.
package metricstest

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// absent is a row of docs/metrics.md: attributes that Heddle does not have.
type absent struct {
	daemon, bean string
	attributes   []string // patterns
	used         bool
}

func (a *absent) has(daemon, bean, attribute string) bool {
	if a.daemon != "both" && !strings.EqualFold(a.daemon, daemon) || !matches(a.bean, bean) {
		return false
	}
	for _, p := range a.attributes {
		if matches(p, attribute) {
			return true
		}
	}
	return false
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, strings.ReplaceAll(name, "/", "_"))
	return err == nil && ok
}

// own are beans that only Heddle has; see docs/web.md.
var own = map[string]bool{"LoopMetrics": true, "StateStoreMetrics": true, "ElectionMetrics": true, "AllocationFileMetrics": true, "OpportunisticSchedulerMetrics": true}

// row is an attribute of Apache's.
type row struct{ daemon, bean, attribute, kind string }

// Compare fails the test for each attribute of the table that answers of /jmx lack although docs/metrics.md does not say so, for each that
// they have although it says that they do not, for those that have another type, for those that Apache does not have, and for rows of
// docs/metrics.md that are of no use. The daemon is one of the table's; several answers, of daemons with other settings, are taken together.
// root is the root of the repository.
func Compare(t *testing.T, root, daemon string, answers ...[]byte) {
	t.Helper()
	rows, gone := facts(t, root, daemon), absences(t, root)
	told := map[[2]string]any{}
	for _, text := range answers {
		var doc struct {
			Beans []map[string]any `json:"beans"`
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&doc); err != nil {
			t.Fatalf("%v in %.300s", err, text)
		}
		for _, b := range doc.Beans {
			name, _ := b["name"].(string)
			for attribute, value := range b {
				if attribute != "name" && attribute != "modelerType" {
					told[[2]string{general(name), attribute}] = value
				}
			}
		}
	}
	missing := 0
	known := map[[2]string]bool{}
	for _, r := range rows {
		key := [2]string{r.bean, r.attribute}
		known[key] = true
		value, has := told[key]
		var listed *absent
		for i := range gone {
			if gone[i].has(daemon, r.bean, r.attribute) {
				listed, gone[i].used = &gone[i], true
			}
		}
		switch {
		case has && listed != nil:
			t.Errorf("%s %s is told, and docs/metrics.md says that it is not", r.bean, r.attribute)
		case has && !fits(r.kind, value):
			t.Errorf("%s %s is %v, and a %s in Apache's", r.bean, r.attribute, value, r.kind)
		case !has && listed == nil:
			if missing++; missing <= 300 {
				t.Errorf("%s %s is neither told nor in docs/metrics.md", r.bean, r.attribute)
			}
		}
	}
	for key := range told {
		record := key[0][strings.LastIndex(key[0], "name=")+len("name="):]
		called := strings.HasPrefix(record, "RpcDetailed") // Apache tells most methods only once they have been called
		if !known[key] && !own[record] && !called && strings.HasPrefix(key[0], "Hadoop:") {
			t.Errorf("Apache has no %s %s", key[0], key[1])
		}
	}
	for _, a := range gone {
		if !a.used && (a.daemon == "both" || strings.EqualFold(a.daemon, daemon)) {
			t.Errorf("docs/metrics.md lists %s %v of %s, which Apache does not have", a.bean, a.attributes, a.daemon)
		}
	}
}

// fits tells whether a value has the table's type. A text may be null.
func fits(kind string, value any) bool {
	switch v := value.(type) {
	case json.Number:
		return kind == "double" || kind == "long" && !strings.ContainsAny(v.String(), ".eE")
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string" || kind == "tag" || kind == "double" && (v == "NaN" || strings.HasSuffix(v, "Infinity"))
	case nil:
		return kind == "string" || kind == "tag"
	}
	return kind == "composite"
}

// The names of beans that hold names of things, as the table has them.
var generals = []struct {
	of *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(HttpServer2-|ActivityForPort)\d+`), "$1<port>"},
	{regexp.MustCompile(`(PartitionQueueMetrics,partition=)[^,]*`), "$1"},
	{regexp.MustCompile(`(QueueMetrics,|,)q0=[^,]*(,q\d+=[^,]*)*`), "$1<queue path: q0=,q1=,...>"},
	{regexp.MustCompile(`,user=.*`), ",user=<user>"},
}

func general(bean string) string {
	for _, g := range generals {
		bean = g.of.ReplaceAllString(bean, g.to)
	}
	return bean
}

func facts(t *testing.T, root, daemon string) (out []row) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "test", "compat", "facts", "metrics.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Split(line, "\t"); len(f) == 5 && f[0] == daemon {
			out = append(out, row{f[0], f[1], f[3], f[4]})
		}
	}
	if len(out) < 100 {
		t.Fatalf("the table has %d rows of a %s", len(out), daemon)
	}
	return out
}

// absences reads the rows "| daemon | bean | attributes | why |" of docs/metrics.md.
func absences(t *testing.T, root string) (out []absent) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Metrics that Heddle does not have")
	for _, line := range strings.Split(table, "\n") {
		f := strings.Split(line, " | ")
		if len(f) != 4 || !strings.HasPrefix(line, "| ") {
			continue
		}
		a := absent{daemon: strings.TrimPrefix(f[0], "| "), bean: strings.Trim(f[1], "`")}
		for _, one := range strings.Split(f[2], ", ") {
			a.attributes = append(a.attributes, strings.Trim(one, "`"))
		}
		if why := strings.Trim(f[3], "| "); why == "" || a.daemon == "daemon" {
			if why == "" {
				t.Errorf("docs/metrics.md gives no reason for %s", a.bean)
			}
			continue
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		t.Fatal("docs/metrics.md has no table of the metrics that Heddle does not have")
	}
	return out
}
